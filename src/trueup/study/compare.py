"""Every method on the user's own case, with the truth known: `compare`."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trueup.draws.settings import make_settings
from trueup.errors import EstimateError, OptionError
from trueup.estimate.methods import METHODS
from trueup.estimate.result import summarise
from trueup.simulation import Simulation
from trueup.study.case_source import make_situation, position
from trueup.study.verdict import FIGURES, Outcome, judge, recommend
from trueup.text import aligned, short

__all__ = ["Comparison", "compare", "run_method"]

Floats = NDArray[np.float64]

SLOW = {"full": 10}
"""Methods that need a long chain run on this fraction of the replications; their ± says so."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """How every method would have done; `print` it, or see ``rows()`` and ``plot()``.

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
        What was simulated: design, n, N, replications, draws, interval, seed.
    """

    classes: tuple[Hashable, ...]
    interest: Hashable
    recommendation: str
    recommended: str
    info: dict[str, Any]
    _rows: list[dict[str, Any]] = field(repr=False)

    def rows(self) -> list[dict[str, Any]]:
        """Give a dict per method and class: figures, each with its Monte Carlo error."""
        return [dict(row) for row in self._rows]

    def plot(self) -> Any:
        """Draw error and coverage of the class of interest (needs the extra ``plot``)."""
        rows = [row for row in self._rows if row["class"] == self.interest]
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
            "",
        ]
        header = ("method", "bias", "variance", "MSE", "coverage", "width", "impermissible")
        table = [header]
        for row in self._rows:
            if row["class"] != self.interest:
                continue
            cells = [_with_error(row[name], row[f"{name}_error"]) for name in FIGURES[:3]]
            cover = "–"
            if row["coverage"] is not None:
                cover = f"{row['coverage']:.1%} ± {row['coverage_error']:.1%}"
            cells += [cover, _with_error(row["width"], row["width_error"])]
            cells.append("–" if row["impermissible"] is None else f"{row['impermissible']:.1%}")
            table.append((row["method"], *cells))
        lines += aligned(table)
        lines += [
            f"{row['method']}: no answer in {row['failed']:.1%}; {row['reason']}"
            for row in self._rows
            if row["class"] == self.interest and row["failed"]
        ]
        return "\n".join([*lines, "", self.recommendation])


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
    P: ArrayLike | None = None,
    base_rates: ArrayLike | None = None,
    N: int | None = None,
    n: ArrayLike | None = None,
    values: Any = None,
    test_base_rates: ArrayLike | None = None,
    interest: Hashable | None = None,
    design: str = "random",
    methods: Sequence[str] | None = None,
    prior: object = "perks",
    draws: int = 1000,
    interval: float = 0.95,
    replications: int = 400,
    seed: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> Comparison:
    """Simulate the user's own case and see how every method does, with the truth known.

    Parameters
    ----------
    predictions, test_set : path or dataframe, optional
        As for `correct`. The truth to simulate is then the mean of their posterior, with the
        units' own values; without a test set, `P` and `base_rates` are assumed.
    predicted, true, value, id, overlap, classes : optional
        As for `correct`.
    P, base_rates, N, values, test_base_rates : optional
        The case by assumption; see `simulate`.
    n : int or (K,) array_like, optional
        Test units; by default as many as the test set has.
    interest : hashable, optional
        The class that matters; by default the smallest.
    design : str
        How the test set is drawn.
    methods : sequence of str, optional
        By default all; "full" runs on a tenth of the replications.
    prior, draws, interval : optional
        As for `correct`.
    replications : int
        How many; each Monte Carlo error shrinks with its root.
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
    chosen = list(METHODS) if methods is None else list(dict.fromkeys(methods))
    settings = make_settings(
        2, design=design, method="auto", prior="perks", noise=True, overlap=overlap, draws=draws,
        interval=interval, seed=seed,
    )  # fmt: skip
    default, seed = settings.method, settings.seed
    chosen = list(dict.fromkeys(default if name == "auto" else name for name in chosen))
    unknown = sorted(set(chosen) - set(METHODS))
    if unknown:
        raise OptionError(f"`methods` must be some of {list(METHODS)}; {unknown} came.")
    case = make_situation(
        predictions, test_set, predicted=predicted, true=true, value=value, id=id, overlap=overlap,
        classes=classes, P=P, base_rates=base_rates, N=N, values=values,
        test_base_rates=test_base_rates, design=design, prior=prior, seed=seed,
    )  # fmt: skip
    if n is None:
        if case.counts is None:
            raise OptionError("`n` must say how many test units there are, without a test set.")
        n = case.own_test_size
    rng = np.random.Generator(np.random.SFC64(seed))
    study = case.simulate(n, replications, rng)
    parts = [len(study) // SLOW.get(name, 1) for name in chosen]
    work = [max(part, 20) * SLOW.get(name, 1) for part, name in zip(parts, chosen, strict=True)]
    outcomes, done = {}, 0.0
    for name, part, share in zip(chosen, parts, work, strict=True):
        base, scale = done / sum(work), share / sum(work)

        def step(fraction: float, base: float = base, scale: float = scale) -> None:
            if progress is not None:
                progress(base + scale * fraction)

        count = min(max(part, 20), len(study))
        outcomes[name] = run_method(
            study, name, count, prior=prior, overlap=overlap, draws=draws, interval=interval,
            rng=rng, progress=step,
        )  # fmt: skip
        done += share
    g = position(case.classes, interest, case.beta)
    rows = [
        judge(name, outcome, study, k) for name, outcome in outcomes.items() for k in range(case.K)
    ]
    mine = [row for row in rows if row["class"] == case.classes[g]]
    errors = {name: x.estimate[:, g] - study.truth[g] for name, x in outcomes.items()}
    recommended, words = recommend(mine, errors, default, interval)
    info = {
        "design": design,
        "n": n if isinstance(n, int) else np.asarray(n).tolist(),
        "N": case.N,
        "truth": float(study.truth[g]),
        "totals": case.totals,
        "replications": len(study),
        "draws": draws,
        "interval": interval,
        "prior": prior if isinstance(prior, str) else "dirichlet",
        "seed": seed,
    }
    return Comparison(case.classes, case.classes[g], words, recommended, info, rows)


def run_method(
    study: Simulation,
    method: str,
    count: int,
    *,
    prior: object = "perks",
    overlap: bool | None = None,
    draws: int = 1000,
    interval: float = 0.95,
    rng: np.random.Generator,
    progress: Callable[[float], None] | None = None,
) -> Outcome:
    """Give a method's answers to the first `count` replications."""
    K = len(study.classes)
    found = np.full((3, count, K), np.nan)
    reasons: list[str] = []
    settings = make_settings(
        K, design=study.design, method=method, prior=prior, noise=True, overlap=overlap,
        draws=draws, interval=interval, seed=int(rng.integers(2**63)),
    )  # fmt: skip
    for r in range(count):
        counts = study.counts(r)
        try:
            answer = METHODS[settings.method](counts, settings)
        except EstimateError as error:
            reasons.append(str(error).split("\n")[0])
        else:
            figures = summarise(answer, counts.naive, interval)
            for k, name in enumerate(("estimate", "lower", "upper")):
                x = figures[name]
                if x is not None:
                    found[k, r] = x
        if progress is not None:
            progress((r + 1) / count)
    return Outcome(found[0], found[1], found[2], tuple(reasons))


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
