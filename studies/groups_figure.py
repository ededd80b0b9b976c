"""Draw docs/figures/groups.svg: naive against corrected in 24 groups of very different size.

python studies/groups_figure.py [FILE.svg]

The population is made here, so the truth is known and drawn too.
"""

from __future__ import annotations

import sys

import altair as alt
import numpy as np
import pandas as pd

import trueup as tu
from trueup.present.plots.studies import save_chart

SIZES = np.repeat([20, 100, 500, 2000], 6)
NAIVE, CORRECTED = "#D55E00", "#0072B2"  # Okabe and Ito: told apart by every eye


def population(rng: np.random.Generator) -> pd.DataFrame:
    """Groups with base rates Beta(1.5, 15), error rates 0.15 and 0.05."""
    group = np.repeat(np.arange(len(SIZES)), SIZES)
    true = rng.random(len(group)) < rng.beta(1.5, 15, len(SIZES))[group]
    wrong = rng.random(len(group)) < np.where(true, 0.15, 0.05)
    return pd.DataFrame({"group": group, "true": true, "predicted": true ^ wrong})


def chart(est: tu.Estimate, units: pd.DataFrame) -> alt.TopLevelMixin:
    """Small multiples by size: share of the class per group, sorted."""
    truth = units.groupby("group")["true"].mean()
    rows = [
        {
            "group": f"{row['group'] + 1:02d}",
            "size": f"groups of {SIZES[row['group']]:,} units",
            "naive": row["naive"] / SIZES[row["group"]],
            "corrected": row["estimate"] / SIZES[row["group"]],
            "lower": row["lower"] / SIZES[row["group"]],
            "upper": row["upper"] / SIZES[row["group"]],
            "truth": truth[row["group"]],
        }
        for row in est.rows()
        if row["class"] is True and row["group"] is not None
    ]
    share = alt.Axis(format="%", title="share of the class")
    base = alt.Chart(alt.Data(values=rows)).encode(
        y=alt.Y("group:N", sort=alt.EncodingSortField("corrected", order="descending"), title=None)
    )
    layers = alt.layer(
        base.mark_rule(color=CORRECTED, strokeWidth=2).encode(
            x=alt.X("lower:Q", axis=share), x2="upper:Q"
        ),
        base.mark_point(color=CORRECTED, filled=True, size=60).encode(x="corrected:Q"),
        base.mark_point(color=NAIVE, shape="diamond", size=60, strokeWidth=2).encode(x="naive:Q"),
        base.mark_tick(color="black", thickness=2, size=14).encode(x="truth:Q"),
    ).properties(width=230, height=150)
    title = alt.TitleParams(
        "Naive (diamond), corrected with 95% interval (dot), truth (bar)", anchor="start"
    )
    return layers.facet(
        facet=alt.Facet(
            "size:N", title=None, sort=[f"groups of {s:,} units" for s in (20, 100, 500, 2000)]
        ),
        columns=2,
        title=title,
    ).resolve_scale(y="independent")


if __name__ == "__main__":
    rng = np.random.default_rng(2019)
    units = population(rng)
    test_set = units.iloc[rng.choice(len(units), 500, replace=False)]
    est = tu.correct(units[["group", "predicted"]], test_set, by="group", seed=1)
    print(
        save_chart(
            chart(est, units), sys.argv[1] if len(sys.argv) > 1 else "docs/figures/groups.svg"
        )
    )
