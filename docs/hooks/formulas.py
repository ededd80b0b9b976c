"""Formulas: LaTeX between dollars becomes MathML when the site is built.

Browsers draw MathML themselves, so the pages need neither a script nor a network.
"""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert

# What `pymdownx.arithmatex` with `generic: true` leaves in the page.
FORMULA = re.compile(
    r'<(span|div) class="arithmatex">(?:\\\((.*?)\\\)|\\\[(.*?)\\\])</\1>', re.DOTALL
)
# Commands that the converter does not know, spelled with ones that it does.
SPELLED = {r"\Dir": r"\mathrm{Dir}", r"\Mult": r"\mathrm{Mult}", r"\diag": r"\mathrm{diag}"}


def on_page_content(content: str, **_: Any) -> str:
    """Replace every formula of a page."""
    return FORMULA.sub(_mathml, content)


def _mathml(found: re.Match[str]) -> str:
    inline, block = found.group(2), found.group(3)
    latex = html.unescape(block if inline is None else inline).strip()
    for name, spelling in SPELLED.items():
        latex = re.sub(re.escape(name) + r"(?![A-Za-z])", lambda _, to=spelling: to, latex)
    made = convert(latex, display="inline" if inline is not None else "block")
    made = made.replace("<mi>&#x0007E;</mi>", "<mo>&#x0223C;</mo>")  # a relation, with its space
    unknown = re.search(r"<mi>(\\[A-Za-z]+)</mi>", made)
    if unknown:
        raise ValueError(f"latex2mathml does not know {unknown.group(1)} in: {latex}")
    return made
