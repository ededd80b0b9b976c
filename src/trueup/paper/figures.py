"""The paper's figures, drawn again as SVG and PNG files: `trueup paper figures`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import betaln

from trueup.errors import FileError
from trueup.numerics.arrays import Floats, Progress
from trueup.paper.examples import PECULIAR_V_HAT, peculiar_example, posterior_of_p
from trueup.paper.table1 import METHODS, table_1
from trueup.paper.webshops import WEBSHOP, webshops
from trueup.present.plots.plane import permitted
from trueup.present.plots.studies import load_altair, save_chart
from trueup.present.plots.style import Spec, layer, quantity, words

BLUE, ORANGE, RED, BLACK = "#1f5fa8", "#e07b00", "#c02020", "#111111"
# Colours and dashes as in the paper: red baseline, blue without constraints, orange with.
STYLE = {
    "None": (BLACK, [4, 3]),
    "Baseline": (RED, [4, 3]),
    "Unif.": (BLUE, [4, 3]),
    "Jeffr.": (BLUE, [1, 0]),
    "Unif. con.": (ORANGE, [4, 3]),
    "Jeffr. con.": (ORANGE, [1, 0]),
}


def posteriors(seed: int) -> Spec:
    """Figure 1: Jeffreys' prior and the posteriors of p for n = 50, 500, 2,000; truth 0.3."""
    rng = np.random.default_rng(seed)
    x = np.linspace(0.002, 0.998, 499)
    across = quantity("p", scale={"domain": [0, 1]})
    area = {"type": "area", "color": BLUE, "opacity": 0.35, "line": {"color": BLUE}}
    panels = []
    for n in (0, 50, 500, 2000):
        a, b = posterior_of_p(n, rng)
        y = np.exp((a - 1) * np.log(x) + (b - 1) * np.log1p(-x) - betaln(a, b))
        curve = layer(_rows(p=x, density=y), area, x=across, y=quantity("density"))
        truth = layer([{"p": 0.3}], {"type": "rule", "color": BLACK}, x=across)
        panels.append(_panel(f"n = {n:,}", 220, 150, curve, truth))
    return {"concat": panels, "columns": 2}


def geometry(seed: int) -> Spec:
    """Figure 2: the simplex with the image of Pᵀ and v̂/N, and the permitted (q, p) pairs."""
    p, q = 0.2, 0.4  # as estimated in the Peculiar Example
    beta_hat = PECULIAR_V_HAT / PECULIAR_V_HAT.sum()
    unit, dot = {"domain": [0, 1]}, {"type": "circle", "opacity": 1}
    plane = {
        "x": quantity("x", scale=unit, title="class 1"),
        "y": quantity("y", scale=unit, title="class 2"),
    }
    image = _rows(x=[1 - p, q], y=[p, 1 - q])
    words_at = _rows(
        x=[0.97, 0.03, (1 - p + q) / 2, beta_hat[0]],
        y=[0.03, 0.97, (1 - q + p) / 2, beta_hat[1]],
        word=["e1", "e2", "im Pᵀ", "predicted shares"],
    )
    text = {"type": "text", "align": "left", "dx": 8, "dy": -6}
    left = _panel(
        "(a) the image of the simplex under Pᵀ", 260, 260,
        layer(_rows(x=[1.0, 0.0], y=[0.0, 1.0]), {"type": "line", "color": "#999"}, **plane),
        layer(image, {"type": "line", "color": BLUE, "strokeWidth": 4}, **plane),
        layer(image, dot | {"color": BLUE, "size": 80}, **plane),
        layer(_rows(x=beta_hat[:1], y=beta_hat[1:]), dot | {"color": ORANGE, "size": 120}, **plane),
        layer(words_at, text, text=words("word"), **plane),
    )  # fmt: skip
    x, y = (quantity(name, scale=unit, title=name) for name in ("q", "p"))
    area = {"type": "rect", "color": ORANGE, "opacity": 0.5}
    right = _panel(
        "(b) permitted (q, p); dot: the test set's own", 260, 260,
        layer(permitted(beta_hat), area, x=x, x2={"field": "q2"}, y=y, y2={"field": "p2"}),
        layer([{"q": q, "p": p}], dot | {"color": BLUE, "size": 80}, x=x, y=y),
    )  # fmt: skip
    return {"hconcat": [left, right]}


