"""Two classes: the plane of error rates (q, p), where Θ₂(v̂) lies and where the draws are."""

import math

import numpy as np

from trueup.draws.contingency import plug_in
from trueup.estimate.result import Estimate
from trueup.numerics.arrays import Floats
from trueup.present.plots import style
from trueup.present.plots.style import Palette, Spec

MOST_DRAWS = 1000
SIDE = 300
ZOOM = 0.4
"""With the draws on less than this part of both axes, a second panel looks closer."""
DRAWS, PLUG_IN, ALLOWED = "posterior draws", "rates of the test set", "permitted by the counts"


def plane_spec(est: Estimate, colours: Palette, *, most: int = MOST_DRAWS) -> Spec:
    """Draw Figure 2b of the paper, alive: permitted (q, p), posterior draws and plug-in rates."""
    assert est.P is not None
    thin = np.linspace(0, len(est.P) - 1, min(most, len(est.P))).astype(int)
    draws = np.column_stack([est.P[thin, 1, 0], est.P[thin, 0, 1]])
    point = None
    if est.counts.n.sum(axis=1).all():
        P_hat = plug_in(est.counts.n)
        point = (float(P_hat[1, 0]), float(P_hat[0, 1]))
    shares = est.counts.v_hat / est.counts.N
    one, other = (style.shortened(label, 24) for label in est.classes)
    titles = (f"q: share of {other} predicted as {one}", f"p: share of {one} predicted as {other}")
    box = closer(draws, point)
    panels = [_panel(draws, point, shares, (1.0, 1.0), titles, colours)]
    if max(box) < ZOOM:
        panels.append(_panel(draws, point, shares, box, titles, colours))
    title = {
        "text": "Which error rates fit the predicted counts",
        "subtitle": [
            "Outside the shaded rectangles the corrected counts would be negative."
            + (" Right: the same, closer." if len(panels) > 1 else ""),
            f"{len(thin):,} of {len(est.P):,} draws are shown."
            if len(thin) < len(est.P)
            else f"All {len(thin):,} draws are shown.",
        ],
    }
    return {"title": title, "hconcat": panels}


def permitted(shares: Floats) -> list[dict[str, float]]:
    """Θ₂(v̂) as two rectangles: q ≤ v̂₁/N and p ≤ v̂₂/N, or both at least (Theorem 2).

    Examples
    --------
    >>> permitted(np.array([0.1, 0.9]))[0]
    {'q': 0.0, 'q2': 0.1, 'p': 0.0, 'p2': 0.9}
    """
    a, b = float(shares[0]), float(shares[1])
    return [{"q": 0.0, "q2": a, "p": 0.0, "p2": b}, {"q": a, "q2": 1.0, "p": b, "p2": 1.0}]


def closer(draws: Floats, point: tuple[float, float] | None) -> tuple[float, float]:
    """The upper ends of axes from 0 that hold 99.5% of the draws and the plug-in point."""
    ends = np.quantile(draws, 0.995, axis=0)
    if point is not None:
        ends = np.maximum(ends, point)
    q, p = np.minimum(1.1 * ends + 1e-6, 1.0)
    return float(q), float(p)


def dots(draws: Floats, box: tuple[float, float]) -> list[dict[str, float]]:
    """Draws that lie in a panel, to a fifth of a pixel or better: no screen shows more.

    Examples
    --------
    >>> dots(np.array([[0.123456, 0.5], [0.3, 0.5]]), (0.2, 1.0))
    [{'q': 0.1235, 'p': 0.5}]
    """
    q_places, p_places = (math.ceil(math.log10(5 * SIDE / end)) for end in box)
    inside = draws[(draws <= box).all(axis=1)].tolist()
    return [{"q": round(q, q_places), "p": round(p, p_places)} for q, p in inside]


def _panel(
    draws: Floats,
    point: tuple[float, float] | None,
    shares: Floats,
    box: tuple[float, float],
    titles: tuple[str, str],
    colours: Palette,
) -> Spec:
    axis = {"format": ".2~%", "tickCount": 5, "titleLimit": SIDE}
    x, y = (
        style.quantity(field, title=title, scale={"domain": [0, end], "nice": False}, axis=axis)
        for field, title, end in zip(("q", "p"), titles, box, strict=True)
    )
    kinds = {
        "color": [colours.allowed, colours.corrected, colours.naive],
        "shape": ["square", "circle", "diamond"],
    }
    look = {
        name: style.words(
            "what",
            title=None,
            scale={"domain": [ALLOWED, DRAWS, PLUG_IN], "range": chosen},
            legend={"symbolOpacity": 1},
        )
        for name, chosen in kinds.items()
    }
    mark = {"type": "point", "filled": True}
    small = mark | {"size": 12, "opacity": 0.35, "clip": True, "aria": False}
    rect = {"type": "rect", "opacity": 0.35, "clip": True}
    allowed = [row | {"what": ALLOWED} for row in permitted(shares)]
    layers = [
        style.layer(
            allowed, rect, x=x, x2={"field": "q2"}, y=y, y2={"field": "p2"}, color=look["color"]
        ),
        # one word for all draws, not one in each row: there are many
        style.layer(dots(draws, box), small, x=x, y=y, **look)
        | {"transform": [{"calculate": f"'{DRAWS}'", "as": "what"}]},
    ]
    if point is not None:
        own = [{"what": PLUG_IN, "q": point[0], "p": point[1]}]
        layers.append(style.layer(own, mark | {"size": 160, "opacity": 1}, x=x, y=y, **look))
    return {"width": SIDE, "height": SIDE, "layer": layers}
