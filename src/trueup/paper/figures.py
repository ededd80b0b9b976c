"""The paper's figures, drawn again as SVG and PNG files: `trueup paper figures`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import betaln

from trueup.api import correct_counts
from trueup.errors import FileError
from trueup.numerics.arrays import Floats
from trueup.paper.examples import PECULIAR_TEST, PECULIAR_V_HAT, posterior_of_p
from trueup.paper.table1 import METHODS, table_1
from trueup.paper.webshops import WEBSHOP, webshops
from trueup.present.plots.plane import permitted
from trueup.present.plots.studies import load_altair, save_chart

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


def posteriors(seed: int) -> Any:
    """Figure 1: Jeffreys' prior and the posteriors of p for n = 50, 500, 2,000; truth 0.3."""
    alt = load_altair()
    rng = np.random.default_rng(seed)
    x = np.linspace(0.002, 0.998, 499)
    panels = []
    for n in (0, 50, 500, 2000):
        a, b = posterior_of_p(n, rng)
        y = np.exp((a - 1) * np.log(x) + (b - 1) * np.log1p(-x) - betaln(a, b))
        curve = (
            alt.Chart(_table(p=x, density=y), title=f"n = {n:,}")
            .mark_area(color=BLUE, opacity=0.35, line={"color": BLUE})
            .encode(x=alt.X("p:Q", scale=alt.Scale(domain=[0, 1])), y="density:Q")
        )
        truth = alt.Chart(_table(p=[0.3])).mark_rule(color=BLACK).encode(x="p:Q")
        panels.append((curve + truth).properties(width=220, height=150))
    return (panels[0] | panels[1]) & (panels[2] | panels[3])


def geometry(seed: int) -> Any:
    """Figure 2: the simplex with the image of Pᵀ and v̂/N, and the permitted (q, p) pairs."""
    alt = load_altair()
    p, q = 0.2, 0.4  # as estimated in the Peculiar Example
    beta_hat = PECULIAR_V_HAT / PECULIAR_V_HAT.sum()
    unit = alt.Scale(domain=[0, 1])
    simplex = alt.Chart(_table(x=[1.0, 0.0], y=[0.0, 1.0])).mark_line(color="#999")
    image = alt.Chart(_table(x=[1 - p, q], y=[p, 1 - q])).mark_line(color=BLUE, strokeWidth=4)
    ends = alt.Chart(_table(x=[1 - p, q], y=[p, 1 - q])).mark_circle(color=BLUE, size=80, opacity=1)
    dot = alt.Chart(_table(x=[beta_hat[0]], y=[beta_hat[1]]))
    words = alt.Chart(
        _table(
            x=[0.97, 0.03, (1 - p + q) / 2, beta_hat[0]],
            y=[0.03, 0.97, (1 - q + p) / 2, beta_hat[1]],
            word=["e1", "e2", "im Pᵀ", "predicted shares"],
        )
    ).mark_text(align="left", dx=8, dy=-6)
    plane = {
        "x": alt.X("x:Q", scale=unit, title="class 1"),
        "y": alt.Y("y:Q", scale=unit, title="class 2"),
    }
    left = (
        simplex.encode(**plane)
        + image.encode(**plane)
        + ends.encode(**plane)
        + dot.mark_circle(color=ORANGE, size=120, opacity=1).encode(**plane)
        + words.encode(text="word:N", **plane)
    ).properties(width=260, height=260, title="(a) the image of the simplex under Pᵀ")
    area = (
        alt.Chart(alt.Data(values=permitted(beta_hat)))
        .mark_rect(color=ORANGE, opacity=0.5)
        .encode(
            x=alt.X("q:Q", scale=unit, title="q"),
            x2="q2:Q",
            y=alt.Y("p:Q", scale=unit, title="p"),
            y2="p2:Q",
        )
    )
    estimate = (
        alt.Chart(_table(q=[q], p=[p]))
        .mark_circle(color=BLUE, size=80, opacity=1)
        .encode(x="q:Q", y="p:Q")
    )
    title = "(b) permitted (q, p); dot: the test set's own"
    return left | (area + estimate).properties(width=260, height=260, title=title)


