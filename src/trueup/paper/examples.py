"""The paper's examples, computed: `trueup paper examples`."""

import numpy as np

from trueup.api import correct_counts
from trueup.draws.contingency import expected_u_hat
from trueup.draws.theorem1 import posterior
from trueup.numerics.arrays import Floats, Rng
from trueup.prior import jeffreys

# The paper prints TP=4, FP=1, FN=2, TN=2, which sum to 9 and give p = q = 1/3. Its p = 0.2,
# q = 0.4, n = 10 and (−75, 175) need TP=4, FN=1, FP=2, TN=3: rows true, webshops first.
PECULIAR_TEST = np.array([[4, 1], [2, 3]])
PECULIAR_V_HAT = np.array([10, 90])


def base_rate_example() -> tuple[float, float]:
    """Return the expected number of companies classified as webshops, and its relative bias."""
    u = np.array([10_000.0, 90_000.0])
    p, q = 0.01, 0.005
    u_hat = expected_u_hat([[1 - p, p], [q, 1 - q]], u)
    return float(u_hat[0]), float(u_hat[0] / u[0] - 1)


def peculiar_example(draws: int = 200_000, seed: int = 1) -> dict[str, Floats]:
    """Return the baseline's (−75, 175) and the constrained posterior with Jeffreys' prior."""
    baseline = correct_counts(PECULIAR_TEST, PECULIAR_V_HAT, design="shifted", method="inverse")
    paper = correct_counts(
        PECULIAR_TEST, PECULIAR_V_HAT, design="shifted", method="constrained", prior="jeffreys",
        noise=False, draws=draws, seed=seed,
    )  # fmt: skip
    assert paper.draws is not None
    return {
        "inverse": np.array([row["estimate"] for row in baseline.rows()]),
        "draws": paper.draws,
        "mean": paper.draws.mean(axis=0),
        "error": paper.draws.std(axis=0) / np.sqrt(draws),
        "interval": np.array([(row["lower"], row["upper"]) for row in paper.rows()]),
        "acceptance": np.array(paper.info["acceptance"]),
    }


def posterior_of_p(n: int, rng: Rng) -> tuple[float, float]:
    """Return the Beta(a, b) posterior of p = p₁₀ after a simulated test set of n (Figure 1).

    The truth is p = 0.3, q = 0.1 and base rate 0.1; the prior is Jeffreys'.
    """
    p, q, beta = 0.3, 0.1, 0.1
    theta = np.array([[(1 - p) * beta, p * beta], [q * (1 - beta), (1 - q) * (1 - beta)]])
    test = rng.multinomial(n, theta.ravel()).reshape(2, 2)
    row = posterior(jeffreys(2), test).alpha[0]
    return float(row[1]), float(row[0])


def print_examples() -> None:
    """Print each example beside what the paper says."""
    expected, bias = base_rate_example()
    print("The Base Rate Example: 10,000 webshops of 100,000, p = 0.01, q = 0.005")
    print(f"  expected number classified as webshops  {expected:,.0f}   (paper: 10,350)")
    print(f"  relative bias                           {bias:+.1%}    (paper: +3.5%)")
    example = peculiar_example()
    webshops, others = example["inverse"]
    print("\nThe Peculiar Example: 10 of 100 predicted webshops, 10 test units")
    print(
        f"  baseline Q̂v̂                             {webshops:.0f}, {others:.0f}  (paper: -75, 175)"
    )
    mean, error = example["mean"][0], example["error"][0]
    print(f"  Jeffreys with constraints, mean         {mean:.2f} ± {error:.2f}  (paper: 5.0)")
    low, high = example["interval"][0]
    print(f"  95% interval                            {low:.2f} to {high:.2f}")
    print(f"  share of the posterior inside Θ₂        {float(example['acceptance']):.3%}")
    print("  Erratum: the paper prints TP=4, FP=1, FN=2, TN=2, which sum to 9 and give p=q=1/3;")
    print("  its p=0.2, q=0.4, n=10 and (-75, 175) need TP=4, FN=1, FP=2, TN=3, used here.")
    print("\nFigure 1: the posterior of p with Jeffreys' prior; the truth is 0.3")
    rng = np.random.default_rng(2019)
    for n in (0, 50, 500, 2000):
        a, b = posterior_of_p(n, rng)
        sd = np.sqrt(a * b / (a + b + 1)) / (a + b)
        print(f"  n = {n:<5,} Beta({a:g}, {b:g})".ljust(42) + f"{a / (a + b):.3f} ± {sd:.3f}")
