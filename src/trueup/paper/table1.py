"""The paper's Table 1, simulated and set beside what it prints: `trueup paper table1`.

One thousand times, every company is misclassified with p = q = 0.05 and a test set is drawn from
the same error model. Six methods then estimate the webshops' turnover; those with a posterior give
its mean. The methods differ in what they do with the same draws of (p, q), so these are drawn once
for all replications together: the constrained ones keep the draws inside Θ₂, as the paper's step 2
says, and where few are, the truncated Betas of `samplers` give as many as are wanted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueup.draws.samplers.exact import draw_exact
from trueup.paper.webshops import ERROR_RATE, WEBSHOP, webshops
from trueup.simulation import Simulation, simulate

__all__ = ["METHODS", "PRINTED", "Line", "posterior_means", "table_1", "table_1_text"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

METHODS = ("None", "Baseline", "Unif.", "Jeffr.", "Unif. con.", "Jeffr. con.")
# Bias ×1e6, variance ×1e15, MSE ×1e15, as printed.
PRINTED = {
    50: {
        "None": (195.3, 3.7, 41.8),
        "Baseline": (-1.3, 46.3, 46.3),
        "Unif.": (10.8, 72.7, 72.8),
        "Jeffr.": (22.0, 81.7, 82.2),
        "Unif. con.": (105.1, 35.8, 46.9),
        "Jeffr. con.": (88.5, 39.0, 46.9),
    },
    2000: {
        "None": (195.3, 3.7, 41.8),
        "Baseline": (1.3, 5.4, 5.4),
        "Unif.": (3.1, 5.5, 5.5),
        "Jeffr.": (2.3, 5.5, 5.5),
        "Unif. con.": (3.1, 5.5, 5.5),
        "Jeffr. con.": (2.3, 5.5, 5.5),
    },
}
DESIGNS = {"by_class": "fixed class counts", "random": "random test set"}
NO_EXPECTATION = ("Unif.", "Jeffr.")
"""The posterior of Qû has a pole where det P = 0, so no mean."""
PRIORS = {"Unif.": 1.0, "Jeffr.": 0.5}
CELLS = 200_000
"""Draws worked on at a time, so that they stay in the processor's cache."""
FEW = 0.25
"""Below this share of draws inside Θ₂, the exact sampler draws them anew."""


@dataclass(frozen=True)
class Line:
    """One figure of the table with its Monte Carlo errors, beside the printed ones."""

    design: str
    n: int
    method: str
    bias: float
    bias_error: float
    variance: float
    variance_error: float
    mse: float
    mse_error: float
    finite: bool
    replications: int
    paper: tuple[float, float, float]


def table_1(
    replications: int = 1000,
    draws: int = 1000,
    seed: int = 2019,
    progress: Callable[[float], None] | None = None,
) -> tuple[list[Line], dict[tuple[str, int, str], Floats]]:
    """Simulate both designs, both test sizes and six methods.

    Returns
    -------
    lines : list of Line
        Bias, variance and MSE with their Monte Carlo errors.
    estimates : dict
        The estimates themselves by (design, n, method), for the paper's last figure.
    """
    population = webshops()
    truth = float(population.y[population.s == WEBSHOP].sum())
    P = np.array([[1 - ERROR_RATE, ERROR_RATE], [ERROR_RATE, 1 - ERROR_RATE]])
    rng = np.random.Generator(np.random.SFC64(seed))

    def seeds() -> int:
        return int(rng.integers(2**63))

    predictions = simulate(
        P, n=0, true=population.s, values=population.y, design="shifted",
        replications=replications, seed=seeds(),
    )  # fmt: skip
    lines, estimates, done = [], {}, 0
    for design in DESIGNS:
        for n in PRINTED:
            v = predictions.v
            test = simulate(
                P, n=n, N=int(v.sum()), base_rates=v, design=design,
                replications=replications, seed=seeds(),
            ).n  # fmt: skip
            for method, x in _six(predictions, test, draws, rng).items():
                estimates[design, n, method] = x
                lines.append(_line(design, n, method, x - truth))
            done += 1
            if progress is not None:
                progress(done / (len(DESIGNS) * len(PRINTED)))
    return lines, estimates


def _six(
    predictions: Simulation, test: Integers, draws: int, rng: np.random.Generator
) -> dict[str, Floats]:
    assert predictions.u_hat is not None
    v_hat, u_hat = predictions.v_hat, predictions.u_hat
    answers = {"None": u_hat[:, 0], "Baseline": baseline(test, u_hat)}
    constrained = {}
    for name, alpha in PRIORS.items():
        answers[name], constrained[f"{name} con."] = posterior_means(
            (test + alpha).astype(float), v_hat, u_hat, draws, rng
        )
    return answers | constrained


