"""HTML that cannot be broken by data: every text is escaped unless it was made here."""

import html
from collections.abc import Iterable, Sequence

from trueup.text import UNSEEN, shown

LONGEST = 200


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def plain(text: object) -> Markup:
    """Escape a text; characters that cannot be seen are written by their number.

    Examples
    --------
    >>> plain("<b>")
    '&lt;b&gt;'
    """
    if isinstance(text, Markup):
        return text
    lines = str(text).split("\n")
    return Markup("\n".join(html.escape(UNSEEN.sub(shown, line)) for line in lines))


def tag(name: str, *children: object, **attributes: str) -> Markup:
    """Make an element; children are escaped unless they are `Markup`.

    Examples
    --------
    >>> tag("p", "a < b", class_="note")
    '<p class="note">a &lt; b</p>'
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{plain(value)}"'
        for key, value in attributes.items()
    )
    return Markup(f"<{name}{given}>{join(children)}</{name}>")


def join(parts: Iterable[object]) -> Markup:
    """Put parts one after another."""
    return Markup("".join(plain(part) for part in parts))


def listing(items: Iterable[object]) -> Markup:
    """Make a list with bullets."""
    return tag("ul", *(tag("li", item) for item in items))


def table(
    header: Sequence[str], rows: Iterable[Sequence[object]], *, words: int, caption: str = ""
) -> Markup:
    """Make a table whose first `words` columns are text and whose others are numbers."""
    head = join(
        tag("th", cell, scope="col", **({} if i < words else {"class_": "n"}))
        for i, cell in enumerate(header)
    )
    body = join(
        tag(
            "tr",
            *(
                tag("th", _short(cell), scope="row")
                if i == 0
                else tag("td", _short(cell))
                if i < words
                else tag("td", cell, class_="n")
                for i, cell in enumerate(row)
            ),
        )
        for row in rows
    )
    parts = [tag("caption", caption)] if caption else []
    inner = tag("table", *parts, tag("thead", tag("tr", head)), tag("tbody", body))
    return tag("div", inner, class_="scroll", tabindex="0", role="region", aria_label="table")


def _short(cell: object) -> object:
    if isinstance(cell, Markup):
        return cell
    text = str(cell)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
