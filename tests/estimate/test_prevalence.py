"""The prevalence tutorial's posterior against brute force (Gelman and Carpenter 2020)."""

import numpy as np
from tests.seeds import fresh_seed

import trueup as tu

TEST = [[103, 19], [2, 399]]
SURVEY = [50, 3280]


def exact():
    """Mean and standard deviation of the prevalence, uniform priors, summed over a grid."""
    rate = np.linspace(0, 0.03, 401)[1:]
    spec = np.linspace(0.97, 1, 601)[:-1]
    weight = np.zeros(len(rate))
    for sens in np.linspace(0.6, 1, 201)[:-1]:
        p = rate[:, None] * sens + (1 - rate[:, None]) * (1 - spec)
        log_post = SURVEY[0] * np.log(p) + SURVEY[1] * np.log1p(-p)
        log_post += 399 * np.log(spec) + 2 * np.log1p(-spec)
        log_post += 103 * np.log(sens) + 19 * np.log1p(-sens)
        weight += np.exp(log_post + 430).sum(axis=1)
    mean = weight @ rate / weight.sum()
    return mean, np.sqrt(weight @ (rate - mean) ** 2 / weight.sum())


def test_full_is_the_model_of_gelman_and_carpenter(rng):
    est = tu.correct_counts(
        TEST, SURVEY, classes=["infected", "free"], design="by_class", overlap=False,
        method="full", prior="uniform", seed=fresh_seed(),
    )  # fmt: skip
    infected = est.draws[:, 0]
    prevalence = rng.beta(1 + infected, 1 + sum(SURVEY) - infected)
    mean, sd = exact()
    error = 5 * sd / np.sqrt(est.info["ess"])
    assert abs(prevalence.mean() - mean) < error
    assert abs(prevalence.std() - sd) < error
