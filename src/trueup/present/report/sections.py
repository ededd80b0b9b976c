"""The sections of a report, each a function from an estimate to HTML."""

import tomllib
from collections.abc import Hashable, Sequence
from pathlib import Path

import numpy as np

from trueup.errors import EstimateError, TrueupError
from trueup.estimate.doubts.cautions import invented
from trueup.estimate.result import Estimate
from trueup.present.evidence import drawn, over_time, population, what
from trueup.present.markup import Markup, join, listing, table, tag
from trueup.present.reproduce import (
    command_line,
    counts_hash,
    file_hashes,
    only_in_python,
    python_call,
    versions,
    when_hashed,
)
from trueup.present.sentences import METHODS, coverage, figures, whole
from trueup.present.tables import error_cells, published, shares
from trueup.prior import NAMED_PRIORS, resolve_prior
from trueup.study.check import check_counts
from trueup.study.sensitivity import sensitivity
from trueup.text import alike, listed, percent, rounded, short

MOST_ROWS = 2000
MOST_CELLS = 20
"""An error matrix of more classes than this would not fit a page."""
WORDS = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))


def estimates(est: Estimate) -> Markup:
    """Figures with intervals and what they are worth: bias of the naive one, CV, coverage."""
    caption = f"The {what(est)} per class"
    if est.info["method"] == "naive":
        lines = [[text["class"], text["naive"]] for text in figures(est)]
        made = table(["class", "as predicted"], lines, words=1, caption=caption)
        return join([made, tag("p", coverage(est))])
    rows = whole(est)
    lines = []
    for g, (row, text) in enumerate(zip(rows, figures(est), strict=True)):
        bias = row["naive"] - row["estimate"]
        errors = [x[g] for name, x in est.info.items() if name.startswith("monte_carlo_error")]
        lines.append(
            [
                row["class"],
                text["naive"],
                tag("strong", text["estimate"]),
                text["lower"] or "–",
                text["upper"] or "–",
                f"{bias / row['estimate']:+.1%}" if row["estimate"] else "–",
                f"{row['sd'] / abs(row['estimate']):.1%}" if row["sd"] and row["estimate"] else "–",
                short(max(errors)) if errors else "–",
            ]
        )
    header = ["class", "as predicted", "corrected", f"{percent(est.info['interval'])} from", "to"]
    header += ["bias of the prediction", "CV", "Monte Carlo error"]
    notes = [WORDS["estimates"], coverage(est)]
    return join([table(header, lines, words=1, caption=caption), *(tag("p", x) for x in notes)])


def accuracies(est: Estimate) -> Markup:
    """How good the classifier is in the population, and the population's error matrix."""
    try:
        rows = shares(est, est.accuracy())
    except EstimateError as error:
        return tag("p", str(error).partition("\n\nHint: ")[0])
    names = WORDS["measures"]
    columns = ("mean", "sd", "lower", "upper")
    lines: list[list[object]] = [
        ["all classes" if row["measure"] == "accuracy" else row["class"], names[row["measure"]]]
        + [row[name] for name in columns]
        for row in rows
    ]
    size = percent(est.info["interval"])
    header = ["class", "measure", "mean", "sd", f"{size} from", "to"]
    made = table(header, lines, words=2, caption="Accuracy in the population")
    parts = [tag("p", WORDS["accuracy"]), made]
    if est.counts.K > MOST_CELLS:
        return join(parts)
    matrix = [[label, *row] for label, row in zip(est.classes, error_cells(est), strict=True)]
    predicted = map(str, est.counts.predicted)
    caption = "Share of the population in %, true classes down, predicted across"
    return join([*parts, table(["", *predicted], matrix, words=1, caption=caption)])


