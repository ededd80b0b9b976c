"""Webshop turnover: the paper's question, on simulated companies.

The page docs/tutorials/webshops.md explains it; its code is this file, block by block.
"""

from pathlib import Path

import trueup as tu
from trueup.cli.demo import make_files

predictions, test_set, truth = make_files(Path("webshops"), seed=2019)
print(*predictions.read_text().splitlines()[:4], sep="\n")
print(*test_set.read_text().splitlines()[:4], sep="\n")

columns = {"predicted": "predicted", "true": "true", "value": "turnover", "id": "company"}
print(tu.check(predictions, test_set, **columns))

est = tu.correct(predictions, test_set, **columns, seed=1)
print(est.to_markdown())

webshop = {row["class"]: row for row in est.rows()}["webshop"]
print(f"naive      {webshop['naive'] / 1e6:4.0f} million")
print(f"corrected  {webshop['estimate'] / 1e6:4.0f} million")
print(f"truth      {truth / 1e6:4.0f} million")
assert webshop["lower"] < truth < webshop["upper"]

chances = {row["class"]: row["probability"] for row in est.probability(above=webshop["naive"])}
print(f"Pr(turnover above the naive figure) = {chances['webshop']:.2f}")
