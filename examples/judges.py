"""Pass rates of three models from a language-model judge, corrected with 300 human verdicts.

The page docs/tutorials/judges.md explains it; its code is this file, block by block.
"""

import numpy as np
import pandas as pd

import trueup as tu

rng = np.random.default_rng(11)
model = np.repeat(["A", "B", "C"], 2_000)
right = rng.random(6_000) < np.repeat([0.80, 0.70, 0.55], 2_000)
judged = rng.random(6_000) < np.where(right, 0.96, 0.15)
answers = pd.DataFrame(
    {
        "answer": np.arange(6_000),
        "model": model,
        "predicted": np.where(judged, "pass", "fail"),
    }
)

audited = rng.choice(6_000, 300, replace=False)
people = pd.DataFrame({"answer": audited, "true": np.where(right[audited], "pass", "fail")})
est = tu.correct(answers, people, id="answer", by="model", seed=1)
print(est.to_markdown(share=True))

gap = next(row for row in est.contrast("C", "B", share=True) if row["class"] == "pass")
print(f"B - C: {gap['estimate']:.1%} ({gap['lower']:.1%} to {gap['upper']:.1%})")

for row in est.accuracy():
    who = "judge" if row["class"] is None else row["class"]
    print(
        f"{who:6} {row['measure']:9} {row['mean']:.2f} ({row['lower']:.2f} to {row['upper']:.2f})"
    )