def peculiar(seed: int) -> Spec:
    """Figure 3: the posterior of the number of webshops in the Peculiar Example."""
    webshops = peculiar_example(seed=seed)["draws"][:, 0]
    bars = _histogram(
        *np.histogram(webshops, bins=100, range=(0, 100), density=True), ORANGE, "webshops of 100",
        "density",
    )  # fmt: skip
    rule = {"type": "rule", "color": BLACK, "strokeDash": [4, 3]}
    mean = layer(_rows(x=[webshops.mean()]), rule, x=quantity("x"))
    title = f"Jeffreys' prior with constraints: posterior mean {webshops.mean():.1f}"
    return _panel(title, 420, 260, bars, mean)


def turnover(seed: int) -> Spec:
    """Figure 4: the distribution of turnover; here of the synthetic companies (see `webshops`)."""
    found = np.histogram(np.log10(webshops().y), bins=60)
    bars = _histogram(*found, BLUE, "log10 of annual turnover (EUR)", "companies")
    return _panel("18,939 companies (synthetic: see docs/reproduce.md)", 420, 260, bars)


def posterior_means(seed: int, replications: int = 1000, progress: Progress | None = None) -> Spec:
    """Figure 5: the distributions of the posterior means of webshop turnover, n = 50 and 2,000."""
    population = webshops()
    truth = population.y[population.s == WEBSHOP].sum() / 1e6
    _, estimates = table_1(replications, seed=seed, progress=progress)
    look = {
        name: words(
            "method", sort=list(METHODS),
            scale={"domain": list(METHODS), "range": [STYLE[m][k] for m in METHODS]},
        )
        for k, name in enumerate(("color", "strokeDash"))
    }  # fmt: skip
    across = quantity("x", title="webshop turnover (EUR million)")
    panels = []
    for n, low, high in ((50, -600.0, 1800.0), (2000, 100.0, 1100.0)):
        grid = np.linspace(low, high, 401)
        rows = [
            row | {"method": method}
            for method in METHODS
            for row in _rows(x=grid, density=_density(estimates["by_class", n, method] / 1e6, grid))
        ]
        curves = layer(rows, {"type": "line"}, x=across, y=quantity("density"), **look)
        rule = {"type": "rule", "color": BLACK, "strokeWidth": 2}
        panels.append(
            _panel(f"n = {n:,}", 480, 240, curves, layer(_rows(x=[truth]), rule, x=across))
        )
    return {"vconcat": panels}


def _density(x: Floats, grid: Floats) -> Floats:
    """A Gaussian kernel estimate whose width is set by the quartiles: some of these have tails."""
    low, high = np.quantile(x, [0.25, 0.75])
    width = max(0.9 * (high - low) / 1.34 * len(x) ** -0.2, 1e-9)
    z = (grid[:, None] - x) / width
    return np.asarray(np.exp(-0.5 * z**2).mean(axis=1) / (width * np.sqrt(2 * np.pi)))


def _histogram(height: Any, edges: Floats, colour: str, across: str, up: str) -> Spec:
    rows = _rows(x=edges[:-1], x2=edges[1:], y=height)
    mark = {"type": "rect", "color": colour, "opacity": 0.7}
    ends = {"x": quantity("x", title=across), "x2": {"field": "x2"}}
    return layer(rows, mark, **ends, y=quantity("y", title=up), y2={"datum": 0})


def _panel(title: str, width: int, height: int, *layers: Spec) -> Spec:
    return {"title": title, "width": width, "height": height, "layer": list(layers)}


def _rows(**columns: Any) -> list[dict[str, Any]]:
    return [
        {k: x if isinstance(x, str) else float(x) for k, x in zip(columns, row, strict=True)}
        for row in zip(*columns.values(), strict=True)
    ]


FIGURES: dict[str, Callable[[int], Spec]] = {
    "figure-1-posteriors": posteriors,
    "figure-2-geometry": geometry,
    "figure-3-peculiar-example": peculiar,
    "figure-4-turnover": turnover,
}


def write_figures(
    folder: Path, *, replications: int = 1000, seed: int = 2019, progress: Progress | None = None
) -> list[Path]:
    """Write every figure of the paper as SVG and PNG; the paths come back."""
    load_altair()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{str(folder)!r} must be a folder; {error.strerror}.") from None
    charts = {name: draw(seed) for name, draw in FIGURES.items()}
    charts["figure-5-posterior-means"] = posterior_means(seed, replications, progress)
    return [
        save_chart(chart, folder / f"{name}.{ending}")
        for name, chart in charts.items()
        for ending in ("svg", "png")
    ]
