"""The verdict of a comparison: figures per method with Monte Carlo errors, and a recommendation."""

from typing import Any

import numpy as np

from trueup.numerics.arrays import Floats
from trueup.simulation import Simulation
from trueup.study.replications import Outcome
from trueup.text import listed, short

CALLED_A_DIFFERENCE = 2.0
"""Monte Carlo errors between two figures before they count as different."""
COVERAGE_SLACK = 0.02
"""How much less than its nominal level an interval may cover before that counts against it."""
APART = 0.2
"""Difference in coverage between two simulations that is worth telling."""
FIGURES = ("bias", "variance", "mse", "coverage", "width")


def judge(name: str, outcome: Outcome, study: Simulation, g: int) -> dict[str, Any]:
    """Return bias, variance, MSE, coverage and width for class g, with Monte Carlo errors."""
    truth, size = float(study.truth[g]), float(study.truth.sum())
    answered = np.isfinite(outcome.estimate[:, g])
    row: dict[str, Any] = {"method": name, "class": study.classes[g], "truth": truth}
    for figure in FIGURES:
        row |= {figure: None, f"{figure}_error": None}
    row |= {"impermissible": None, "failed": float(1 - answered.mean())}
    row |= {"reason": outcome.reasons[0] if outcome.reasons else None}
    row["replications"] = int(answered.sum())
    if answered.sum() < 2:
        return row
    x = outcome.estimate[answered, g]
    row |= error_figures(x - truth)
    slack = 1e-9 * abs(size)
    outside = (x < -slack) | (x > size + slack)
    row["impermissible"] = None if study.signed else float(outside.mean())
    lower, upper = outcome.lower[answered, g], outcome.upper[answered, g]
    limits = np.isfinite(lower) & np.isfinite(upper)
    if limits.sum() > 1:
        covered = ((lower <= truth + slack) & (truth - slack <= upper))[limits]
        row["coverage"] = float(covered.mean())
        # as if one more were covered and one more missed, so that 100% of 400 has an error too
        p = (covered.sum() + 1) / (len(covered) + 2)
        row["coverage_error"] = float(np.sqrt(p * (1 - p) / len(covered)))
        row["width"], row["width_error"] = _mean((upper - lower)[limits])
    return row


def error_figures(error: Floats) -> dict[str, float]:
    """Return the bias, variance and MSE of these errors, each with its Monte Carlo error."""
    off = (error - error.mean()) ** 2
    row = {"variance": float(off.sum() / (len(error) - 1)), "variance_error": _mean(off)[1]}
    row["bias"], row["bias_error"] = _mean(error)
    row["mse"], row["mse_error"] = _mean(error**2)
    return row


def _mean(x: Floats) -> tuple[float, float]:
    return float(x.mean()), float(x.std(ddof=1) / np.sqrt(len(x)))


def recommend(
    rows: list[dict[str, Any]], errors: dict[str, Floats], default: str, interval: float
) -> tuple[str, str]:
    """Choose the least MSE among methods whose intervals hold; the default, if as good."""
    answered = [row for row in rows if row["mse"] is not None and row["failed"] <= 0.01]
    if not answered:
        return default, "No method has an answer for this case: the test set is too small."
    sound = [
        row
        for row in answered
        if row["coverage"] is not None
        and row["coverage"] + CALLED_A_DIFFERENCE * row["coverage_error"]
        >= interval - COVERAGE_SLACK
    ]
    eligible = sound or answered
    best = min(eligible, key=lambda row: float(row["mse"]))
    same = [row for row in eligible if not differs(errors, row["method"], best["method"])]
    pick = next((row for row in same if row["method"] == default), best)
    name = pick["method"]
    words = [f"Use {name!r}" + (", the default for this design" if name == default else "") + ":"]
    rmse = pick["mse"] ** 0.5
    relative = f" ({rmse / abs(pick['truth']):.1%} of the truth)" if pick["truth"] else ""
    words.append(f"root mean squared error {short(rmse)}{relative}")
    if pick["coverage"] is not None:
        words[-1] += (
            f", and its {interval:.0%} intervals cover {pick['coverage']:.1%} ± "
            f"{pick['coverage_error']:.1%}."
        )
    others = [
        row["method"]
        for row in eligible
        if row is not pick and not differs(errors, row["method"], name)
    ]
    few = [other for other in others if len(errors[other]) < len(errors[name]) / 2]
    others = [other for other in others if other not in few]
    if others:
        verb = "is" if len(others) == 1 else "are"
        quoted = listed([repr(other) for other in others])
        words.append(f"{quoted} {verb} no different within Monte Carlo error.")
    words += [
        f"{other!r} ran on only {len(errors[other])} replications, too few to tell."
        for other in few
    ]
    naive = next((row for row in rows if row["method"] == "naive"), None)
    if naive is not None and naive["mse"] is not None and name != "naive":
        if differs(errors, "naive", name):
            ratio = naive["mse"] / pick["mse"]
            words.append(
                f"Without correction the mean squared error is {ratio:,.2g} times as large."
                if ratio >= 1
                else f"Without correction the mean squared error is {ratio:,.2g} times as large, "
                "but there is no interval. With a larger test set, correcting may be better."
            )
        else:
            words.append("No correction does just as well, within Monte Carlo error.")
    if not sound:
        words.append(f"No method's {interval:.0%} intervals cover as often as they should here.")
    return name, " ".join(words)


def worse(mine: dict[str, list[dict[str, Any]]], default: str) -> str:
    """Return the simulation in which the default, or else the methods on average, does worse."""

    def bad(rows: list[dict[str, Any]]) -> tuple[float, float]:
        own = [row for row in rows if row["method"] == default] or rows
        missed = [1 - row["coverage"] for row in own if row["coverage"] is not None]
        errors = [row["mse"] for row in own if row["mse"] is not None]
        # coverage counts first, but not its Monte Carlo error
        return round(float(np.mean(missed or [0.0])) / APART), float(np.mean(errors or [0.0]))

    return max(mine, key=lambda name: bad(mine[name]))


def disagreement(model: list[dict[str, Any]], own: list[dict[str, Any]], followed: bool) -> str:
    """Say whether coverage in the two simulations agrees, and which the recommendation follows."""
    apart = []
    for one, other in zip(model, own, strict=True):
        if one["coverage"] is None or other["coverage"] is None:
            continue
        error = np.hypot(one["coverage_error"], other["coverage_error"])
        gap = one["coverage"] - other["coverage"]
        if abs(gap) > max(APART, 3 * error):
            apart.append(f"{one['method']!r} ({one['coverage']:.0%} and {other['coverage']:.0%})")
    which = "second" if followed else "first"
    if not apart:
        return f"Both simulations agree; the recommendation follows the {which}."
    return (
        f"The two simulations disagree about how often the intervals of {listed(apart)} cover: the "
        "first assumes one set of error rates for all units, and your test set does not look like "
        f"that. The recommendation follows the {which}, where the default does worse."
    )


def differs(errors: dict[str, Floats], one: str, other: str) -> bool:
    """Whether two MSEs differ by more than Monte Carlo error, on the same replications."""
    if one == other:
        return False
    R = min(len(errors[one]), len(errors[other]))
    gap = errors[one][:R] ** 2 - errors[other][:R] ** 2
    gap = gap[np.isfinite(gap)]
    if len(gap) < 2:
        return True
    mean, error = _mean(gap)
    return abs(mean) > CALLED_A_DIFFERENCE * error
