"""What the report and the page say: what was asked, the answer, and each method in plain words."""

import tomllib
from pathlib import Path
from typing import Any

from trueup.count.names import names
from trueup.draws.settings import POSTERIORS
from trueup.estimate.result import Estimate
from trueup.present.evidence import evidence, how_made, population, what
from trueup.present.reproduce import is_table
from trueup.present.tables import written
from trueup.text import listed, percent

METHODS = tomllib.loads(Path(__file__).with_name("methods.toml").read_text(encoding="utf-8"))
"""Two sentences on what each method does, and what must hold for it."""
MOST_FILES = 5
"""How many files a sentence names."""


def whole(est: Estimate) -> list[dict[str, Any]]:
    """Return the rows of the whole population, without the groups."""
    return est.rows()[-est.counts.K :]


def corrected(est: Estimate) -> str:
    """Return whether figures were corrected, as a title says it."""
    naive = est.info["method"] == "naive"
    return "not corrected" if naive else "corrected for classification errors"


def question(est: Estimate) -> str:
    """Return what was asked, as a sentence."""
    asked = est.asked
    words = f"The {what(est)} in each of {est.counts.K} classes"
    if est.groups is not None:
        words += f", per {listed(est.groups.by)}"
    sources = [asked.get("predictions"), *(pair[0] for pair in asked.get("added", ()))]
    files = [str(x) for x in sources if x is not None]
    if len(files) > MOST_FILES:
        files[MOST_FILES - 1 :] = [f"{len(files) - MOST_FILES + 1:,} more files"]
    known = files and not any(map(is_table, sources))
    where = f" in {listed(files)}" if known else ""
    larger = population(est)
    words += (
        f", {'from' if larger else 'of'} the {est.counts.N:,} units{where} whose class was "
        f"predicted, {corrected(est)}"
    )
    words += "" if est.info["method"] == "naive" else f" with {evidence(est)}"
    if asked.get("strata"):
        words += f"; error rates may differ by {listed(names('strata', asked['strata']))}"
    return f"{words}. {larger}".strip()


def figures(est: Estimate) -> list[dict[str, str | None]]:
    """Return each class of the whole, written with the digits that its uncertainty leaves."""
    shown = ("estimate", "naive", "lower", "upper")
    rows = written(est, groups=())
    return [{"class": str(row["class"])} | {name: row[name] for name in shown} for row in rows]


def headline(est: Estimate) -> str:
    """Return one sentence that can go into a publication."""
    if est.info["method"] == "naive":
        return f"The {what(est)} per class is given as predicted; classification errors are in it."
    texts, n = figures(est), est.counts.n.sum()
    short = n and "audited_periods" not in est.info
    audited = f"{n:,} audited units" if short else evidence(est)
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
        f"{evidence(est)}, "
        f"{counts.N:,} classified units, {info['draws']:,} draws, seed {info['seed']}. "
        f"{population(est)}".strip()
    )
    found = []
    for text in figures(est):
        if info["method"] == "naive":
            said = f"is {text['naive']} as predicted, not corrected for classification errors"
            found.append(f"The {what(est)} in class “{text['class']}” {said}. {how_made(est)}")
            continue
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
