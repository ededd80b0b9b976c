"""How much of an answer is prior: the same data under other priors, side by side."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from trueup.draws.settings import POSTERIORS
from trueup.errors import EstimateError, OptionError, TrueupError, TrueupWarning
from trueup.estimate.job import cannot_rerun
from trueup.estimate.result import Estimate
from trueup.prior import resolve_prior
from trueup.text import aligned, short

MUCH = 0.5
"""Half-widths of the interval: an estimate that moves further is prior as well as data."""
MOST_CLASSES = 4
"""With more classes than this, some posteriors need chains that run for minutes."""
MOST_CELLS = 1_000_000
"""Draws times groups times classes that `quick` draws again for each prior."""


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """The estimate under several priors, the given one first; `left_out` says why one is not."""

    estimates: dict[str, Estimate]
    left_out: dict[str, str] = field(default_factory=dict)

    def rows(self) -> list[dict[str, Any]]:
        """Return a dict per class of the whole and prior.

        `moves` is how far the estimate is from that under the given prior, in half-widths of its
        interval; `prior_share` the invented units among all units of the class's row of rates.
        """
        wholes = {name: est.rows()[-len(est.classes) :] for name, est in self.estimates.items()}
        shares = {name: _prior_shares(est) for name, est in self.estimates.items()}
        found = []
        for g, given in enumerate(next(iter(wholes.values()))):
            half = max((given["upper"] - given["lower"]) / 2, 1e-300)
            for name, rows in wholes.items():
                row, share = rows[g], shares[name]
                found.append(
                    {"class": row["class"], "prior": name}
                    | {key: row[key] for key in ("estimate", "lower", "upper")}
                    | {
                        "moves": (row["estimate"] - given["estimate"]) / half,
                        "prior_share": None if share is None else float(share[g]),
                    }
                )
        return found

    @property
    def most(self) -> dict[str, Any]:
        """The row whose estimate moves most."""
        return max(self.rows(), key=lambda row: abs(row["moves"]))

    def __str__(self) -> str:
        table = [["class", "prior", "estimate", "lower", "upper", "moves", "prior share"]]
        for row in self.rows():
            share = "–" if row["prior_share"] is None else f"{row['prior_share']:.0%}"
            table.append(
                [str(row["class"]), row["prior"]]
                + [short(row[key]) for key in ("estimate", "lower", "upper")]
                + [f"{row['moves']:+.2f}", share]
            )
        most = self.most
        verdict = (
            f"The choice of prior moves the estimate of {most['class']!r} most: by "
            f"{abs(most['moves']):.0%} of its interval's half-width, under {most['prior']!r}."
        )
        if abs(most["moves"]) > MUCH:
            verdict += " That is a lot: this answer is prior as well as data. Audit more units."
        return "\n".join([*aligned(table), "", verdict])


def sensitivity(
    est: Estimate, priors: Sequence[Any] = ("jeffreys", "uniform"), *, quick: bool = False
) -> Sensitivity:
    """Estimate again under other priors, with the same seed and options.

    With `quick`, priors that may need minutes or have no answer are left out, with the reason.
    """
    known = any(est.asked.get(name) is not None for name in ("P", "studies"))
    if est.info["method"] not in POSTERIORS or known:
        raise OptionError(
            f"Sensitivity to the prior needs a method that uses one; method "
            f"{est.info['method']!r} with these options uses none.",
            hint=f"use one of {list(POSTERIORS)}, without `P` or `studies`.",
        )
    if est._again is None:
        raise cannot_rerun(est)
    groups = 1 if est.groups is None else len(est.groups.labels)
    if quick and groups * est.counts.K * est.info["draws"] > MOST_CELLS:
        raise EstimateError(
            f"With {groups:,} groups, other priors would take long; est.sensitivity() tries them."
        )
    given = est.info["prior"]
    found = Sensitivity({given: est})
    for prior in priors:
        if isinstance(prior, str) and prior.lower() in found.estimates:
            continue
        if quick and (reason := _not_quick(est, prior)):
            found.left_out[prior] = reason
            continue
        try:
            with warnings.catch_warnings(action="ignore", category=TrueupWarning):
                other = est.again(prior=prior)
        except TrueupError as error:
            if not quick:
                raise
            found.left_out[prior] = str(error).split("\n")[0]
            continue
        name, same = other.info["prior"], 1
        while name in found.estimates:  # another prior of the same kind
            same += 1
            name = f"{other.info['prior']} ({same})"
        found.estimates[name] = other
    if quick and len(found.estimates) == 1:
        raise EstimateError(
            f"With {est.counts.K} classes, other priors may need long chains; est.sensitivity() "
            "tries them."
        )
    return found


def _not_quick(est: Estimate, prior: str) -> str | None:
    """Say why a prior is left out; `joint` has a formula, but not with a uniform prior."""
    K, method, given = est.counts.K, est.info["method"], est.info["prior"]
    if K == 2 and {prior, given} == {"perks", "jeffreys"}:
        return f"with two classes it is the same as {given}."
    chains = method in ("constrained", "full") or (method == "joint" and prior == "uniform")
    return f"left out: {K} classes may need long chains." if chains and K > MOST_CLASSES else None


def _prior_shares(est: Estimate) -> Any:
    """Return the invented units' share of each row of rates; None where they cannot be counted."""
    prior = resolve_prior(est.asked["prior"], est.counts.K, est.classes, est.counts.L)
    units = prior.alpha.sum(axis=1)
    return None if prior.tilt is not None else units / (units + est.counts.n.sum(axis=1))
