"""What the report and the page say: what was asked, the answer, and each method in plain words."""

from typing import Any

from trueup.draws.settings import POSTERIORS
from trueup.estimate.result import Estimate
from trueup.present.tables import DESIGNS, written
from trueup.text import listed, percent

# What must hold, where several methods need it.
SAME_RATES = "Within each true class the test set has the error rates of the population."
OWN_SHARES = "The base rates of the test set are not taken for the population's."
DRAWN = "The test set is a random draw from the population."
DRAWN_WITHIN = "The test set is a random draw from the population, or one within predicted classes."
LARGE = "The test set is large enough for a normal approximation."
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
            SAME_RATES,
            "The test set is large: with a small one the answer can be negative.",
        ),
    ),
    "bayes": (
        "The error rates have a Dirichlet posterior given the test set, and each draw of it is "
        "inverted and applied to the predicted figures. Draws that lead to negative figures are "
        "not excluded.",
        (SAME_RATES,),
    ),
    "constrained": (
        "The error rates have a Dirichlet posterior given the test set, restricted to rates under "
        "which the predicted counts are possible (Meertens et al., 2019). Each draw of the rates "
        "turns the predicted figures into corrected ones.",
        (SAME_RATES, OWN_SHARES),
    ),
    "joint": (
        "The test set tells, for each predicted class, which true classes its units have; this is "
        "the exact posterior when the test set was drawn from the population. Each draw divides "
        "the predicted figures over the true classes.",
        (
            DRAWN_WITHIN,
            "Within a predicted class, whether a unit was audited does not depend on its true "
            "class.",
        ),
    ),
    "full": (
        "The error rates and the base rates have a joint posterior, given the test set and the "
        "predicted counts as a multinomial draw (Ziegler and Czyż, 2024). Each draw divides the "
        "predicted figures over the true classes.",
        (SAME_RATES, OWN_SHARES),
    ),
    "calibrated": (
        "The predicted figures are divided over the true classes as the test set's columns say. "
        "The interval is that of a stratified estimator (Olofsson et al., 2014).",
        (DRAWN_WITHIN, LARGE),
    ),
    "difference": (
        "The predicted figures, plus the error that the test set shows, expanded to the "
        "population. The predictions are weighted by what they are worth (power tuning).",
        (DRAWN, LARGE),
    ),
    "test_set": (
        "The audited units alone, expanded to the population. The predictions are not used.",
        (DRAWN, LARGE),
    ),
}


def whole(est: Estimate) -> list[dict[str, Any]]:
    """Return the rows of the whole population, without the groups."""
    return est.rows()[-est.counts.K :]


def what(est: Estimate) -> str:
    """Return what is estimated: the value column in the user's words, or units."""
    value = est.asked.get("value")
    return f"total of {value}" if value else "total" if est.counts.totals else "number of units"


def question(est: Estimate) -> str:
    """Return what was asked, as a sentence."""
    asked = est.asked
    words = f"The {what(est)} in each of {est.counts.K} classes"
    if asked.get("by"):
        words += f", per {listed(_columns(asked['by']))}"
    source = asked.get("predictions")
    where = f" in {source}" if isinstance(source, str) and source[:1] != "<" else ""
    words += (
        f", of the {est.counts.N:,} units{where} whose class was predicted, corrected for "
        f"classification errors with {est.counts.n.sum():,} audited units that were "
        f"{DESIGNS[est.info['design']]}"
    )
    if asked.get("strata"):
        words += f"; error rates may differ by {listed(_columns(asked['strata']))}"
    return words + "."


def _columns(given: Any) -> list[str]:
    return [given] if isinstance(given, str) else [str(x) for x in given]


def figures(est: Estimate) -> list[dict[str, str | None]]:
    """Return each class of the whole, written with the digits that its uncertainty leaves."""
    names = ("estimate", "naive", "lower", "upper")
    rows = written(est)[-est.counts.K :]
    return [{"class": str(row["class"])} | {name: row[name] for name in names} for row in rows]


def headline(est: Estimate) -> str:
    """Return one sentence that can go into a publication."""
    if est.info["method"] == "naive":
        return f"The {what(est)} per class is given as predicted; classification errors are in it."
    texts, audited = figures(est), f"{est.counts.n.sum():,} audited units"
    if len(texts) <= 3:
        parts = [f"{_figure(text, est)} for {text['class']}" for text in texts]
        return (
            f"The {what(est)} is estimated at {listed(parts)}, after correction for classification "
            f"errors with {audited}."
        )
    rows = whole(est)
    most = max(range(len(rows)), key=lambda g: abs(rows[g]["naive"] - rows[g]["estimate"]))
    words = (
        f"After correction for classification errors with {audited}, the {what(est)} of "
        f"{texts[most]['class']} is estimated at {_figure(texts[most], est)}, the largest change "
        f"of all {len(rows)} classes"
    )
    if rows[most]["lower"] is not None:
        outside = sum(not row["lower"] <= row["naive"] <= row["upper"] for row in rows)
        words += f"; in {outside} of them the predicted figure lies outside the interval"
    return words + "."


def _figure(text: dict[str, str | None], est: Estimate) -> str:
    return f"{text['estimate']} ({_between(text, est, '; ')}as predicted {text['naive']})"


def _between(text: dict[str, str | None], est: Estimate, end: str = "") -> str:
    if text["lower"] is None:
        return ""
    return f"{percent(est.info['interval'])} interval {text['lower']} to {text['upper']}{end}"


def citations(est: Estimate) -> list[str]:
    """Return a sentence for each class of the whole, with all that is needed to repeat it."""
    info, counts = est.info, est.counts
    made = (
        f"Made with trueup {info['version']}: method {info['method']}, prior {info['prior']}, "
        f"{counts.n.sum():,} audited units {DESIGNS[info['design']]}, "
        f"{counts.N:,} classified units, {info['draws']:,} draws, seed {info['seed']}."
    )
    found = []
    for text in figures(est):
        between = f" ({_between(text, est)})" if text["lower"] else ""
        found.append(
            f"The {what(est)} in class “{text['class']}” is estimated at {text['estimate']}"
            f"{between}; as predicted it is {text['naive']}. {made}"
        )
    return found


def coverage(est: Estimate) -> str:
    """Return what the interval promises, and what it does not."""
    size = percent(est.info["interval"])
    check = (
        "The command trueup compare finds by simulation how often such intervals hold the truth "
        "for data like these."
    )
    if est.info["method"] == "naive":
        return "There is no interval: the size of the error is not known without a test set."
    if est.info["method"] in POSTERIORS:
        return (
            f"Given the model, its assumptions and the prior {est.info['prior']}, the true figure "
            f"lies in its {size} interval with probability {size}, for each figure by itself and "
            f"not for all at once. This does not promise that {size} of intervals hold the truth "
            f"in repeated use; with a small test set the prior matters. {check}"
        )
    return (
        f"The interval is made to hold the true figure in {size} of repetitions when the test set "
        f"is large; with a small one it does so less often. {check}"
    )
