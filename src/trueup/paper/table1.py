"""The paper's Table 1, simulated and set beside what it prints: `trueup paper table1`.

One thousand times, every company is misclassified with p = q = 0.05 and a test set is drawn from
the same error model. Six methods then estimate the webshops' turnover; those with a posterior give
its mean. The methods use the same draws of (p, q) in different ways, so these are drawn once for
all replications together: the constrained methods keep the draws inside Θ₂, as in the paper's step
2, and where only few are inside, they draw from the truncated Betas of `samplers`.
"""

from dataclasses import dataclass

import numpy as np

from trueup.draws.samplers.exact import draw_exact
from trueup.numerics.arrays import Floats, Integers, Progress, Rng
from trueup.paper.webshops import ERROR_RATE, WEBSHOP, webshops
from trueup.simulation import Simulation, simulate
from trueup.study.verdict import error_figures

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
"""Below this share of draws inside Θ₂, the exact sampler draws them instead."""


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
    replications: int = 1000, draws: int = 1000, seed: int = 2019, progress: Progress | None = None
) -> tuple[list[Line], dict[tuple[str, int, str], Floats]]:
    """Simulate both designs, both test sizes and six methods.

    Return the lines of the table, and the estimates by (design, n, method) for the last figure.
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
                known, paper = method not in NO_EXPECTATION, PRINTED[n][method]
                figures = error_figures(x - truth)
                lines.append(
                    Line(
                        design, n, method, **figures, finite=known, replications=len(x), paper=paper
                    )
                )
            done += 1
            if progress is not None:
                progress(done / (len(DESIGNS) * len(PRINTED)))
    return lines, estimates


def _six(predictions: Simulation, test: Integers, draws: int, rng: Rng) -> dict[str, Floats]:
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
    """Return Q̂û for class 0, without replications where P̂ is not known or cannot be inverted."""
    with np.errstate(divide="ignore", invalid="ignore"):
        P = test / test.sum(axis=2, keepdims=True)
        x = _first(P[:, 0, 1], P[:, 1, 0], u_hat[:, 0], u_hat[:, 1])
    return np.asarray(x[np.isfinite(x)])


def _first(p: Floats, q: Floats, u_0: Floats, u_1: Floats) -> Floats:
    """Return (Qû)₀ = (û₀ − q(û₀ + û₁))/det P for P = [[1 − p, p], [q, 1 − q]]."""
    return np.asarray((u_0 - q * (u_0 + u_1)) / (1 - p - q))


def posterior_means(
    a: Floats, v_hat: Integers, u_hat: Floats, draws: int, rng: Rng
) -> tuple[Floats, Floats]:
    """Return posterior means of (Qû)₀ without and with the constraint, for every replication.

    `a` (R, 2, 2) has the Dirichlet parameters α + n, rows true; `v_hat` and `u_hat` (R, 2) units
    and totals per predicted class. Each replication has `draws` draws of (p, q).
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


def table_1_text(lines: list[Line]) -> str:
    """Set the table, ours beside the paper's; ± is one Monte Carlo standard error."""
    text = [
        "Table 1: webshop turnover, bias ×1e6, variance and MSE ×1e15; ± is one Monte Carlo error.",
        "In brackets: what the paper prints. †: no finite expectation (a pole where det P = 0), so",
        "  the figure is the accident of a run, here and in the paper.",
    ]
    for design, words in DESIGNS.items():
        for n in PRINTED:
            chosen = [line for line in lines if (line.design, line.n) == (design, n)]
            of = " (4 webshops of 50)" if n == 50 else " (150 webshops of 2,000)"
            text += ["", f"n = {n:,}, {words}{of if design == 'by_class' else ''}"]
            text.append(f"{'':12}{'Bias':>26}{'Var':>26}{'MSE':>26}")
            for line in chosen:
                figures = (
                    (line.bias, line.bias_error, 1e6),
                    (line.variance, line.variance_error, 1e15),
                    (line.mse, line.mse_error, 1e15),
                )
                row = "".join(
                    _cell(x / unit, error / unit, paper, line.finite)
                    for (x, error, unit), paper in zip(figures, line.paper, strict=True)
                )
                left_out = max(x.replications for x in chosen) - line.replications
                note = f"  {left_out} replications without an answer" if left_out else ""
                text.append(f"{line.method:12}{row}{note}".rstrip())
    return "\n".join(text)


def _cell(ours: float, error: float, paper: float, finite: bool) -> str:
    shown = f"{ours:.1e} ± {error:.0e}" if abs(ours) > 999 else f"{ours:.1f} ± {error:.1f}"
    return f"{shown}{'' if finite else ' †'} ({paper})".rjust(26)
