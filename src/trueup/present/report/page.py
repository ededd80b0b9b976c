"""The page around the sections: one file, no script, nothing from elsewhere."""

from __future__ import annotations

import base64
import hashlib

from trueup.present.markup import Markup, join, plain, tag

LIGHT = (
    "--paper:#fff;--ink:#1c2430;--faint:#596573;--line:#d9dfe6;--soft:#f4f6f9;--accent:#0072b2;"
    "--bad:#a33b00;"
)
DARK = (
    "--paper:#14181d;--ink:#e8edf2;--faint:#a3afbc;--line:#39434e;--soft:#1c232b;--accent:#7cc8f5;"
    "--bad:#f0a35e;"
)
STYLE = """
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);
font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
main{max-width:60rem;margin:0 auto;padding:2rem 1.25rem 4rem}
h1{font-size:1.75rem;line-height:1.2;margin:0 0 .5rem;overflow-wrap:anywhere}
h2{font-size:1.2rem;margin:2.5rem 0 .5rem;padding-top:1rem;border-top:1px solid var(--line)}
p{margin:.5rem 0;max-width:46rem;overflow-wrap:anywhere}
li{max-width:45rem;overflow-wrap:anywhere}
.headline{font-size:1.2rem;line-height:1.45;padding:1rem 1.25rem;margin:1.25rem 0;
background:var(--soft);border-left:4px solid var(--accent);border-radius:0 6px 6px 0;
max-width:none}
.note,.made{color:var(--faint);font-size:.9rem}
figure{margin:1.25rem 0;padding:.75rem;background:var(--chart);border:1px solid var(--line);
border-radius:6px;overflow-x:auto}
figure svg{display:block;max-width:100%;height:auto;margin:0 auto;overflow:visible}
.scroll{overflow-x:auto;margin:.75rem 0}
table{border-collapse:collapse;font-size:.9rem;min-width:60%}
caption{text-align:left;color:var(--faint);padding-bottom:.35rem}
th,td{padding:.35rem .75rem .35rem 0;text-align:left;vertical-align:top;
border-bottom:1px solid var(--line);font-weight:normal}
thead th{font-weight:600;vertical-align:bottom;border-bottom:2px solid var(--line)}
tbody th{min-width:6rem;max-width:18rem;overflow-wrap:anywhere}
td{overflow-wrap:anywhere}
.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums;overflow-wrap:normal}
th.n{white-space:normal}
pre,code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono",monospace;
font-size:.85rem}
pre{background:var(--soft);padding:.75rem 1rem;border-radius:6px;white-space:pre-wrap;
overflow-wrap:anywhere}
td code{font-size:.75rem;overflow-wrap:anywhere}
.warnings{border-left:4px solid var(--bad);background:var(--soft);padding:.25rem 1rem;
border-radius:0 6px 6px 0}
.doubt{color:var(--bad);font-weight:600;white-space:nowrap}
.fine{color:var(--faint)}
.under{display:block;color:var(--faint);font-size:.8rem}
@media (max-width:40rem){main{padding:1.25rem .9rem 3rem}h1{font-size:1.4rem}
.headline{font-size:1.05rem}
figure svg{max-width:none;min-width:30rem}}
@page{margin:16mm 15mm}
@media print{body{font-size:10pt}main{max-width:none;padding:0}
h2{break-after:avoid;margin-top:1.5rem}figure,tr,pre,.headline,.warnings{break-inside:avoid}
thead{display:table-header-group}.scroll,figure{overflow:visible}
figure svg{max-width:100%;max-height:225mm}table{font-size:8.5pt}}
"""


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
    title: str,
    lead: Markup,
    sections: list[tuple[str, Markup]],
    *,
    theme: str | None,
    footer: str,
) -> str:
    """Put the report together; the style is allowed by its hash, and nothing else is."""
    style = _colours(theme) + STYLE
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
