"""Land-cover areas: 15 classes, and a test set drawn within the classes of the map.

The page docs/tutorials/land-cover.md explains it; its code is this file, block by block.
"""

import csv

import numpy as np

import trueup as tu

rng = np.random.default_rng(15)
text = """artificial 5, rainfed crops 12, irrigated crops 4, rice 1, vineyards 3, fruit trees 2,
olive groves 5, pastures 9, agroforestry 8, broadleaf forest 14, conifer forest 12, shrubland 17,
bare ground 3, wetland 1.5, water 3.5"""
pairs = [part.strip().rpartition(" ") for part in text.split(",")]
shares = {name: float(percent) / 100 for name, _, percent in pairs}
names, K = list(shares), len(shares)
P = 0.8 * np.eye(K) + 0.2 * rng.dirichlet(np.full(K, 0.3), K)
N = 200_000
true = rng.choice(K, N, p=list(shares.values()))
mapped = (rng.random((N, 1)) > P.cumsum(axis=1)[true]).sum(axis=1).clip(max=K - 1)
hectares = 9.0 * np.cos(np.radians(rng.uniform(37, 42, N)))

each = [rng.choice(np.flatnonzero(mapped == h), 50, replace=False) for h in range(K)]
audited = np.concatenate(each)
labels = np.array(names)
pixels = zip(range(N), labels[mapped], hectares.round(4), strict=True)
looked_up = zip(audited, labels[true[audited]], strict=True)
with open("map.csv", "w", newline="") as file:
    csv.writer(file).writerows([["pixel", "map_class", "hectares"], *pixels])

with open("reference.csv", "w", newline="") as file:
    csv.writer(file).writerows([["pixel", "reference_class"], *looked_up])

columns = {"predicted": "map_class", "true": "reference_class", "value": "hectares", "id": "pixel"}
columns |= {"classes": names}
est = tu.correct("map.csv", "reference.csv", **columns, design="by_prediction", seed=1)
print(est.to_markdown())

areas = np.bincount(true, hectares, minlength=K)
naive, ours, lower, upper = (
    np.array([row[x] for row in est.rows()]) for x in ("naive", "estimate", "lower", "upper")
)
before, after = (f"{abs(x / areas - 1).mean():.0%}" for x in (naive, ours))
print(f"mean error of an area: {before} naive, {after} corrected")
print(f"{((lower < areas) & (areas < upper)).sum()} of {K} intervals hold the truth")
