"""How much of an answer is prior: the same data under other priors, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from trueup.draws.settings import POSTERIORS
from trueup.errors import OptionError
from trueup.estimate.result import Estimate
from trueup.prior import resolve_prior
from trueup.text import aligned, short

__all__ = ["Sensitivity", "sensitivity"]

MUCH = 0.5  # half-widths of the interval


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """The estimate of the whole under several priors; the first is the one given."""

    estimates: dict[str, Estimate]
    shares: list[float | None]

    def rows(self) -> list[dict[str, Any]]:
        """Give a dict per class and prior.

        `moves` is how far the estimate is from that under the given prior, in half-widths of its
        interval; `prior_share` the invented units among all units of the class's row of rates.
        """
        found = []
        first = next(iter(self.estimates.values()))
        for g, label in enumerate(first.classes):
            given = _whole(first)[g]
            half = max((given["upper"] - given["lower"]) / 2, 1e-300)
            for (name, est), share in zip(self.estimates.items(), self.shares, strict=True):
                row = _whole(est)[g]
                found.append(
                    {"class": label, "prior": name}
                    | {key: row[key] for key in ("estimate", "lower", "upper")}
                    | {
                        "moves": (row["estimate"] - given["estimate"]) / half,
                        "prior_share": None if share is None else float(share[g]),  # type: ignore[index]
                    }
                )
        return found

    def __str__(self) -> str:
        header = ["class", "prior", "estimate", "lower", "upper", "moves", "prior share"]
        table = [header]
        rows = self.rows()
        for row in rows:
            share = "–" if row["prior_share"] is None else f"{row['prior_share']:.0%}"
            table.append(
                [str(row["class"]), row["prior"]]
                + [short(row[key]) for key in ("estimate", "lower", "upper")]
                + [f"{row['moves']:+.2f}", share]
            )
        worst = max(rows, key=lambda row: abs(row["moves"]))
        verdict = (
            f"The choice of prior moves the estimate of {worst['class']!r} most: by "
            f"{abs(worst['moves']):.0%} of its interval's half-width, under {worst['prior']!r}."
        )
        if abs(worst["moves"]) > MUCH:
            verdict += " That is much: this answer is prior as well as data. Audit more units."
        return "\n".join([*aligned(table), "", verdict])


def sensitivity(est: Estimate, priors: Sequence[Any] = ("jeffreys", "uniform")) -> Sensitivity:
    """Estimate again under other priors, with the same seed and everything else as it was."""
    if est.info["method"] not in POSTERIORS or est.asked.get("P") is not None:
        raise OptionError(
            f"Sensitivity to the prior needs a method with one; {est.info['method']!r} with these "
            "options has none.",
            hint=f"use one of {list(POSTERIORS)}, without P.",
        )
    estimates = {est.info["prior"]: est}
    for prior in priors:
        if isinstance(prior, str) and prior.lower() in estimates:
            continue
        other = est.again(prior=prior)
        name, same = other.info["prior"], 1
        while name in estimates:  # another prior of the same kind
            same += 1
            name = f"{other.info['prior']} ({same})"
        estimates[name] = other
    n = est.counts.n.sum(axis=1)
    shares: list[Any] = []
    for one in estimates.values():
        prior = resolve_prior(one.asked["prior"], est.counts.K, est.classes)
        units = prior.alpha.sum(axis=1)
        shares.append(None if prior.tilt is not None else units / (units + n))
    return Sensitivity(estimates, shares)


def _whole(est: Estimate) -> list[dict[str, Any]]:
    return est.rows()[-len(est.classes) :]
