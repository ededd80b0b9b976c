"""A short run of the fuzzer; ``python -m tests.hostile.fuzz --cases 10000`` is the long one."""

import os

import pytest

from tests.hostile.fuzz import KINDS, bugs, fuzz
from tests.seeds import fresh

CASES = int(os.environ.get("TRUEUP_FUZZ_CASES", "60"))


@pytest.mark.slow
@pytest.mark.search
@pytest.mark.parametrize("kind", KINDS)
def test_no_crash_no_hang_no_wrong_answer(kind):
    seed = int(fresh(len(kind)).integers(2**32))
    found = fuzz(-(-CASES // len(KINDS)), seed, workers=1, kinds=[kind])
    if not any(outcome == "answered" for _, _, outcome, _ in found):  # 1 run of 250, of CSV files
        found = [*found, *fuzz(CASES, seed + 1, workers=1, kinds=[kind])]
    assert bugs(found) == [], f"seed {seed}"
    assert any(outcome == "answered" for _, _, outcome, _ in found), "every case was refused"