def peculiar(seed: int) -> Any:
    """Figure 3: the posterior of the number of webshops in the Peculiar Example."""
    alt = load_altair()
    est = correct_counts(
        PECULIAR_TEST, PECULIAR_V_HAT, design="shifted", method="constrained", prior="jeffreys",
        noise=False, draws=200_000, seed=seed,
    )  # fmt: skip
    assert est.draws is not None
    x = est.draws[:, 0]
    height, edges = np.histogram(x, bins=100, range=(0, 100), density=True)
    bars = _histogram(height, edges, ORANGE, "webshops of 100", "density")
    mean = alt.Chart(_table(x=[x.mean()])).mark_rule(color=BLACK, strokeDash=[4, 3]).encode(x="x:Q")
    title = f"Jeffreys' prior with constraints: posterior mean {x.mean():.1f}"
    return (bars + mean).properties(width=420, height=260, title=title)


def turnover(seed: int) -> Any:
    """Figure 4: the distribution of turnover; here of the synthetic companies (see `webshops`)."""
    y = np.log10(webshops().y)
    height, edges = np.histogram(y, bins=60)
    bars = _histogram(height, edges, BLUE, "log10 of annual turnover (EUR)", "companies")
    title = "18,939 companies (synthetic: see docs/reproduce.md)"
    return bars.properties(width=420, height=260, title=title)


def posterior_means(
    seed: int, replications: int = 1000, progress: Callable[[float], None] | None = None
) -> Any:
    """Figure 5: the distributions of the posterior means of webshop turnover, n = 50 and 2,000."""
    alt = load_altair()
    population = webshops()
    truth = population.y[population.s == WEBSHOP].sum() / 1e6
    _, estimates = table_1(replications, seed=seed, progress=progress)
    panels = []
    for n, low, high in ((50, -600.0, 1800.0), (2000, 100.0, 1100.0)):
        grid = np.linspace(low, high, 401)
        rows = []
        for method in METHODS:
            y = _density(estimates["by_class", n, method] / 1e6, grid)
            rows += [
                {"x": float(a), "density": float(b), "method": method}
                for a, b in zip(grid, y, strict=True)
            ]
        curves = (
            alt.Chart(alt.Data(values=rows))
            .mark_line()
            .encode(
                x=alt.X("x:Q", title="webshop turnover (EUR million)"),
                y=alt.Y("density:Q"),
                color=alt.Color(
                    "method:N",
                    sort=list(METHODS),
                    scale=alt.Scale(domain=list(METHODS), range=[STYLE[m][0] for m in METHODS]),
                ),
                strokeDash=alt.StrokeDash(
                    "method:N",
                    scale=alt.Scale(domain=list(METHODS), range=[STYLE[m][1] for m in METHODS]),
                ),
            )
        )
        line = alt.Chart(_table(x=[truth])).mark_rule(color=BLACK, strokeWidth=2).encode(x="x:Q")
        panels.append((curves + line).properties(width=480, height=240, title=f"n = {n:,}"))
    return panels[0] & panels[1]


def _density(x: Floats, grid: Floats) -> Floats:
    """A Gaussian kernel estimate whose width is set by the quartiles: some of these have tails."""
    low, high = np.quantile(x, [0.25, 0.75])
    width = max(0.9 * (high - low) / 1.34 * len(x) ** -0.2, 1e-9)
    z = (grid[:, None] - x) / width
    return np.asarray(np.exp(-0.5 * z**2).mean(axis=1) / (width * np.sqrt(2 * np.pi)))


def _histogram(height: Any, edges: Floats, colour: str, across: str, up: str) -> Any:
    alt = load_altair()
    data = _table(x=edges[:-1], x2=edges[1:], y=height, floor=np.zeros(len(height)))
    return (
        alt.Chart(data)
        .mark_rect(color=colour, opacity=0.7)
        .encode(x=alt.X("x:Q", title=across), x2="x2:Q", y=alt.Y("y:Q", title=up), y2="floor:Q")
    )


def _table(**columns: Any) -> Any:
    alt = load_altair()
    names = list(columns)
    rows = zip(*columns.values(), strict=True)
    return alt.Data(
        values=[
            {k: x if isinstance(x, str) else float(x) for k, x in zip(names, row, strict=True)}
            for row in rows
        ]
    )


FIGURES: dict[str, Callable[[int], Any]] = {
    "figure-1-posteriors": posteriors,
    "figure-2-geometry": geometry,
    "figure-3-peculiar-example": peculiar,
    "figure-4-turnover": turnover,
}


def write_figures(
    folder: Path,
    *,
    replications: int = 1000,
    seed: int = 2019,
    progress: Callable[[float], None] | None = None,
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