def data(est: Estimate) -> Markup:
    """Both tables in numbers."""
    counts = est.counts
    larger = population(est)
    facts = [
        ["units in the table" if larger else "units in the population", f"{counts.N:,}"],
        ["audited units in the test set", f"{counts.n.sum():,}"],
        ["of which predicted right", f"{counts.right:,}"],
        ["classes", f"{counts.K}"],
    ]
    if counts.u_hat is not None:
        facts.append([f"{what(est)}, all classes", rounded(counts.u_hat.sum(), None, False)])
    if est.groups is not None:
        facts.append(["groups", f"{len(est.groups.labels):,}"])
    if "strata" in est.info:
        facts.append(["strata", f"{est.info['strata']:,}"])
    counts = counts.squared()  # labels that are no class have a line too
    rows, columns = counts.n.sum(axis=1), counts.n.sum(axis=0)
    write = alike(counts.naive)
    header = ["class", "predicted units"]
    header += ["predicted total" if est.totals else "with weights"] if counts.totals else []
    header += ["audited, by prediction", "audited, by true class", "of those, predicted right"]
    lines = []
    for g, label in enumerate(counts.classes):
        line: list[object] = [label, f"{counts.v_hat[g]:,}"]
        line += [write(counts.naive[g])] if counts.totals else []
        right = f"{counts.n[g, g] / rows[g]:.0%}" if rows[g] else "–"
        lines.append([*line, f"{columns[g]:,}", f"{rows[g]:,}", right])
    tables = [table(["", "number"], facts, words=1), table(header, lines, words=1)]
    return join([*([tag("p", larger)] if larger else []), *tables])


def design(est: Estimate) -> Markup:
    """What a careful statistician would ask of these tables."""
    if (audited := est.info.get("audited_periods")) is not None:
        words = (
            f"The test set is of {_named(audited)}, and was checked against the predictions there; "
            "what gives reason to doubt is among the warnings."
        )
        elsewhere = "The test set is of none of the periods: there is nothing to check it against."
        return tag("p", words if audited else elsewhere)
    # units drawn with other chances need not look like the population
    unequal = est.asked.get("drawn_within") or est.asked.get("probability")
    try:
        found = check_counts(
            est.counts,
            design="by_prediction" if unequal else est.info["design"],
            prior=est.asked.get("prior", est.info["prior"]),
            overlap=est.info["overlap"],
            interval=est.info["interval"],
            warnings=(),
            allowed=est.info.get("bands", 1) > 1,
        )
    except TrueupError as error:  # an estimate that is there has a report
        return tag("p", f"The check has no answer for these data: {error}")
    fine, doubt = tag("span", "fine", class_="fine"), tag("span", "look at this", class_="doubt")
    lines = [[f.question, doubt if f.doubt else fine, f.words] for f in found.findings]
    doubts = len(found.doubts)
    verdict = f"{doubts} of {len(lines)} answers need attention."
    if not doubts:
        told = "Nothing here gives more reason to doubt than the warnings above."
        verdict = told if est.info["warnings"] else "Nothing here gives reason to doubt."
    return join([tag("p", verdict), table(["question", "", "answer"], lines, words=3)])


def _named(labels: Sequence[Hashable]) -> str:
    return listed([*map(str, labels)])


def method(est: Estimate) -> Markup:
    """The method in two sentences, with its assumptions."""
    told = METHODS[est.info["method"]]
    exact = est.info.get("sampler") in (None, "exact")
    words, more = told["does"] if exact else told.get("sampled", told["does"]), [*told["needs"]]
    if any(est.asked.get(name) for name in ("drawn", "drawn_within", "probability", "cluster")):
        chosen = f"The audited units were {drawn(est)}, and chance alone chose them."
        random = "The test set is a random draw"
        more = [chosen if text.startswith(random) else text for text in more]
    if (audited := est.info.get("audited_periods")) is not None:
        rates = over_time(est).capitalize()
        where = f"That holds within the audited periods, here {_named(audited)}. "
        more.append(
            f"{where if audited else ''}{rates}; base rates move from period to period "
            "as far as the data say."
        )
    elif est.groups is not None:
        differ = "differ between groups as far as the audited units say"
        rates = differ if est.info.get("group_rates") else "are the same in all groups"
        more.append(f"Error rates {rates}; base rates are pooled where groups agree.")
    by_rows = est.info["method"] in ("bayes", "constrained", "full", "inverse")
    assumed = {
        "strata": "strata" in est.info,
        "bands": "bands" in est.info,
        "alike": "bands" not in est.info and est.counts.totals and by_rows,
        "noise": est.info["noise"] and est.whole is not None and "design_effect" not in est.info,
        "cluster": "design_effect" in est.info,
        "overlap": est.info["overlap"],
    }
    more += [WORDS["assumes"][name] for name, holds in assumed.items() if holds]
    name = tag("code", est.info["method"])
    return join(
        [tag("p", "Method ", name, ". ", words), tag("p", "What must hold:"), listing(more)]
    )


