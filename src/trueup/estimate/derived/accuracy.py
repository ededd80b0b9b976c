"""How good the classifier is in the population, from draws of its error matrix."""

from typing import Any

from numpy.typing import NDArray

from trueup.aggregate.overall import overall_accuracy
from trueup.errors import EstimateError
from trueup.estimate import derived
from trueup.estimate.result import Estimate


def accuracy(est: Estimate) -> list[dict[str, Any]]:
    """Return recall, precision, F1 and the overall accuracy; see `Estimate.accuracy`."""
    M, labels, info = drawn_matrix(est), est.counts.predicted, est.info
    column = [labels.index(x) if x in labels else None for x in est.classes]
    found = derived.accuracies(M, column)
    combined = any(len(old) > 1 for old in est.asked.get("combine", {}).values())
    best = overall_accuracy(found.pop("accuracy"), M, est.counts, info, combined)
    told = {name: derived.spread(x, info["interval"]) for name, x in found.items()}
    rows = [
        {"class": label, "measure": measure} | derived.at(figures, g)
        for g, label in enumerate(est.classes)
        for measure, figures in told.items()
    ]
    if best is None:
        return rows
    overall = derived.at(derived.spread(best, info["interval"]))
    return [*rows, {"class": None, "measure": "accuracy"} | overall]


def error_matrix(est: Estimate) -> list[dict[str, Any]]:
    """Return the share of the population in each cell; see `Estimate.error_matrix`."""
    M = drawn_matrix(est)
    figures = derived.spread(M / M.sum(axis=(1, 2), keepdims=True), est.info["interval"])
    return [
        {"true": label, "predicted": column} | derived.at(figures, g, h)
        for g, label in enumerate(est.classes)
        for h, column in enumerate(est.counts.predicted)
    ]


def drawn_matrix(est: Estimate, what: str = "Accuracies of the population") -> NDArray[Any]:
    """Return the draws of the error matrix, or say why there are none."""
    if est.M is not None:
        return est.M
    if est.asked.get("weight") is not None:
        raise EstimateError(
            f"{what} are not known with `weight`: how many units of each class the larger "
            "population has was not drawn together with the totals.",
            hint="leave out `weight`: they are then those of the table's own units.",
        )
    if est.asked.get("drawn_by_size"):
        raise EstimateError(
            f"{what} are not known from a test set drawn by size: it hardly shows the errors "
            "among small units.",
            hint="audit units drawn at random, or within predicted classes (`draw`).",
        )
    raise EstimateError(
        f"{what} need draws of the error rates; method {est.info['method']!r} has none.",
        hint=est._way_to_draws(),
    )
