"""The report's sentences: what was asked, the headline, and each method in plain words."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from typing import Any

from trueup.estimate.result import Estimate

__all__ = ["METHODS", "coverage", "form", "headline", "question", "rounded", "what"]

# Two sentences on what the method does, and what must hold for it.
METHODS: dict[str, tuple[str, tuple[str, ...]]] = {
    "naive": (
        "Every unit counts in the class that was predicted for it. Nothing is corrected, and no "
        "interval is given.",
        ("Predictions are right, or their errors happen to cancel.",),
    ),
    "inverse": (
        "The error rates that the test set shows are inverted and applied to the predicted "
        "figures. The interval comes from a parametric bootstrap of the test set.",
        (
            "Within each true class the test set has the error rates of the population.",
            "The test set is large: with a small one the answer can be negative.",
        ),
    ),
    "bayes": (
        "The error rates have a Dirichlet posterior given the test set, and each draw of it is "
        "inverted and applied to the predicted figures. Draws that lead to negative figures are "
        "not excluded.",
        ("Within each true class the test set has the error rates of the population.",),
    ),
    "constrained": (
        "The error rates have a Dirichlet posterior given the test set, restricted to rates under "
        "which the predicted counts are possible (Meertens et al., 2019). Each draw of the rates "
        "turns the predicted figures into corrected ones.",
        (
            "Within each true class the test set has the error rates of the population.",
            "The base rates of the test set are not taken for the population's.",
        ),
    ),
    "joint": (
        "The test set tells, for each predicted class, which true classes its units have; this is "
        "the exact posterior when the test set was drawn from the population. Each draw divides "
        "the predicted figures over the true classes.",
        (
            "The test set is a random draw from the population, or one within predicted classes.",
            "Within a predicted class, whether a unit was audited does not depend on its true "
            "class.",
        ),
    ),
    "full": (
        "The error rates and the base rates have a joint posterior, given the test set and the "
        "predicted counts as a multinomial draw (Ziegler and Czyż, 2024). Each draw divides the "
        "predicted figures over the true classes.",
        (
            "Within each true class the test set has the error rates of the population.",
            "The base rates of the test set are not taken for the population's.",
        ),
    ),
    "calibrated": (
        "The predicted figures are divided over the true classes as the test set's columns say. "
        "The interval is that of a stratified estimator (Olofsson et al., 2014).",
        (
            "The test set is a random draw from the population, or one within predicted classes.",
            "The test set is large enough for a normal approximation.",
        ),
    ),
    "difference": (
        "The predicted figures, plus the error that the test set shows, expanded to the "
        "population. The predictions are weighted by what they are worth (power tuning).",
        (
            "The test set is a random draw from the population.",
            "The test set is large enough for a normal approximation.",
        ),
    ),
    "test_set": (
        "The audited units alone, expanded to the population. The predictions are not used.",
        (
            "The test set is a random draw from the population.",
            "The test set is large enough for a normal approximation.",
        ),
    ),
}
DESIGNS = {
    "random": "drawn at random from the population",
    "by_prediction": "drawn within predicted classes",
    "by_class": "drawn within true classes",
    "shifted": "drawn from another period or population",
}


def what(est: Estimate) -> str:
    """What is estimated: the value column in the user's words, or units."""
    value = est.asked.get("value")
    return f"total of {value}" if value else "total" if est.counts.totals else "number of units"


def question(est: Estimate) -> str:
    """What was asked, in a sentence."""
    asked = est.asked
    words = f"The {what(est)} in each of {est.counts.K} classes"
    if asked.get("by"):
        words += f", per {' and '.join(_columns(asked['by']))}"
    source = asked.get("predictions")
    where = f" in {source}" if isinstance(source, str) and source[:1] != "<" else ""
    words += (
        f", of the {est.counts.N:,} units{where} whose class was predicted, corrected for "
        f"classification errors with {est.counts.n.sum():,} audited units that were "
        f"{DESIGNS[est.info['design']]}"
    )
    if asked.get("strata"):
        words += f"; error rates may differ by {' and '.join(_columns(asked['strata']))}"
    return words + "."


