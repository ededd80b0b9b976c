"""`trueup demo`: a data set like the paper's, corrected with each method beside the truth."""

import csv
from pathlib import Path
from typing import Any

import numpy as np

from trueup.api import correct
from trueup.errors import FileError
from trueup.paper.webshops import WEBSHOP, predict, webshops
from trueup.text import aligned

TEST_SIZE = 50
NAMES = np.array(["webshop", "other"])
# The paper's own methods first, then what trueup adds to them.
METHODS = {
    "naive": {"method": "naive"},
    "inverse": {"method": "inverse"},
    "bayes": {"method": "bayes", "prior": "jeffreys", "noise": False},
    "constrained (the paper)": {"method": "constrained", "prior": "jeffreys", "noise": False},
    "auto (trueup)": {"method": "auto"},
}


def make_files(folder: Path, seed: int) -> tuple[Path, Path, float]:
    """Write predictions.csv and test_set.csv, and return the webshops' true turnover."""
    rng = np.random.default_rng(seed)
    population = webshops()
    order = rng.permutation(len(population.s))
    s, y = population.s[order], np.round(population.y[order], 2)
    s_hat = predict(s, rng)
    audited = rng.choice(len(s), TEST_SIZE, replace=False)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        predictions, test_set = folder / "predictions.csv", folder / "test_set.csv"
        columns = {"company": np.arange(len(s)), "predicted": NAMES[s_hat], "true": NAMES[s]}
        columns["turnover"] = y
        _write(test_set, {name: x[audited] for name, x in columns.items()})
        _write(predictions, {name: x for name, x in columns.items() if name != "true"})
    except OSError as error:
        raise FileError(f"The folder {str(folder)!r} must be writable; {error.strerror}.") from None
    return predictions, test_set, float(y[s == WEBSHOP].sum())


def run_demo(folder: Path, seed: int) -> None:
    """Make the files, correct them with each method, print the answers and write a report."""
    predictions, test_set, truth = make_files(folder, seed)
    report = folder / "report.html"
    table = [("method", "naive", "corrected", "95% interval", "truth")]
    for label, options in METHODS.items():
        est = correct(predictions, test_set, value="turnover", id="company", seed=seed, **options)  # type: ignore[arg-type]
        row = next(row for row in est.rows() if row["class"] == "webshop")
        interval = "–" if row["lower"] is None else f"{_m(row['lower'])} to {_m(row['upper'])}"
        table.append((label, _m(row["naive"]), _m(row["estimate"]), interval, _m(truth)))
    est.report(report)  # of the last, trueup's own
    print(
        f"{len(webshops().s):,} companies; the classifier errs 5% of the time in each class;\n"
        f"{TEST_SIZE} companies audited at random. Files: {predictions}, {test_set}\n",
        "Turnover of webshops, in million euro:",
        *aligned(table),
        f"\nA report on the last one: {report}",
        "The same from the command line:",
        f"  trueup correct {predictions} {test_set} --value turnover --id company "
        f"--report {report}",
        sep="\n",
    )


def _m(euro: float) -> str:
    return f"{euro / 1e6:,.0f}"


def _write(path: Path, columns: dict[str, Any]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(columns)
        table.writerows(zip(*(x.tolist() for x in columns.values()), strict=True))
