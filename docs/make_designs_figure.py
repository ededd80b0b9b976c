"""Draw the decision of designs.md: `python docs/make_designs_figure.py` writes figures/designs.svg.

A test set is a table, true classes by predicted ones. What tells the designs apart is which of its
numbers the person who drew it had fixed beforehand: those are orange, the others are chance.
"""

from __future__ import annotations

from pathlib import Path

TARGET = Path(__file__).parent / "figures" / "designs.svg"
# Boxes have colours of their own, so that the picture reads on a light and on a dark page; orange
# against blue is told apart by colour-blind people, and "fixed" is written as well.
FIXED, CHANCE, BOX, INK, LINE = "#e69f00", "#dbe7f3", "#f7f7f5", "#1b1b1b", "#8a8a8a"
WIDTH, HEIGHT = 900, 500
LEAVES = (
    ("random", "only how many in all", "joint", "n"),
    ("by_prediction", "how many of each prediction", "joint", "columns"),
    ("by_class", "how many of each true class", "constrained", "rows"),
    ("shifted", "it comes from elsewhere", "constrained", "elsewhere"),
)


def text(x: float, y: float, words: str, size: int = 14, **style: str) -> str:
    """Words, centred unless the style says otherwise."""
    given = {"text-anchor": "middle", "fill": INK} | {
        k.replace("_", "-"): v for k, v in style.items()
    }
    attributes = " ".join(f'{name}="{value}"' for name, value in given.items())
    return f'<text x="{x}" y="{y}" font-size="{size}" {attributes}>{words}</text>'


def box(x: float, y: float, w: float, h: float, fill: str = BOX, dashed: bool = False) -> str:
    """A box with rounded corners."""
    dash = ' stroke-dasharray="5 4"' if dashed else ""
    return (
        f'<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="6" fill="{fill}" stroke="{LINE}"'
        f"{dash}/>"
    )


def arrow(x1: float, y1: float, bend: float, x2: float, y2: float) -> str:
    """A line from a question down to what follows."""
    return (
        f'<path d="M{x1} {y1} V{bend} H{x2} V{y2}" fill="none" stroke="{LINE}" '
        'stroke-width="2" marker-end="url(#tip)"/>'
    )


def test_table(x: float, y: float, fixed: str) -> list[str]:
    """The test set's table with its margins; `fixed` says which of them were chosen."""
    size, gap = 30, 6
    dashed = fixed == "elsewhere"
    parts = [text(x + size, y - 8, "predicted", 12)]
    parts.append(
        f'<text x="{x - 10}" y="{y + size}" font-size="12" fill="{INK}" text-anchor="middle" '
        f'transform="rotate(-90 {x - 10} {y + size})">true</text>'
    )
    parts += [
        box(x + column * size, y + row * size, size, size, CHANCE, dashed)
        for row in range(2)
        for column in range(2)
    ]
    margins = {
        "rows": [(x + 2 * size + gap, y + i * size) for i in range(2)],
        "columns": [(x + i * size, y + 2 * size + gap) for i in range(2)],
        "n": [(x + 2 * size + gap, y + 2 * size + gap)],
    }
    for name, places in margins.items():
        for left, top in places:
            fill = FIXED if name == fixed else CHANCE
            parts.append(box(left, top, size, size, fill, dashed))
            if name == fixed:
                parts.append(text(left + size / 2, top + size / 2 + 4, "fixed", 10))
    return parts


def leaf(left: float, top: float, design: str, words: str, method: str, fixed: str) -> list[str]:
    """One answer: the design, what was fixed, its table and the method."""
    width, middle = 205, left + 102
    return [
        box(left, top, width, 246),
        text(middle, top + 26, f"design=&quot;{design}&quot;", 14, font_family="monospace"),
        text(middle, top + 48, words, 13),
        *test_table(middle - 40, top + 86, fixed),
        text(middle, top + 216, "auto uses", 12),
        text(middle, top + 236, method, 15, font_family="monospace"),
    ]


def picture() -> str:
    """The whole decision."""
    lefts = [12, 234, 456, 683]
    parts = [
        box(250, 12, 400, 44),
        text(450, 40, "Are the audited units from this very population?", 15),
        box(140, 128, 410, 44),
        text(345, 156, "Drawn again in the same way, what would be fixed?", 15),
        arrow(450, 56, 90, 345, 124),
        arrow(450, 56, 90, 785, 224),
        text(388, 84, "yes", 13, fill=LINE, font_weight="bold"),
        text(640, 84, "no", 13, fill=LINE, font_weight="bold"),
    ]
    for left, (design, words, method, fixed) in zip(lefts, LEAVES, strict=True):
        if fixed != "elsewhere":
            parts.append(arrow(345, 172, 198, left + 102, 224))
        parts += leaf(left, 230, design, words, method, fixed)
    body = "\n".join(parts)
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"
 font-family="system-ui, 'Segoe UI', Roboto, 'Noto Sans', sans-serif" role="img">
<title>Which design do I have?</title>
<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7"
 orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="{LINE}"/></marker></defs>
{body}
</svg>
"""


if __name__ == "__main__":
    TARGET.write_text(picture(), encoding="utf-8")
    print(TARGET.relative_to(Path.cwd()) if TARGET.is_relative_to(Path.cwd()) else TARGET)
