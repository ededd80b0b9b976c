"""A report that can be attached to a publication: one HTML file that needs nothing else."""

import datetime
from pathlib import Path

from trueup.errors import OptionError
from trueup.estimate.result import Estimate
from trueup.present.evidence import what
from trueup.present.markup import Markup, join, tag
from trueup.present.output import writable, write_whole
from trueup.present.plots.style import THEMES
from trueup.present.report import sections
from trueup.present.report.drawings import drawings
from trueup.present.report.page import page
from trueup.present.sentences import corrected, headline, question


def write_report(
    est: Estimate, path: str | Path, *, title: str | None = None, theme: str | None = None
) -> Path:
    """Write the report of an estimate, whole or not at all, and return its path.

    The title is by default what was estimated. Without a `theme`, "light" or "dark", the page
    follows the reader's setting, with charts on white; it prints light.
    """
    target = check_path(path)
    write_whole(target, report_html(est, title=title, theme=theme).encode())
    return target


def check_path(path: str | Path) -> Path:
    """Refuse a path that cannot be a report, before any work is done."""
    return writable("a report", path, ".html", ".htm")


def report_html(est: Estimate, *, title: str | None = None, theme: str | None = None) -> str:
    """Return the report as text."""
    if theme is not None and theme not in THEMES:
        raise OptionError(f"`theme` must be one of {list(THEMES)} or None; got {theme!r}.")
    charts = drawings(est, theme or "light")
    subject = what(est)
    own = f"{subject[0].upper()}{subject[1:]} per class, {corrected(est)}"
    lead: list[Markup] = [
        tag("p", headline(est), class_="headline"),
        tag("p", tag("strong", "What was asked. "), question(est)),
    ]
    if est.info["warnings"]:
        lead.append(sections.warnings(est))
    if not charts:
        words = "There are no charts: they need Altair and vl-convert, pip install 'trueup[plot]'."
        lead.append(tag("p", words, class_="note"))

    def with_charts(content: Markup, *kinds: str) -> Markup:
        return join([*(charts[kind] for kind in kinds if kind in charts), content])

    content = [
        ("Estimates", with_charts(sections.estimates(est), "totals", "density")),
        ("Accuracy of the classifier", sections.accuracies(est)),
        ("The data in numbers", with_charts(sections.data(est), "test_set")),
        *([("The score", charts["calibration"])] if "calibration" in charts else []),
        ("Design check", sections.design(est)),
        ("Method", with_charts(sections.method(est), "plane")),
        ("Diagnostics", with_charts(sections.diagnostics(est), "chains")),
        ("Prior sensitivity", sections.priors(est)),
        ("How to reproduce this", sections.reproduce(est)),
    ]
    if est.groups is not None:
        many = f"There are {len(est.groups.labels):,} groups; their figures are in the annex."
        content.insert(1, ("Groups", with_charts(tag("p", many), "groups")))
        content.append(("Annex: all groups", sections.annex(est)))
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    footer = f"Made on {today} with trueup {est.info['version']}."
    return page(title or own, join(lead), content, theme=theme, footer=footer)
