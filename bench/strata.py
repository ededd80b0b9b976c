"""How fast strata are: 60 strata, two classes, 500 draws, per stratum and in all.

    PYTHONPATH=src python bench/strata.py random
    PYTHONPATH=OLD/src python bench/strata.py random

Run it with the source of another commit, for a ratio; seconds are processor time.
"""

import sys
import time
import warnings

import numpy as np
import pandas as pd

import trueup as tu

warnings.simplefilter("ignore")
rng = np.random.default_rng(1)
tables = []
for j in range(60):
    s = (rng.random(1000) < rng.beta(3, 12)).astype(int)
    q, p = rng.beta(1.5, 28.5), rng.beta(4.5, 25.5)
    s_hat = np.where(s == 1, rng.random(1000) > p, rng.random(1000) < q).astype(int)
    tables.append(pd.DataFrame({"stratum": j, "predicted": s_hat, "true": s}))
units = pd.concat(tables, ignore_index=True).assign(id=lambda x: np.arange(len(x)))
test = units.groupby("stratum").sample(25, random_state=1)
for by in (None, "stratum"):
    start = time.process_time()
    options = {"strata": "stratum", "id": "id", "draws": 500, "seed": 1, "design": sys.argv[1]}
    est = tu.correct(units.drop(columns="true"), test, by=by, **options)
    print(f"by={by}: {time.process_time() - start:.2f} s, {est.info['ess']:.0f} effective draws")