def warnings(est: Estimate) -> Markup:
    """What the user should know before publishing."""
    heading = tag("p", tag("strong", "Before this is published:"))
    return tag("div", heading, listing(est.info["warnings"]), class_="warnings")


def diagnostics(est: Estimate) -> Markup:
    """How well the computation went."""
    if est.whole is None:
        return tag("p", "This method has a formula and no draws: there is nothing to diagnose.")
    lines = [
        [name, form.format(est.info[key]), words]
        for key, (name, form, words) in WORDS["diagnostics"].items()
        if est.info.get(key)
    ]
    return table(["", "value", "what it says"], lines, words=3)


def priors(est: Estimate) -> Markup:
    """The estimates under other priors, and how far they move."""
    try:
        found = sensitivity(est, quick=True)
    except TrueupError as error:
        return tag("p", str(error).split("\n")[0])
    texts = {name: figures(other) for name, other in found.estimates.items()}
    lines: list[list[object]] = []
    for g, label in enumerate(est.classes):
        cells = (
            join(
                [
                    text["estimate"],
                    tag("span", f"{text['lower']} to {text['upper']}", class_="under"),
                ]
            )
            for text in (rows[g] for rows in texts.values())
        )
        lines.append([label, *cells])
    wide = {row["class"] for row in whole(est) if row["upper"] > row["lower"]}
    moves = [abs(row["moves"]) for row in found.rows() if row["class"] in wide]
    others = " and ".join(name for name in texts if name != est.info["prior"])
    words = (
        f"Under {others} instead of {est.info['prior']}, the corrected figures move by at most "
        f"{max(moves, default=0.0):.0%} of the half-width of their interval."
    )
    for name in (name for name in texts if name in NAMED_PRIORS):
        prior = resolve_prior(name, est.counts.K, est.classes, est.counts.L)
        heavy = invented(est.counts, prior, est.info["method"])
        words += f" But {heavy}." if heavy else ""
    missing = [f"{name}: {why}" for name, why in found.left_out.items()]
    header = ["class", *(f"prior {name}" for name in texts)]
    parts = [tag("p", words), table(header, lines, words=1)]
    return join([*parts, *([listing(missing)] if missing else [])])


def reproduce(est: Estimate) -> Markup:
    """The call, the command, versions, seed and hashes."""
    parts: list[Markup] = []
    command, call = command_line(est), python_call(est)
    if command:
        parts += [tag("p", "On the command line:"), tag("pre", command)]
    if call:
        parts += [tag("p", "In Python:"), tag("pre", call)]
    if call and not command:
        unsaid = ", ".join(only_in_python(est))
        parts.append(
            tag("p", f"There is no command for this: the command line cannot take {unsaid}.")
        )
    known = ", ".join(f"{name} {version}" for name, version in versions().items())
    parts.append(tag("p", f"Made with {known}; seed {est.info['seed']}."))
    files = file_hashes(est)
    lines = [[name, size, tag("code", digest)] for name, size, digest in files]
    lines.append(
        ["the data in numbers", "n, v̂, û and sums of squares", tag("code", counts_hash(est.counts))]
    )
    parts.append(table(["input", "size", "SHA-256"], lines, words=3))
    if files:
        parts.append(tag("p", when_hashed(est), class_="note"))
    return join(parts)


def annex(est: Estimate) -> Markup:
    """The groups as a table, up to a limit that is stated."""
    assert est.groups is not None
    K, B = est.counts.K, len(est.groups.labels)
    shown = max(MOST_ROWS // K, 1)
    naive = est.groups.figures["naive"]
    assert naive is not None
    largest = np.sort(np.argsort(-np.abs(naive).sum(axis=1), kind="stable")[:shown])
    header, cells, wide = published(est, groups=largest)
    words = (
        f"All {B:,} groups."
        if shown >= B
        else f"The {shown:,} largest of {B:,} groups, by their predicted figures; all of them are "
        "in est.table, and in the file that --output writes."
    )
    return join([tag("p", words), table(header, cells[:-K], words=wide)])
