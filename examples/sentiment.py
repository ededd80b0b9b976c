"""Sentiment by month: labels of a language model, and how sure a trend is.

The page docs/tutorials/sentiment.md explains it; its code is this file, block by block.
"""

import csv

import numpy as np

import trueup as tu

rng = np.random.default_rng(7)
names = np.array(["negative", "neutral", "positive"])
months = [f"2025-{month:02}" for month in range(1, 13)]
P = np.array([[0.80, 0.15, 0.05], [0.10, 0.80, 0.10], [0.03, 0.17, 0.80]])
volumes = np.linspace(2_000, 6_000, 12).astype(int)
negative = np.linspace(0.10, 0.16, 12)  # slowly getting worse
truth = np.empty((12, 3), dtype=int)
messages = []
for m, month in enumerate(months):
    rates = [negative[m], 0.65 - negative[m] / 2, 0.35 - negative[m] / 2]
    true = rng.choice(3, volumes[m], p=rates)
    label = (rng.random((volumes[m], 1)) > P.cumsum(axis=1)[true]).sum(axis=1).clip(max=2)
    truth[m] = np.bincount(true, minlength=3)
    messages += [(month, names[h], names[g]) for g, h in zip(true, label, strict=True)]

read_by_people = rng.choice(len(messages), 400, replace=False)
with open("messages.csv", "w", newline="") as file:
    table = csv.writer(file)
    table.writerow(["message", "month", "label"])
    table.writerows((i, month, label) for i, (month, label, _) in enumerate(messages))

with open("read_by_people.csv", "w", newline="") as file:
    table = csv.writer(file)
    table.writerow(["message", "sentiment"])
    table.writerows((int(i), messages[i][2]) for i in read_by_people)

columns = {"predicted": "label", "true": "sentiment", "id": "message", "by": "month"}
est = tu.correct("messages.csv", "read_by_people.csv", **columns, pooling="complete", seed=1)
print(est.to_markdown())

growth = est.contrast("2025-01", "2025-12")[0]
print(f"negative messages, January to December: {growth['estimate']:+,.0f}")
print(f"  95% interval {growth['lower']:+,.0f} to {growth['upper']:+,.0f}")
print(f"  truth {truth[11, 0] - truth[0, 0]:+,}")
assert growth["lower"] < truth[11, 0] - truth[0, 0] < growth["upper"]
