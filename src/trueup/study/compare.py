"""Try every method on the user's own case, with the truth known: `compare`."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trueup.count.names import Columns, check_given
from trueup.draws.settings import make_settings
from trueup.errors import OptionError
from trueup.estimate.methods import METHODS
from trueup.numerics.arrays import Floats, Progress
from trueup.prior import resolve_prior
from trueup.simulation import Simulation
from trueup.study.case import Case
from trueup.study.case_source import Assumed, make_case
from trueup.study.replications import run_method
from trueup.study.verdict import FIGURES, disagreement, judge, recommend, worse
from trueup.text import aligned, short

SLOW = {"full": 40, "joint": 16, "bayes": 4, "constrained": 4}
SLOW_COUNTS = {"full": 10}
"""For totals of a table, and otherwise, these run on one replication in so many; their ± is
larger."""
CHAINS = ("full", "joint")
"""Of these, the methods that need chains, and get along with FEW_DRAWS draws."""
FEW_DRAWS = 400
FEWEST = 20
"""Replications that the default method runs on, at least; others on half as many."""
MODEL, OWN = "one P for all", "test set as it is"
TITLES = {
    MODEL: "If the error rates are the same for all units (one P for all)",
    OWN: "With predictions, values and true classes as in the test set",
}
"""The two simulations, and what they assume."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """How well every method would have done; `print` it, or see ``rows()`` and ``plot()``.

    Attributes
    ----------
    classes : tuple
        The K class labels.
    interest : hashable
        The class that the printed table and the recommendation are about.
    recommendation : str
        One sentence, or a few.
    recommended : str
        The method that it names.
    info : dict
        What was simulated: design, n, N, replications, draws, interval, seed; the names of the
        simulations, and which of them the recommendation followed.
    """

    classes: tuple[Hashable, ...]
    interest: Hashable
    recommendation: str
    recommended: str
    info: dict[str, Any]
    _rows: list[dict[str, Any]] = field(repr=False)

    def rows(self, simulation: str | None = None) -> list[dict[str, Any]]:
        """Return a dict per method and class: figures, each with its Monte Carlo error.

        From the simulation that the recommendation follows, or from the one that is named.
        """
        wanted = simulation or self.info["followed"]
        return [dict(row) for row in self._rows if row["simulation"] == wanted]

    def _shown(self, simulation: str | None) -> list[dict[str, Any]]:
        return [row for row in self.rows(simulation) if row["class"] == self.interest]

    def plot(self) -> Any:
        """Draw error and coverage of the class of interest (needs the extra ``plot``)."""
        rows = self._shown(None)
        return import_module("trueup.present.plots.studies").comparison_chart(
            rows, self.info["interval"]
        )

    def __str__(self) -> str:
        info = self.info
        what = "total" if info["totals"] else "count"
        size = info["n"] if isinstance(info["n"], int) else sum(info["n"])
        lines = [
            f"Estimates of the {what} of {self.interest!r}: truth {short(info['truth'])}, "
            f"N = {info['N']:,}, n = {size:,}, design {info['design']}",
            f"{info['replications']:,} replications; ± is one Monte Carlo standard error",
        ]
        for name in info["simulations"]:
            lines += ["", *([f"{TITLES[name]}:"] if len(info["simulations"]) > 1 else [])]
            lines += self._table(name)
        return "\n".join([*lines, "", self.recommendation])

    def _table(self, simulation: str) -> list[str]:
        rows = self._shown(simulation)
        table = [("method", "bias", "variance", "MSE", "coverage", "width", "impermissible")]
        for row in rows:
            cells = [_with_error(row[name], row[f"{name}_error"]) for name in FIGURES[:3]]
            cover = "–"
            if row["coverage"] is not None:
                cover = f"{row['coverage']:.1%} ± {row['coverage_error']:.1%}"
            cells += [cover, _with_error(row["width"], row["width_error"])]
            cells.append("–" if row["impermissible"] is None else f"{row['impermissible']:.1%}")
            table.append((row["method"], *cells))
        return [
            *aligned(table),
            *(
                f"{row['method']}: no answer in {row['failed']:.1%}; {row['reason']}"
                for row in rows
                if row["failed"]
            ),
        ]


def compare(
    predictions: Any = None,
    test_set: Any = None,
    *,
    predicted: str = "predicted",
    true: str = "true",
    value: str | None = None,
    id: str | None = None,
    overlap: bool | None = None,
    classes: Sequence[Hashable] | None = None,
    missing: str = "refuse",
    P: ArrayLike | None = None,
    base_rates: ArrayLike | None = None,
    N: int | None = None,
    n: ArrayLike | None = None,
    values: Any = None,
    test_base_rates: ArrayLike | None = None,
    interest: Hashable | None = None,
    design: str | None = None,
    methods: Sequence[str] | None = None,
    prior: object = "perks",
    draws: int = 1000,
    interval: float = 0.95,
    replications: int = 400,
    seed: int | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Simulate your own case, with a known truth, and report how well every method does.

    Totals of two tables are simulated twice: with one set of error rates for all units, and with
    predictions, values and true classes as in the test set. The recommendation follows the one in
    which the default method does worse, and says so when the two disagree.

    Parameters
    ----------
    predictions, test_set : path or dataframe, optional
        As for `correct`. The truth to simulate is then the mean of their posterior, with the
        units' own values; without a test set, give `P` and `base_rates`. Tables and their values
        are counted by their own engine (see `trueup.study.unit_values`).
    predicted, true, value, id, overlap, classes, missing : optional
        As for `correct`.
    P, base_rates, N, values, test_base_rates : optional
        What to assume instead of tables; see `simulate`. Labels of `P` and of shares (a dataframe,
        a series) say which class is which, in any order.
    n : int or (K,) array_like, optional
        Test units; by default as many as the test set has.
    interest : hashable, optional
        The class that matters; by default the smallest.
    design : str, optional
        How the test set is drawn: by default as a work list says, or "random".
    methods : sequence of str, optional
        By default all; "full" runs on a tenth of the replications. For totals of tables "bayes"
        and "constrained" run on a quarter of them, "joint" and "full" on few (25 and 10 of 400)
        with 400 draws each; their Monte Carlo errors say so.
    prior, draws, interval : optional
        As for `correct`.
    replications : int
        How many; Monte Carlo errors shrink with the square root of it.
    seed : int, optional
        The same seed gives the same figures.
    progress : callable, optional
        Called with the fraction done.

    Examples
    --------
    >>> found = compare(P=[[0.9, 0.1], [0.2, 0.8]], base_rates=[0.3, 0.7], N=10_000, n=100,
    ...                 methods=["naive", "joint"], replications=50, seed=1)
    >>> found.recommended
    'joint'
    """
    check_given(locals())
    settings = make_settings(
        2, design=design or "random", draws=draws, interval=interval, seed=seed
    )
    default, seed = settings.method, settings.seed
    chosen = [default if name == "auto" else name for name in methods or METHODS]
    unknown = sorted(set(chosen) - set(METHODS))
    if unknown:
        raise OptionError(f"`methods` must be some of {list(METHODS)}; got {unknown}.")
    case = make_case(
        predictions, test_set, Columns(predicted, true, value, id),
        Assumed(P, base_rates, N, values, test_base_rates), classes=classes, overlap=overlap,
        missing=missing, design=design, prior=prior, seed=seed,
    )  # fmt: skip
    design, n = case.design, _pilot_size(case) if n is None else n
    rng = np.random.Generator(np.random.SFC64(seed))
    first = case.simulate(n, replications, rng, by_band=True)
    studies: dict[str, tuple[Simulation, Floats | None]] = {MODEL: (first, None)}
    again = case.resample(n, replications, rng)
    if again is not None:
        studies[OWN] = again
    if design == "by_class" and first.cells is not None:
        default = "full"  # as `correct` does
    errors: dict[str, dict[str, Floats]] = {}
    mine: dict[str, list[dict[str, Any]]] = {}  # rows of the class of interest
    g, rows, done = case.position(interest), list[dict[str, Any]](), 0.0
    for simulation, (study, truths) in studies.items():
        errors[simulation] = {}
        for name in chosen:
            slow = (SLOW if study.cells is not None else SLOW_COUNTS).get(name, 1)
            chains = name in CHAINS and study.cells is not None
            least = FEWEST // 2 if chains and name != default else FEWEST
            size = min(max(len(study) // slow, least), len(study))
            few = min(draws, FEW_DRAWS) if chains else draws
            part = 1 / len(studies) / len(chosen)

            def step(fraction: float, done: float = done, part: float = part) -> None:
                if progress is not None:
                    progress(min(done + part * fraction, 1.0))

            outcome = run_method(
                study, name, size, prior=prior, overlap=overlap, draws=few, interval=interval,
                rng=rng, progress=step,
            )  # fmt: skip
            done += part
            if truths is not None:  # each replication has a truth of its own
                off = study.truth - truths[:size]
                outcome = replace(
                    outcome, estimate=outcome.estimate + off, lower=outcome.lower + off,
                    upper=outcome.upper + off,
                )  # fmt: skip
            each = [judge(name, outcome, study, k) for k in range(case.K)]
            rows += [{"simulation": simulation, **row} for row in each]
            mine.setdefault(simulation, []).append(rows[g - case.K])
            errors[simulation][name] = outcome.estimate[:, g] - study.truth[g]
    followed = worse(mine, default)
    recommended, words = recommend(mine[followed], errors[followed], default, interval)
    if len(mine) > 1:
        words = f"{words} {disagreement(mine[MODEL], mine[OWN], followed == OWN)}"
    study = studies[followed][0]
    info = {
        "design": design,
        "n": n if isinstance(n, int) else np.asarray(n).tolist(),
        "N": case.N,
        "truth": float(study.truth[g]),
        "totals": case.totals,
        "replications": max(len(study) for study, _ in studies.values()),
        "simulations": list(studies),
        "followed": followed,
        "draws": draws,
        "interval": interval,
        "prior": resolve_prior(prior, case.K, case.classes).name,
        "seed": seed,
    }
    return Comparison(case.classes, case.classes[g], words, recommended, info, rows)


def _pilot_size(case: Case) -> Any:
    """Return the pilot's size as `simulate` takes it for this design."""
    if case.counts is None:
        raise OptionError("Without a test set, `n` must be the number of test units; got None.")
    axis = {"by_prediction": 0, "by_class": 1}.get(case.design)
    return case.audited if axis is None else np.asarray(case.counts.n.sum(axis=axis))


def _with_error(x: float | None, error: float | None) -> str:
    """Write a figure to the digit that its Monte Carlo error allows.

    Examples
    --------
    >>> _with_error(1234.5, 67.8), _with_error(1.23456e12, 3.4e10), _with_error(0.0123, 0.0004)
    ('1,234 ± 68', '1.235e+12 ± 3.4e+10', '0.01230 ± 0.00040')
    """
    if x is None or error is None:
        return "–"
    if max(abs(x), error) >= 1e7:
        return f"{x:.4g} ± {error:.2g}"
    decimals = 0 if error >= 10 or error == 0 else int(np.clip(1 - np.floor(np.log10(error)), 0, 6))
    text = f"{x:,.{decimals}f} ± {error:,.{decimals}f}"
    return text if error < 0.001 or decimals < 4 else f"{x:.4g} ± {error:.1g}"
