"""An audit in four commands: docs/tutorials/audit.md."""

import numpy as np
import pandas as pd

import trueup as tu

rng = np.random.default_rng(2024)
N = 20_000
webshop = rng.random(N) < 0.1
predicted = np.where(rng.random(N) < 0.08, ~webshop, webshop)
names = np.array(["other", "webshop"])
truth = pd.Series(names[webshop.astype(int)], index=np.arange(1, N + 1))
predictions = pd.DataFrame(
    {
        "unit": truth.index,
        "predicted": names[predicted.astype(int)],
        "region": rng.choice(["north", "south"], N),
    }
)
predictions.to_csv("predictions.csv", index=False)

work = tu.draw("predictions.csv", 300, id="unit", by_prediction=True, seed=7)
work["true"] = [truth[unit] for unit in work["unit"]]
work.to_csv("labelled.csv", index=False)

est = tu.correct("predictions.csv", "labelled.csv", by="region", seed=1)
print(est.to_markdown())
row = est.rows()[-1]
assert row["lower"] <= (truth == "webshop").sum() <= row["upper"]
print(f"In truth: {(truth == 'webshop').sum():,} webshops.")
