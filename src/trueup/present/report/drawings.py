"""The charts of a report, as SVG within the page: they print, and need no script."""

import re
from typing import Any

from trueup.estimate.result import Estimate
from trueup.present.markup import Markup, tag
from trueup.present.plots import KINDS, kinds_for
from trueup.present.plots.style import finish, palette

PLANE_DRAWS = 700


def drawings(est: Estimate, theme: str) -> dict[str, Markup]:
    """Draw every chart that applies, by kind; none without the extra ``plot``."""
    try:
        import vl_convert  # noqa: F401
    except ImportError:
        return {}
    return {kind: drawing(est, kind, theme) for kind in kinds_for(est)}


def drawing(est: Estimate, kind: str, theme: str) -> Markup:
    """Draw one chart as a figure."""
    import vl_convert

    options: dict[str, Any] = {"most": PLANE_DRAWS} if kind == "plane" else {}
    colours = palette(theme)
    spec = finish(KINDS[kind](est, colours, **options), colours)
    spec["config"]["aria"] = False  # the figure has one description; a label per dot is noise
    svg = vl_convert.vegalite_to_svg(spec)
    return tag("figure", _inline(svg, kind), role="img", aria_label=spec["title"]["text"])


def _inline(svg: str, prefix: str) -> Markup:
    """Fit an SVG into a page: names of its own, coordinates to a hundredth, no namespaces."""
    head, rest = svg.split(">", 1)
    head = re.sub(r' (xmlns(:\w+)?|version|class)="[^"]*"', "", head)
    parts = re.split(r"(<[^>]*>)", rest)  # Vega escapes < and > in texts and attributes
    for i in range(1, len(parts), 2):
        tidy = re.sub(r' (role|aria-\w+|class)="[^"]*"', "", parts[i])
        tidy = re.sub(r'(id="|url\(#)(\w+)', rf"\g<1>{prefix}-\2", tidy)
        parts[i] = re.sub(r"(\d\.\d\d)\d+", r"\1", tidy)
    return Markup(head + ">" + "".join(parts))
