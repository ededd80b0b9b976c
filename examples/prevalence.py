"""Prevalence from an imperfect test, with separate studies of its sensitivity and specificity.

The page docs/tutorials/prevalence.md explains it; its code is this file, block by block.
"""

import numpy as np

import trueup as tu

tested, positive = 3_330, 50  # Santa Clara County, April 2020
test = [
    [103, 122 - 103],  # known cases: test positive, negative
    [401 - 399, 399],  # known to be free of it: positive, negative
]
study = {"classes": ["infected", "free"], "design": "by_class", "overlap": False}
survey = [positive, tested - positive]

sensitivity, specificity = 103 / 122, 399 / 401
rogan_gladen = (positive / tested + specificity - 1) / (sensitivity + specificity - 1)
print(f"naive {positive / tested:.2%}, Rogan-Gladen {rogan_gladen:.2%}")

est = tu.correct_counts(test, survey, **study, seed=1)
print(est)

county = tu.correct_counts(test, survey, **study, sample_of=float("inf"), seed=1)
for about, answer in (("the tested", est), ("the county", county)):
    row = answer.rows()[0]
    print(f"{about}: {row['lower'] / tested:.2%} to {row['upper'] / tested:.2%}")

full = tu.correct_counts(test, survey, **study, method="full", prior="uniform", seed=1)
print(full)

rng = np.random.default_rng(1)
infected = full.draws[:, 0]  # among the 3,330 who were tested
prevalence = np.sort(rng.beta(1 + infected, 1 + tested - infected))  # among those like them
inner = int(0.95 * len(prevalence))
start = np.argmin(prevalence[inner:] - prevalence[:-inner])
low, high = prevalence[start], prevalence[start + inner]
print(f"shortest 95% interval of the prevalence: {low:.1%} to {high:.1%}")

for label, counts in (("as reported", [2, 399]), ("with 4 false positives", [4, 397])):
    other = tu.correct_counts([test[0], counts], survey, **study, seed=1)
    row = other.rows()[0]
    print(f"{label:24} {row['estimate']:3.0f} infected, {row['lower']:.0f} to {row['upper']:.0f}")
