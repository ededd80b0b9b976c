"""Draw the charts of docs/report.md and make its report: `python docs/make_plot_figures.py`.

Writes docs/figures/plots/*.svg (one .png) and docs/report/demo.html, the report of `trueup demo`.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import tempfile
import warnings
from pathlib import Path

import numpy as np

import trueup as tu
from trueup.cli import main
from trueup.present.plots.studies import save_chart

HERE = Path(__file__).parent
CHARTS, REPORT = HERE / "figures" / "plots", HERE / "report" / "demo.html"
LAND = [
    "water", "forest, needles", "forest, leaves", "mixed forest", "shrub", "savanna", "grass",
    "wetland", "cropland", "urban", "mosaic", "snow and ice", "barren", "orchard", "peat",
]  # fmt: skip


def land_cover() -> tu.Estimate:
    """A made-up map of fifteen classes: 600 audited points of 100,000 cells."""
    rng = np.random.default_rng(15)
    K = len(LAND)
    P = 0.8 * np.eye(K) + 0.2 * rng.dirichlet(np.full(K, 0.5), K)
    cells = rng.multinomial(100_000, rng.dirichlet(np.full(K, 0.8)))
    table = np.array([rng.multinomial(units, p) for units, p in zip(cells, P, strict=True)])
    test = rng.multivariate_hypergeometric(table.ravel(), 600).reshape(K, K)
    return tu.correct_counts(test, table.sum(axis=0), classes=LAND, seed=1)


def quarters() -> tu.Estimate:
    """The demo's companies by a made-up quarter, in which more and more of them are webshops."""
    import polars as pl

    rng = np.random.default_rng(4)
    names = [f"{year}-Q{quarter}" for year in (2021, 2022, 2023) for quarter in (1, 2, 3, 4)]
    N = 24_000
    period = rng.integers(len(names), size=N)
    webshop = rng.random(N) < 0.02 + 0.006 * period
    predicted = np.where(rng.random(N) < 0.95, webshop, ~webshop)
    words = np.array(["other", "webshop"])
    units = pl.DataFrame(
        {
            "company": np.arange(N),
            "quarter": np.array(names)[period],
            "predicted": words[predicted.astype(int)],
        }
    )
    audited = rng.choice(N, 400, replace=False)
    test_set = pl.DataFrame({"company": audited, "true": words[webshop[audited].astype(int)]})
    return tu.correct(units, test_set, by="quarter", id="company", seed=1)


def draw() -> None:
    """Write every chart and the report."""
    for folder in (CHARTS, REPORT.parent):
        folder.mkdir(parents=True, exist_ok=True)
    land = land_cover()
    save_chart(land.plot("totals"), CHARTS / "totals.svg")
    save_chart(land.plot("test_set"), CHARTS / "test_set.svg")
    peculiar = tu.correct_counts(
        [[4, 1], [2, 3]], [10, 90], classes=["webshop", "other"], design="shifted", seed=1
    )
    save_chart(peculiar.plot(), CHARTS / "both.svg")
    save_chart(peculiar.plot("plane"), CHARTS / "plane.png")
    chains = tu.correct_counts(
        [[40, 5], [3, 60]],
        [300, 700],
        classes=["yes", "no"],
        design="shifted",
        method="full",
        seed=1,
    )
    save_chart(chains.plot("chains"), CHARTS / "chains.svg")
    with tempfile.TemporaryDirectory() as folder:
        save_chart(quarters().plot(), CHARTS / "groups.svg")
        here = os.getcwd()
        os.chdir(folder)  # the report names the files as the demo does
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                main(["demo"], standalone_mode=False)
        finally:
            os.chdir(here)
        shutil.copy(Path(folder) / "trueup-demo" / "report.html", REPORT)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        draw()
