"""A short run of the fuzzer; ``python -m tests.hostile.fuzz --cases 10000`` is the long one."""

import os

import pytest

from tests.hostile.fuzz import KINDS, bugs, fuzz
from tests.seeds import fresh_seed

CASES = int(os.environ.get("TRUEUP_FUZZ_CASES", "60"))


@pytest.mark.slow
@pytest.mark.search
def test_no_crash_no_hang_no_wrong_answer():
    seed = fresh_seed()
    found = fuzz(CASES, seed, workers=1)
    for kind in set(KINDS) - answered(found):  # 1 run of 250, of CSV files
        found += fuzz(CASES, seed + 1, workers=1, kinds=[kind])
    assert bugs(found) == [], f"seed {seed}"
    assert answered(found) == set(KINDS), "every case of a kind was refused"


def answered(found):
    return {kind for kind, _, outcome, _ in found if outcome == "answered"}
