"""A small audit in strata, with unequal probabilities and in clusters, and what svy says of it.

`python tests/audit/survey_case.py` prints the figures that `test_survey_package.py` has recorded,
with svy 0.35.0 (a survey package of 340 MB, so it is not part of the set-up).
"""

import numpy as np
import pandas as pd

SIZES, DRAWN = {"small": 400, "middle": 90, "large": 15}, {"small": 20, "middle": 25, "large": 15}


def tables() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return 505 units, and the 60 audited ones: the first of each stratum, all of the large."""
    table = pd.DataFrame({"unit": np.arange(505), "size": np.repeat([*SIZES], [*SIZES.values()])})
    i = table["unit"]
    table["y"] = 1 + (37 * i % 50) / 5 + table["size"].map({"small": 0, "middle": 20, "large": 90})
    true = (i * i % 3 == 0).astype(int)
    table["predicted"] = np.where(i % 7 == 0, 1 - true, true)
    audit = table.assign(true=true).groupby("size", sort=False).head(25)
    audit = audit[audit.groupby("size").cumcount() < audit["size"].map(DRAWN)]
    here = np.arange(60)
    return table, audit.assign(pi=1e-6 * (1 + here % 5 + audit["y"] / 50), block=here // 5)


def by_svy() -> dict[str, list[tuple[float, float]]]:
    """Return estimate and standard error of each class's total, for each way the units came."""
    import polars as pl
    from svy import Design, Sample

    table, audit = tables()
    N = len(table)
    found: dict[str, list[tuple[float, float]]] = {}
    for g in (0, 1):
        a, f = (audit["y"] * (audit[label] == g) for label in ("true", "predicted"))
        u_hat = float(table["y"][table["predicted"] == g].sum())
        frame = pl.DataFrame(
            {
                "a": a.to_numpy(),
                "d": (a - f).to_numpy(),
                "stratum": audit["size"].to_list(),
                "units": audit["size"].map(SIZES).to_numpy(),
                "weight": audit["size"].map(lambda j: SIZES[j] / DRAWN[j]).to_numpy(),
                "unequal": (1e-6 / audit["pi"]).to_numpy(),
                "block": audit["block"].to_numpy(),
            }
        )
        strata = Sample(frame, Design(stratum="stratum", wgt="weight", pop_size="units"))
        unequal = Sample(frame, Design(wgt="unequal"))
        blocks = Sample(frame, Design(wgt="unequal", psu="block"))
        for name, sample, column, known, times in (
            ("test_set, drawn_within", strata, "a", 0.0, 0),
            ("difference, drawn_within", strata, "d", u_hat, 0),
            ("test_set, probability", unequal, "a", 0.0, N),
            ("difference, probability", unequal, "d", u_hat, N),
            ("difference, probability, cluster", blocks, "d", u_hat, N),
        ):
            which = sample.estimation.mean if times else sample.estimation.total
            (row,) = which(column).to_dicts()
            scale = times or 1
            found.setdefault(name, []).append((known + scale * row["est"], scale * row["se"]))
    return found


if __name__ == "__main__":
    for name, figures in by_svy().items():
        print(f'    "{name}": {[(round(est, 6), round(se, 6)) for est, se in figures]},')
