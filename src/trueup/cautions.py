"""What the user should know before publishing, whatever the method found."""

from __future__ import annotations

import numpy as np

from trueup.counts import Counts
from trueup.design import design_p_value, design_warning
from trueup.settings import Settings

__all__ = ["cautions"]

BAYESIAN = ("bayes", "constrained", "joint", "full")


def cautions(counts: Counts, settings: Settings) -> list[str]:
    """Give every caution that these data and settings call for, in plain words."""
    method, design = settings.method, settings.design
    if method == "naive":
        return []
    found = []
    empty = [counts.classes[g] for g in np.flatnonzero(counts.n.sum(axis=1) == 0)]
    if empty and method in BAYESIAN:
        found.append(f"There is no test unit of true class {empty}: the answer rests on the prior.")
    if counts.totals and counts.w_hat is None and settings.noise and method in BAYESIAN:
        found.append(
            "The classification noise of totals needs predicted_squares, the sum of the squared "
            "value per predicted class; without it values count as equal within a predicted class "
            "and the interval is too narrow."
        )
    if design == "random":
        rng = np.random.default_rng(0)  # the p-value is a fact about the data, not a draw
        p_value = design_p_value(counts.n, counts.v_hat, overlap=settings.overlap, rng=rng)
        warning = design_warning(counts, p_value)
        if warning:
            found.append(warning)
    if method == "joint" and design in ("by_class", "shifted"):
        found.append(
            f"Method 'joint' takes the test set's base rates for the population's, which design "
            f"{design!r} says they are not: the answer is wrong. Use method 'auto'."
        )
    if method in ("inverse", "bayes", "constrained", "full") and design == "by_prediction":
        found.append(
            f"Method {method!r} takes error rates within true classes from the test set, but a "
            "test set drawn within predicted classes distorts them. Use method 'auto'."
        )
    return found
