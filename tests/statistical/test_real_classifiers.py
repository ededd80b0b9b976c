"""Totals with real classifiers, whose errors depend on the unit: the study's short form."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from tests.seeds import fresh, fresh_seed, more

STUDY = Path(__file__).parents[2] / "studies" / "real_classifiers.py"


@pytest.fixture(scope="module")
def study():
    pytest.importorskip("sklearn")
    spec = importlib.util.spec_from_file_location("real_classifiers", STUDY)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_totals_of_real_classifiers_are_covered(study):
    """The planted bug is one P for all and values that do not depend on the error.

    It covers 28% to 80% of the totals of `cancer`, with twice the error of the test set alone.
    One of two data sets in each run, with two classes or three.
    """
    name = fresh().choice(["cancer", "iris"])
    methods, replications = ("auto", "test_set"), more(10)
    seeds = np.random.SeedSequence(fresh_seed()).generate_state(replications)
    cases = [study.Case(name, 200, "random", methods, False, int(seed)) for seed in seeds]
    found = [study.replicate(case) for case in cases]
    # a replication is one observation: its classes share a test set
    covered = np.mean([x["auto"].covered.mean() for x in found])
    assert covered > 0.92 - 5 * np.sqrt(0.92 * 0.08 / replications)
    error = {m: np.mean([(x[m].error ** 2).mean() for x in found if m in x]) for m in methods}
    assert error["auto"] < error["test_set"]
