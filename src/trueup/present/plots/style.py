"""One look for all charts: colours that colour-blind people tell apart, sizes, number formats."""

import re
import tomllib
from collections.abc import Hashable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from trueup.errors import OptionError
from trueup.text import UNSEEN, decimals, shown

Spec = dict[str, Any]

LONGEST_LABEL = 36

TAG = re.compile("<(?=[a-zA-Z/!?])")

CORRECTED, NAIVE = "corrected", "as predicted"

# Labels of an axis, in Vega's words: 12k, 3.5M and 2bn, or the number itself. Fixed text, no data.
PLAIN = "format(datum.value, ',.4~r')"
SHORT = f"abs(datum.value) >= 1000 ? replace(format(datum.value, '.4~s'), 'G', 'bn') : {PLAIN}"


class Palette(SimpleNamespace):
    """The colours of a theme, which are in look.toml."""


LOOK = tomllib.loads(Path(__file__).with_name("look.toml").read_text(encoding="utf-8"))
THEMES = {name: Palette(**LOOK[name]) for name in ("light", "dark")}


def palette(theme: str) -> Palette:
    """Return the colours of a theme."""
    if theme not in THEMES:
        raise OptionError(f"`theme` must be one of {list(THEMES)}; got {theme!r}.")
    return THEMES[theme]


def finish(spec: Spec, colours: Palette) -> Spec:
    """Add the look to a chart, at its top: fonts, colours and a transparent background."""

    def coloured(part: Any) -> Any:
        if isinstance(part, dict):
            return {key: coloured(x) for key, x in part.items()}
        named = isinstance(part, str) and part.startswith("$")
        return getattr(colours, part[1:]) if named else part

    config = coloured(LOOK["config"]) | {"view": {"stroke": None}}
    config["legend"]["title"] = None
    return spec | {"background": "transparent", "padding": 6, "config": config}


def quantity(field: str, **more: Any) -> Spec:
    """Encode a number."""
    return {"field": field, "type": "quantitative", **more}


def words(field: str, **more: Any) -> Spec:
    """Encode a text."""
    return {"field": field, "type": "nominal", **more}


def layer(values: list[Any], mark: Spec, **encoding: Any) -> Spec:
    """Draw a mark for each of these values."""
    return {"data": {"values": values}, "mark": mark, "encoding": encoding}


def both_figures(colours: Palette, other: str, **more: Any) -> dict[str, Spec]:
    """Encode `figure` by colour and by "shape" or "strokeDash": it reads in black and white too."""
    ranges = {
        "color": [colours.corrected, colours.naive],
        "shape": ["circle", "diamond"],
        "strokeDash": [[1, 0], [5, 3]],
    }
    return {
        name: words(
            "figure",
            title=None,
            scale={"domain": [CORRECTED, NAIVE], "range": ranges[name]},
            **more,
        )
        for name in ("color", other)
    }


def figure_tooltip(name: str, row: dict[str, Any], form: str) -> list[Spec]:
    """Show a row's name, both figures and its interval, as far as there is one."""
    titles = {"naive": NAIVE, "corrected": CORRECTED, "lower": "interval from", "upper": "to"}
    return [
        words("name", title=name),
        *(
            quantity(field, format=form, title=title)
            for field, title in titles.items()
            if row[field] is not None
        ),
    ]


def heading(text: str) -> Spec:
    """Make the title of one panel among several."""
    return {"text": text, "fontSize": 12, "anchor": "middle", "offset": 4}


def bars(edges: Any, heights: Any, row: dict[str, Any], colour: str, x: Spec) -> Spec:
    """Draw a histogram, in strong colour between the row's `lower` and `upper`."""
    values = [
        {
            "from": float(a),
            "to": float(b),
            "height": float(h),
            "inside": bool(row["lower"] <= (a + b) / 2 <= row["upper"]),
        }
        for a, b, h in zip(edges[:-1], edges[1:], heights, strict=True)
    ]
    return layer(
        values,
        {"type": "rect", "color": colour},
        x=x | {"field": "from"},
        x2={"field": "to"},
        y=quantity("height", axis=None, scale={"domainMin": 0}),
        y2={"datum": 0},
        opacity={"condition": {"test": "datum.inside", "value": 0.7}, "value": 0.28},
    )


def clean(label: Hashable) -> str:
    r"""Write a label as text that no renderer stumbles over and no page takes for markup.

    A control character ends the process within vl-convert, and direction marks can make text read
    as something else: both are shown by their number. Altair writes charts into pages as they are,
    so a space of no width follows each < that would begin a tag.

    Examples
    --------
    >>> clean("bell \x07"), clean("<b>") == "<\u200bb>"
    ('bell \\x07', True)
    """
    return TAG.sub("<\u200b", UNSEEN.sub(shown, str(label)))


def shortened(label: Hashable, most: int = LONGEST_LABEL) -> str:
    """Write a label on one line, cut where it would fill the chart.

    Examples
    --------
    >>> shortened("a very long label", 10)
    'a very lo…'
    """
    text = clean(" ".join(str(label).split())) or "(empty)"
    return text if len(text) <= most else text[: most - 1] + "…"


def names(labels: Iterable[Hashable], most: int = LONGEST_LABEL) -> list[str]:
    """Write labels so that no two are the same on the chart, whatever they are.

    Examples
    --------
    >>> names([1, "1", "x"])
    ['1', '1 (2)', 'x']
    """
    taken: set[str] = set()
    found = []
    for label in labels:
        word, i = shortened(label, most), 1
        while word in taken:
            i += 1
            word = f"{shortened(label, most)} ({i})"
        taken.add(word)
        found.append(word)
    return found


def number_labels(values: Iterable[float]) -> str:
    """Return the expression that writes an axis's numbers: all alike, and short if large."""
    return SHORT if max(map(abs, values), default=0.0) >= 100_000 else PLAIN


def range_format(values: Iterable[float]) -> str:
    """Return the format of exact numbers, as in a tooltip, by the largest of them."""
    return f",.{decimals(values)}f"