def _columns(given: Any) -> list[str]:
    return [given] if isinstance(given, str) else [str(x) for x in given]


def rounded(x: float, half: float | None, whole: bool) -> str:
    """Write a figure with the digits that its uncertainty leaves: two of the half-width.

    Examples
    --------
    >>> rounded(812_345.6, 36_100.0, False), rounded(0.12345, 0.021, False), rounded(5.2, 0.3, True)
    ('812,000', '0.123', '5')
    """
    if half is None or half <= 0 or not math.isfinite(half):
        return f"{x:,.0f}" if whole or abs(x) >= 100 else f"{x:,.3g}"
    digits = math.floor(math.log10(half)) - 1
    if whole:
        digits = max(digits, 0)
    near = round(x, -digits) + 0.0  # no minus zero
    return f"{near:,.{max(-digits, 0)}f}"


def form(values: Iterable[float | None]) -> Callable[[float | None], str]:
    """Give the function that writes these numbers alike; a dash stands for what does not exist."""
    known = [x for x in values if x is not None]
    largest = max(map(abs, known), default=0.0)
    decimals = 0 if largest >= 10_000 else 1 if largest >= 100 else 3
    if all(x == round(x) for x in known):
        decimals = 0
    pattern = "{:.4g}" if largest >= 1e15 or 0 < largest < 0.01 else f"{{:,.{decimals}f}}"
    return lambda x: "–" if x is None else re.sub(r"^-(?=[0.,]*$)", "", pattern.format(x))


def headline(est: Estimate) -> str:
    """One sentence that can go into a publication."""
    rows, n = est.rows()[-est.counts.K :], f"{est.counts.n.sum():,} audited units"
    if est.info["method"] == "naive":
        return f"The {what(est)} per class is given as predicted; classification errors are in it."
    whole = not est.counts.totals
    if len(rows) <= 3:
        parts = [f"{_figure(row, est, whole)} for {row['class']}" for row in rows]
        listed = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
        return (
            f"The {what(est)} is estimated at {listed}, after correction for classification "
            f"errors with {n}."
        )
    most = max(rows, key=lambda row: abs(row["naive"] - row["estimate"]))
    words = (
        f"After correction for classification errors with {n}, the {what(est)} of "
        f"{most['class']} is estimated at {_figure(most, est, whole)}, the largest change of all "
        f"{len(rows)} classes"
    )
    if most["lower"] is not None:
        outside = sum(not row["lower"] <= row["naive"] <= row["upper"] for row in rows)
        words += f"; in {outside} of them the predicted figure lies outside the interval"
    return words + "."


def _figure(row: dict[str, Any], est: Estimate, whole: bool) -> str:
    if row["lower"] is None:
        return (
            f"{rounded(row['estimate'], None, whole)} "
            f"(as predicted {rounded(row['naive'], None, whole)})"
        )
    half = (row["upper"] - row["lower"]) / 2
    x, naive, low, high = (
        rounded(row[name], half, whole) for name in ("estimate", "naive", "lower", "upper")
    )
    size = 100 * est.info["interval"]
    return f"{x} ({size:g}% interval {low} to {high}; as predicted {naive})"


def coverage(est: Estimate) -> str:
    """What the interval promises, and what it does not."""
    size = f"{100 * est.info['interval']:g}%"
    check = (
        "The command trueup compare finds by simulation how often such intervals hold the truth "
        "for data like these."
    )
    if est.info["method"] == "naive":
        return "There is no interval: the size of the error is not known without a test set."
    if est.info["method"] in ("bayes", "constrained", "joint", "full"):
        return (
            f"Given the model, its assumptions and the prior {est.info['prior']}, the true figure "
            f"lies in its {size} interval with probability {size}, for each figure by itself and "
            f"not for all at once. It is no promise that {size} of intervals hold the truth in "
            f"repeated use; with a small test set the prior matters. {check}"
        )
    return (
        f"The interval is made to hold the true figure in {size} of repetitions when the test set "
        f"is large; with a small one it does so less often. {check}"
    )
