"""How far the answer depends on the prior: the same data under two others."""

from __future__ import annotations

import warnings
from typing import Any

from trueup.errors import TrueupError, TrueupWarning
from trueup.estimate.result import Estimate

__all__ = ["other_priors", "without_others"]

OTHERS = ("jeffreys", "uniform")
MOST_CLASSES = 4
"""With more classes than this, some posteriors need chains that run for minutes."""
MOST_CELLS = 1_000_000
"""Draws times groups times classes that may be drawn again for each prior."""
ASK = "make the estimate again with another prior to see how far it depends on it."


def without_others(est: Estimate) -> str | None:
    """Why the answer is not made again under any other prior; None where it is."""
    if est.info["method"] not in ("bayes", "constrained", "joint", "full"):
        return "This method uses no prior."
    groups = 1 if est.groups is None else len(est.groups.labels)
    if groups * est.counts.K * est.info["draws"] > MOST_CELLS:
        return f"With {groups:,} groups this would take long; {ASK}"
    if all(_slow(est, prior) for prior in OTHERS):
        return f"With {est.counts.K} classes this may need long chains; {ASK}"
    return None


def other_priors(est: Estimate) -> dict[str, list[dict[str, Any]] | str]:
    """Give the rows of the whole by prior, the given one first; a reason where there are none."""
    K = est.counts.K
    found: dict[str, list[dict[str, Any]] | str] = {est.info["prior"]: est.rows()[-K:]}
    for prior in OTHERS:
        if prior in found:
            continue
        if K == 2 and {prior, est.info["prior"]} == {"perks", "jeffreys"}:
            found[prior] = f"with two classes it is the same as {est.info['prior']}."
            continue
        if _slow(est, prior):
            found[prior] = f"left out: with {K} classes it may need long chains."
            continue
        try:
            with warnings.catch_warnings(action="ignore", category=TrueupWarning):
                found[prior] = est.again(prior=prior).rows()[-K:]
        except TrueupError as error:
            found[prior] = str(error).split("\n")[0]
    return found


def _slow(est: Estimate, prior: str) -> bool:
    """Whether this may need long chains: `joint` has a formula, but not with a uniform prior."""
    chains = est.info["method"] in ("constrained", "full") or prior == "uniform"
    return chains and est.info["method"] != "bayes" and est.counts.K > MOST_CLASSES
