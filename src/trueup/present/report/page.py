"""The page around the sections: one file, no script, nothing from elsewhere."""

import base64
import hashlib
from pathlib import Path

from trueup.present.markup import Markup, join, plain, tag

LIGHT = (
    "--paper:#fff;--ink:#1c2430;--faint:#596573;--line:#d9dfe6;--soft:#f4f6f9;--accent:#0072b2;"
    "--bad:#a33b00;"
)
DARK = (
    "--paper:#14181d;--ink:#e8edf2;--faint:#a3afbc;--line:#39434e;--soft:#1c232b;--accent:#7cc8f5;"
    "--bad:#f0a35e;"
)
STYLE = Path(__file__).with_name("report.css")


def _colours(theme: str | None) -> str:
    paper = f"@media print{{:root{{{LIGHT}--chart:#fff;color-scheme:light}}}}"
    if theme == "dark":
        return f":root{{{DARK}--chart:#14181d;color-scheme:dark}}figure{{print-color-adjust:exact}}"
    if theme == "light":
        return f":root{{{LIGHT}--chart:#fff;color-scheme:light}}"
    return (
        f":root{{{LIGHT}--chart:#fff;color-scheme:light dark}}"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{DARK}--chart:#fff}}}}{paper}"
    )


def page(
    title: str, lead: Markup, sections: list[tuple[str, Markup]], *, theme: str | None, footer: str
) -> str:
    """Put the report together; the style is allowed by its hash, and nothing else is."""
    style = f"{_colours(theme)}\n{STYLE.read_text(encoding='utf-8')}"
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    head = join(
        [
            Markup('<meta charset="utf-8">'),
            Markup(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
            Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
            Markup('<meta name="referrer" content="no-referrer">'),
            tag("title", title),
            Markup(f"<style>{style}</style>"),
        ]
    )
    body = join(tag("section", tag("h2", heading), content) for heading, content in sections)
    main = tag("main", tag("h1", title), lead, body, tag("p", footer, class_="made"))
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head><body>{plain(main)}</body></html>\n'
    )
