"""Populations in groups with a known truth, and what the product answers per group."""

import itertools
from typing import Any

import numpy as np

from trueup.count.names import Columns
from trueup.count.parts import Figures, Label, assemble
from trueup.draws.settings import DESIGNS, make_settings
from trueup.estimate.grouped import estimate_parts
from trueup.numerics.arrays import Floats, Rng
from trueup.verify.grid import INTERVAL, draw_values, error_rates

SIZES = (5, 20, 100, 500)
EACH = 10
"""Groups of each size."""
DRAWS = 500


def group_cells(replications: int = 4) -> list[dict[str, Any]]:
    """List classes, test units, values and design, each `replications` times."""
    return [
        {"K": K, "n": n, "values": values, "design": design}
        for K, n, values, design in itertools.product(
            (2, 3), (50, 200, 2000), ("1", "gamma", "lognormal", "pareto"), DESIGNS
        )
        for _ in range(replications)
    ]


def run_groups(case: dict[str, Any], seed: int) -> Floats:
    """Return the mean coverage over groups of each size, for one population and one test set."""
    rng = np.random.default_rng(seed)
    K, design = case["K"], case["design"]
    size = np.repeat(SIZES, EACH)
    B = len(size)
    shares = rng.dirichlet(np.linspace(6.0, 3.0, K), B)
    group = np.repeat(np.arange(B), size)
    s = (rng.random(len(group))[:, None] > shares.cumsum(axis=1)[group, :-1]).sum(axis=1)
    P = error_rates(K, 0.85)
    s_hat = _predict(P, s, rng)
    y = draw_values(case["values"], s, rng)
    audited = _audit(design, case["n"], s, s_hat, K, rng)
    if design == "shifted":  # units from elsewhere: the same rates, equal shares
        s_test = rng.integers(0, K, case["n"])
        s_hat_test, where, y_test = _predict(P, s_test, rng), None, np.ones(case["n"])
    else:
        s_test, s_hat_test, where = s[audited], s_hat[audited], group[audited]
        y_test = np.ones(len(audited)) if y is None else y[audited]
    found = assemble(
        _figures(group, (s_hat,), np.ones(len(s)) if y is None else y),
        _figures(where, (s_test, s_hat_test), y_test),
        tuple(range(K)),
        Columns(value=None if y is None else "y", by=("group",)),
        placed=where is not None,
        signed=False,
        warnings=[],
    )
    seed = int(rng.integers(2**63))
    settings = make_settings(K, design=design, draws=DRAWS, interval=INTERVAL, seed=seed)
    est = estimate_parts(found, settings, dict, pooling="partial", keep=False)
    truth = np.bincount(group * K + s, y, B * K).reshape(B, K)
    assert est.groups is not None
    lower, upper = est.groups.figures["lower"], est.groups.figures["upper"]
    slack = 1e-9 * truth.sum()
    inside = (lower <= truth + slack) & (truth - slack <= upper)
    return np.asarray(inside.mean(axis=1).reshape(len(SIZES), EACH).mean(axis=1))


def _predict(P: Any, s: Any, rng: Rng) -> Any:
    return (rng.random(len(s))[:, None] > P.cumsum(axis=1)[s, :-1]).sum(axis=1)


def _audit(design: str, n: int, s: Any, s_hat: Any, K: int, rng: Rng) -> Any:
    """Choose the audited units: at random, or equally many of each (predicted or true) class."""
    if design == "shifted":
        return np.empty(0, np.int64)
    if design == "random":
        return rng.permutation(len(s))[:n]
    label = s_hat if design == "by_prediction" else s
    picked = [rng.permutation(np.flatnonzero(label == g))[: n // K] for g in range(K)]
    return np.concatenate(picked)


def _figures(group: Any, at: tuple[Any, ...], y: Any) -> Figures:
    """Make every unit a row of its own: slow, but simple."""
    parts: list[Label] = [
        () if group is None else (int(b),) for b in (at[0] if group is None else group)
    ]
    return Figures(parts, at, np.ones(len(y), np.int64), y, y**2)
