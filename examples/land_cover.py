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

P = np.full((K, K), 0.008)  # a few mistakes anywhere ...
look_alike = """rainfed crops, pastures, 0.12; pastures, rainfed crops, 0.10;
pastures, shrubland, 0.08; irrigated crops, rainfed crops, 0.14; rice, wetland, 0.10;
vineyards, fruit trees, 0.13; fruit trees, olive groves, 0.15; olive groves, agroforestry, 0.12;
agroforestry, shrubland, 0.14; broadleaf forest, conifer forest, 0.08;
conifer forest, broadleaf forest, 0.07; shrubland, agroforestry, 0.06;
shrubland, broadleaf forest, 0.07; bare ground, artificial, 0.13;
bare ground, shrubland, 0.10; wetland, water, 0.10; artificial, bare ground, 0.06"""
for mistake in look_alike.replace("\n", " ").split("; "):
    g, h, rate = mistake.split(", ")
    P[names.index(g), names.index(h)] = rate  # ... and most between classes that look alike

np.fill_diagonal(P, 0.0)
np.fill_diagonal(P, 1 - P.sum(axis=1))

N = 200_000
true = rng.choice(K, N, p=list(shares.values()))
cumulative = P.cumsum(axis=1)[true]
mapped = (rng.random((N, 1)) > cumulative).sum(axis=1).clip(max=K - 1)
latitude = rng.uniform(37, 42, N)
hectares = 9.0 * np.cos(np.radians(latitude))  # a pixel covers less ground further north

per_class = 50
audited = np.concatenate(
    [rng.choice(np.flatnonzero(mapped == h), per_class, replace=False) for h in range(K)]
)
with open("map.csv", "w", newline="") as file:
    table = csv.writer(file)
    table.writerow(["pixel", "map_class", "hectares"])
    table.writerows(
        (i, names[h], f"{y:.4f}") for i, (h, y) in enumerate(zip(mapped, hectares, strict=True))
    )

with open("reference.csv", "w", newline="") as file:
    table = csv.writer(file)
    table.writerow(["pixel", "reference_class"])
    table.writerows((int(i), names[true[i]]) for i in audited)

columns = {"predicted": "map_class", "true": "reference_class", "value": "hectares"}
est = tu.correct(
    "map.csv", "reference.csv", **columns, id="pixel", classes=names, design="by_prediction", seed=1
)
print(est.to_markdown())

found = {(row["class"], row["measure"]): row for row in est.accuracy()}
for label in ("rice", "wetland", "water"):
    user, producer = found[label, "precision"], found[label, "recall"]
    print(f"{label:8} user's {user['mean']:.2f} ± {1.96 * user['sd']:.2f}", end="  ")
    print(f"producer's {producer['mean']:.2f} ± {1.96 * producer['sd']:.2f}")

overall = found[None, "accuracy"]
print(f"overall  {overall['mean']:.3f} ± {1.96 * overall['sd']:.3f}")
right = np.bincount(true, mapped == true, minlength=K)  # of each class, as only we know
for g in map(names.index, ("rice", "wetland", "water")):
    user, producer = right[g] / (mapped == g).sum(), right[g] / (true == g).sum()
    print(f"truth: {names[g]:8} user's {user:.2f}  producer's {producer:.2f}")

areas = np.bincount(true, hectares, minlength=K)
rows = est.rows()
naive_error = [abs(row["naive"] / u - 1) for row, u in zip(rows, areas, strict=True)]
error = [abs(row["estimate"] / u - 1) for row, u in zip(rows, areas, strict=True)]
inside = [row["lower"] < u < row["upper"] for row, u in zip(rows, areas, strict=True)]
print(f"mean error of an area: {np.mean(naive_error):.0%} naive, {np.mean(error):.0%} corrected")
print(f"{sum(inside)} of {K} intervals hold the truth")
assert sum(inside) >= 12
assert np.mean(error) < np.mean(naive_error)

columns |= {"id": "pixel", "classes": names, "design": "by_prediction"}
classical = tu.correct("map.csv", "reference.csv", **columns, method="calibrated")
for label in ("rice", "wetland"):
    g = names.index(label)
    ours, theirs = rows[g], classical.rows()[g]
    print(f"{label:8} joint      {ours['lower']:6,.0f} to {ours['upper']:6,.0f}")
    print(f"{'':8} calibrated {theirs['lower']:6,.0f} to {theirs['upper']:6,.0f}")
    print(f"{'':8} truth      {areas[g]:6,.0f}")