def baseline(test: Integers, u_hat: Floats) -> Floats:
    """Q̂û for class 0; nothing where a class has no test unit or P̂ cannot be inverted."""
    with np.errstate(divide="ignore", invalid="ignore"):
        P = test / test.sum(axis=2, keepdims=True)
        x = _first(P[:, 0, 1], P[:, 1, 0], u_hat[:, 0], u_hat[:, 1])
    return np.asarray(x[np.isfinite(x)])


def _first(p: Floats, q: Floats, u_0: Floats, u_1: Floats) -> Floats:
    """(Qû)₀ for P = [[1 − p, p], [q, 1 − q]]: û₀ less what came over from class 1, over det P."""
    return np.asarray((u_0 - q * (u_0 + u_1)) / (1 - p - q))


def posterior_means(
    a: Floats, v_hat: Integers, u_hat: Floats, draws: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Posterior means of (Qû)₀ without and with the constraint, for all replications at once.

    Parameters
    ----------
    a : (R, 2, 2) array
        Dirichlet parameters α + n; rows true.
    v_hat, u_hat : (R, 2) array
        Units and totals per predicted class.
    draws : int
        Draws of (p, q) per replication.
    """
    R = len(a)
    free, held = np.empty(R), np.empty(R)
    rho = v_hat / v_hat.sum(axis=1, keepdims=True)
    step = max(1, CELLS // draws)
    for start in range(0, R, step):
        r = slice(start, start + step)
        size = (len(a[r]), draws)
        p = rng.beta(a[r, 0, 1, None], a[r, 0, 0, None], size)
        q = rng.beta(a[r, 1, 0, None], a[r, 1, 1, None], size)
        inside = (p <= rho[r, 1, None]) == (q <= rho[r, 0, None])
        x = _first(p, q, u_hat[r, 0, None], u_hat[r, 1, None])
        free[r] = np.einsum("rd->r", x) / draws
        kept = np.count_nonzero(inside, axis=1)
        x *= inside
        held[r] = np.einsum("rd->r", x) / np.maximum(kept, 1)
        for i in start + np.flatnonzero(kept < FEW * draws):
            P = draw_exact(a[i], v_hat[i].astype(float), draws, rng).P
            held[i] = _first(P[:, 0, 1], P[:, 1, 0], u_hat[i, 0], u_hat[i, 1]).mean()
    return free, held


def _line(design: str, n: int, method: str, error: Floats) -> Line:
    R = len(error)
    off = error - error.mean()
    variance = float((off**2).sum() / (R - 1))
    return Line(
        design=design,
        n=n,
        method=method,
        bias=float(error.mean()),
        bias_error=float(np.sqrt(variance / R)),
        variance=variance,
        variance_error=float((off**2).std() / np.sqrt(R)),
        mse=float((error**2).mean()),
        mse_error=float((error**2).std() / np.sqrt(R)),
        finite=method not in NO_EXPECTATION,
        replications=R,
        paper=PRINTED[n][method],
    )


def table_1_text(lines: list[Line]) -> str:
    """Set the table, ours beside the paper's; ± is one Monte Carlo standard error."""
    text = [
        "Table 1: webshop turnover, bias ×1e6, variance and MSE ×1e15; ± is one Monte Carlo error.",
        "In brackets: what the paper prints. †: no finite expectation (a pole where det P = 0), so",
        "  the figure is the accident of a run, here and in the paper.",
    ]
    cells: dict[str, Any]
    for design, words in DESIGNS.items():
        for n in PRINTED:
            chosen = [line for line in lines if (line.design, line.n) == (design, n)]
            of = " (4 webshops of 50)" if n == 50 else " (150 webshops of 2,000)"
            text += ["", f"n = {n:,}, {words}{of if design == 'by_class' else ''}"]
            text.append(f"{'':12}{'Bias':>26}{'Var':>26}{'MSE':>26}")
            for line in chosen:
                cells = {
                    "bias": (line.bias / 1e6, line.bias_error / 1e6, line.paper[0]),
                    "variance": (line.variance / 1e15, line.variance_error / 1e15, line.paper[1]),
                    "mse": (line.mse / 1e15, line.mse_error / 1e15, line.paper[2]),
                }
                row = "".join(_cell(x, e, paper, line.finite) for x, e, paper in cells.values())
                note = ""
                if line.replications < max(x.replications for x in chosen):
                    left_out = max(x.replications for x in chosen) - line.replications
                    note = f"  {left_out} replications without an answer"
                text.append(f"{line.method:12}{row}{note}".rstrip())
    return "\n".join(text)


def _cell(ours: float, error: float, paper: float, finite: bool) -> str:
    if abs(ours) > 999:
        shown = f"{ours:.1e} ± {error:.0e}" + ("" if finite else " †")
    else:
        shown = f"{ours:.1f} ± {error:.1f}" + ("" if finite else " †")
    return f"{shown} ({paper})".rjust(26)
