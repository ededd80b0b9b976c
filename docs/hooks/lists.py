"""Lists right below a paragraph: Python's Markdown wants an empty line between, others do not."""

from __future__ import annotations

import re
from typing import Any

ITEM = re.compile(r" *(?:[-*]|\d+\.) ")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put an empty line before a list that begins right below a line of text."""
    lines: list[str] = []
    fenced = listed = False
    for line in markdown.split("\n"):
        before = lines[-1] if lines else ""
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced and ITEM.match(line):
            if before.strip() and not listed and not before.startswith("#"):
                lines.append("")
            listed = True
        elif not fenced and line and not line.startswith(" ") and not before.strip():
            listed = False
        lines.append(line)
    return "\n".join(lines)
