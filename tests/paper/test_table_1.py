"""Table 1: what is reproducible is reproduced, and what has no expectation is marked."""

from itertools import product

import numpy as np
import pytest
from tests.seeds import fresh_seed

from trueup.paper.table1 import (
    METHODS,
    PRINTED,
    PRIORS,
    baseline,
    posterior_means,
    table_1,
    table_1_text,
)
from trueup.paper.webshops import ERROR_RATE, WEBSHOP, webshops
from trueup.simulation import simulate


@pytest.fixture(scope="module")
def lines():
    return {(x.design, x.n, x.method): x for x in table_1(1000, 500, fresh_seed())[0]}


def within(ours, error, theirs, their_error):
    """Five Monte Carlo errors of both runs together."""
    assert abs(ours - theirs) < 5 * np.hypot(error, their_error), (ours, theirs)


def squares_within(ours, error, theirs):
    """The same for means of squares, by logarithms: one that is low has too small an error."""
    within(np.log(ours), error / ours, np.log(theirs), error / ours)


def test_without_correction_the_exact_moments(lines):
    population = webshops()
    u = np.bincount(population.s, population.y)
    bias = ERROR_RATE * (u[1] - u[0])
    variance = ERROR_RATE * (1 - ERROR_RATE) * (population.y**2).sum()
    for n in PRINTED:
        line = lines["by_class", n, "None"]
        assert abs(line.bias - bias) < 5 * line.bias_error
        assert abs(line.variance - variance) < 5 * line.variance_error


def test_the_printed_figures_at_n_50(lines):
    """Fixed class counts, which the printed table fits; both runs had 1,000 replications."""
    for method in ("Baseline", "Unif. con.", "Jeffr. con."):
        line = lines["by_class", 50, method]
        within(line.bias, line.bias_error, line.paper[0] * 1e6, line.bias_error)
        squares_within(line.variance, line.variance_error, line.paper[1] * 1e15)


def test_all_methods_agree_at_n_2000(lines):
    for design, method in product(("by_class", "random"), METHODS[1:]):
        line = lines[design, 2000, method]
        squares_within(line.mse, line.mse_error, line.paper[2] * 1e15)
        within(line.bias, line.bias_error, line.paper[0] * 1e6, line.bias_error)


def test_the_random_design_does_not_fit_the_printed_table():
    """With 0 to 9 webshops among 50 the estimates spread more than the paper prints.

    Its MSE is near 80. A few errors are so large that they make up most of the mean and of its
    error, so no error counts for more than 10⁹: 2,000 replications are then some nine errors above
    the printed 46.9.
    """
    population, (_, estimates) = webshops(), table_1(2000, 200, fresh_seed())
    truth = population.y[population.s == WEBSHOP].sum()

    def above(design):
        off = np.minimum(np.abs(estimates[design, 50, "Unif. con."] - truth), 1e9) ** 2
        printed = PRINTED[50]["Unif. con."][2] * 1e15
        return (off.mean() - printed) / (off.std(ddof=1) / np.sqrt(len(off)))

    assert above("random") > 5
    assert above("by_class") < 5


def test_figures_without_an_expectation_are_marked(lines):
    for (_, _, method), line in lines.items():
        assert line.finite == (method not in ("Unif.", "Jeffr."))
    text = table_1_text(list(lines.values()))
    for line in text.splitlines():
        marked = line.startswith(("Unif.  ", "Jeffr.  "))
        assert ("†" in line) == (marked or line.startswith("In brackets"))
    assert "fixed class counts" in text
    assert "random test set" in text


def mean_by_quadrature(a, v_hat, u_hat, nodes=120):
    """The mean of (Qû)₀ over Θ₂ and its mean deviation: two rectangles meet where det P = 0.

    x = 3s² − 2s³ flattens the Betas' poles and that of Qû, so Gauss–Legendre will converge.
    """
    s, weight = np.polynomial.legendre.leggauss(nodes)
    s, weight = (s + 1) / 2, weight / 2
    x, weight = s**2 * (3 - 2 * s), weight * 6 * s * (1 - s)
    rho_0, rho_1 = v_hat / v_hat.sum()
    parts = []
    for p, q, size in (
        (rho_1 * (1 - x), rho_0 * (1 - x), rho_1 * rho_0),
        (rho_1 + rho_0 * x, rho_0 + rho_1 * x, rho_1 * rho_0),
    ):
        f_p = p ** (a[0, 1] - 1) * (1 - p) ** (a[0, 0] - 1) * weight
        f_q = q ** (a[1, 0] - 1) * (1 - q) ** (a[1, 1] - 1) * weight
        density = size * f_p[:, None] * f_q
        figure = (u_hat[0] - q * u_hat.sum()) / (1 - p[:, None] - q)
        parts.append((density, figure))
    density, figure = np.array(parts).swapaxes(0, 1)
    mean = (density * figure).sum() / density.sum()
    return mean, (density * np.abs(figure - mean)).sum() / density.sum()


def test_quadrature_knows_a_mean_by_hand():
    """Swapping p and q changes nothing here, so E[(1 − 2q)/(1 − p − q)] = 1."""
    flat = np.array([[1.0, 1.0], [1.0, 1.0]])
    found, _ = mean_by_quadrature(flat, np.array([5, 5]), np.array([1.0, 1.0]))
    assert found == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("name", PRIORS)
def test_constrained_means_are_the_exact_ones(name, rng):
    """The other prior, a transposed test set or no constraint is many errors away.

    Each test set counts by its own mean deviation: the few whose classifier is hardly better than
    chance have a variance without end, and would be most of the sum.
    """
    population, R = webshops(), 250
    P = np.array([[1 - ERROR_RATE, ERROR_RATE], [ERROR_RATE, 1 - ERROR_RATE]])
    options = {"replications": R, "seed": int(rng.integers(2**32))}
    predictions = simulate(
        P, n=0, true=population.s, values=population.y, design="shifted", **options
    )
    tests = simulate(P, n=50, N=18_939, base_rates=[0.075, 0.925], design="by_class", **options).n
    figures = predictions.v_hat, predictions.u_hat

    every = zip(tests + PRIORS[name], *figures, strict=True)
    exact, size = np.transpose([mean_by_quadrature(*x) for x in every])

    def off(a):
        error = (posterior_means(a, *figures, 1000, rng)[1] - exact) / size
        return abs(error.mean()) / (error.std(ddof=1) / np.sqrt(R))

    assert off((tests + PRIORS[name]).astype(float)) < 5
    (other,) = (alpha for key, alpha in PRIORS.items() if key != name)
    assert off((tests + other).astype(float)) > 7
    assert off((tests + PRIORS[name]).transpose(0, 2, 1).astype(float)) > 7


def test_baseline_leaves_out_what_cannot_be_answered():
    test = np.array([[[3, 1], [2, 8]], [[0, 0], [2, 8]], [[5, 5], [5, 5]]])
    x = baseline(test, np.tile([30.0, 70.0], (3, 1)))
    assert x == pytest.approx([(30 - 0.2 * 100) / 0.55])
