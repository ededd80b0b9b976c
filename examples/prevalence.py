"""Prevalence from an imperfect test, with separate studies of its sensitivity and specificity.

The page docs/tutorials/prevalence.md explains it; its code is this file, block by block.
"""

import trueup as tu

tested, positive = 3_330, 50  # Santa Clara County, April 2020
test = [
    [103, 122 - 103],  # known cases: test positive, negative
    [401 - 399, 399],  # known to be free of it: positive, negative
]
study = {"classes": ["infected", "free"], "design": "by_class", "overlap": False}
survey = [positive, tested - positive]

est = tu.correct_counts(test, survey, **study, seed=1)
print(est.to_markdown())

county = tu.correct_counts(test, survey, **study, sample_of=float("inf"), seed=1)
for about, answer in (("the tested", est), ("the county", county)):
    row = answer.rows()[0]
    print(f"{about}: {row['lower'] / tested:.2%} to {row['upper'] / tested:.2%}")

free = [(3, 368), (0, 30), (0, 70), (0, 1102), (0, 300), (0, 311), (0, 500), (2, 198), (0, 99)]
free += [(2, 29), (4, 146), (3, 105), (2, 50)]  # tested positive, negative
studies = {"infected": [(78, 7), (27, 10), (25, 10)], "free": free}
for between in (0, 0.2, 0.5, 1):
    options = {"studies": studies, "between": between, "method": "full"}
    est = tu.correct_counts(None, survey, sample_of=float("inf"), seed=1, **options)
    low, middle, high = (est.rows()[0][x] / tested for x in ("lower", "estimate", "upper"))
    print(f"between={between:<3} {middle:.1%} ({low:.1%} to {high:.1%})")
