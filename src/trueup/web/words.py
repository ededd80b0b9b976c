"""Sentences for the page: the answer to copy into a text, and what plain inversion would say."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

import numpy as np

from trueup import __version__
from trueup.count.counts import Counts
from trueup.draws.contingency import plug_in, solve_Q
from trueup.estimate.result import Estimate
from trueup.present.sentences import rounded, what
from trueup.text import short

__all__ = ["command", "headlines", "inversion", "sentences"]

DESIGNS = {
    "random": "drawn at random from the population",
    "by_prediction": "drawn within predicted classes",
    "by_class": "drawn within true classes",
    "shifted": "from another period or population",
}
MOST_CONDITION = 1e12


def headlines(est: Estimate) -> list[dict[str, str | None]]:
    """Give each class of the whole with the digits that its uncertainty leaves, as text."""
    found = []
    for row in est.rows()[-est.counts.K :]:
        half = None if row["lower"] is None else (row["upper"] - row["lower"]) / 2
        texts: dict[str, str | None] = {"class": str(row["class"])}
        texts |= {
            name: None if row[name] is None else rounded(row[name], half, not est.counts.totals)
            for name in ("estimate", "lower", "upper", "naive")
        }
        found.append(texts)
    return found


def sentences(est: Estimate) -> list[str]:
    """Give a sentence for each class of the whole population, with all that made it."""
    info, counts = est.info, est.counts
    made = (
        f"Made with trueup {__version__}: method {info['method']}, prior {info['prior']}, "
        f"{counts.n.sum():,} audited units {DESIGNS[info['design']]}, "
        f"{counts.N:,} classified units, {info['draws']:,} draws, seed {info['seed']}."
    )
    words = []
    for row in headlines(est):
        between = ""
        if row["lower"] is not None:
            between = f" ({100 * info['interval']:g}% interval {row['lower']} to {row['upper']})"
        words.append(
            f"The {what(est)} in class “{row['class']}” is estimated at {row['estimate']}{between};"
            f" as predicted it is {row['naive']}. {made}"
        )
    return words


def inversion(counts: Counts) -> dict[str, Any]:
    """Say what Q̂û gives with the test set's own rates, and whether a population can hold it."""
    refused = {"values": None, "permissible": False}
    never = np.flatnonzero(counts.n.sum(axis=1) == 0)
    if len(never):
        label = counts.classes[never[0]]
        return refused | {"words": f"cannot be done: no test unit of “{label}”"}
    P = plug_in(counts.n)
    if not np.linalg.cond(P) < MOST_CONDITION:
        return refused | {"words": "cannot be done: the predictions do not tell classes apart"}
    u = solve_Q(P, counts.naive)
    worst = int(u.argmin())
    values = [float(x) for x in u]
    if u[worst] >= -1e-9 * abs(counts.naive).sum() or counts.signed:
        return {"values": values, "permissible": True, "words": "possible"}
    words = (
        f"gives {short(values[worst]).replace('-', '−')} for “{counts.classes[worst]}”. "
        "No population can hold a negative number, so it is refused"
    )
    return {"values": values, "permissible": False, "words": words}


def command(given: Mapping[str, Any], seed: int) -> str:
    """Give the line that repeats this answer in a terminal."""
    parts = ["trueup", "numbers", "--test", ";".join(_list(row) for row in given["test"])]
    for option in ("predicted_counts", "predicted_sums", "predicted_squares"):
        if given.get(option):
            parts += [_flag(option), _list(given[option])]
    if given.get("test_sums"):
        parts += ["--test-sums", ";".join(_list(row) for row in given["test_sums"])]
    labels = given.get("classes")
    if labels and not any("," in label for label in labels):
        parts += ["--classes", ",".join(labels)]
    usual = {"design": "random", "method": "auto", "prior": "perks", "draws": 4000}
    for option, default in (usual | {"interval": 0.95}).items():
        if given.get(option, default) != default:
            parts += [_flag(option), str(given[option])]
    if given.get("overlap") is not None:
        parts.append("--overlap" if given["overlap"] else "--no-overlap")
    if not given.get("noise", True):
        parts.append("--no-noise")
    return shlex.join([*parts, "--seed", str(seed)])


def _flag(option: str) -> str:
    return "--" + option.replace("_", "-")


def _list(numbers: Any) -> str:
    return ",".join(f"{x:.17g}" for x in numbers)
