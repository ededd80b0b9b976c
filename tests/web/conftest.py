"""A page that runs, and two small files for it."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from tests.web.running import client_of
from trueup.web.server import make_app


@pytest.fixture(scope="session")
def client():
    with client_of(make_app(max_upload=200_000)) as client:
        yield client


@pytest.fixture
def tables(tmp_path):
    """Two files with 400 companies in two regions, 60 of them audited; labels as given."""

    def make(names=("webshop", "other"), folder=tmp_path):
        rng = np.random.default_rng(20190502)
        s, wrong = rng.random(400) < 0.3, rng.random(400) < 0.1
        y = np.round(rng.lognormal(3, 1, 400), 2)
        label = np.array(names)
        region = np.array(["north", "south"])[(rng.random(400) < 0.5).astype(int)]
        true, predicted = label[(~s).astype(int)], label[(~(s ^ wrong)).astype(int)]
        audited = rng.choice(400, 60, replace=False)
        with (folder / "companies.csv").open("w", newline="", encoding="utf-8") as file:
            out = csv.writer(file)
            out.writerow(["company", "region", "predicted", "turnover"])
            out.writerows(zip(range(400), region, predicted, y, strict=True))
        with (folder / "audit.csv").open("w", newline="", encoding="utf-8") as file:
            out = csv.writer(file)
            out.writerow(["company", "predicted", "true"])
            out.writerows([i, predicted[i], true[i]] for i in audited)
        return folder / "companies.csv", folder / "audit.csv"

    return make
