"""Random numbers for tests: each test has its own seed, derived from the seed of the run.

`second_chance.py` starts a new `Source` for each run of a test. The environment variable
TRUEUP_SEED sets the seed of the run, so one test run alone with it repeats exactly.
"""

import hashlib
from dataclasses import dataclass

import numpy as np

MORE = 4
"""How many times the data a test takes when it runs for the second time."""


@dataclass
class Source:
    """Where a test, or a fixture that several tests share, gets its random numbers from."""

    seed: int
    effort: int = 1
    used: int = 0

    @classmethod
    def of(cls, run_seed: int, name: str, attempt: int = 1) -> "Source":
        """Return the source for a test or fixture of this name in its first or second run."""
        digest = hashlib.sha256(f"{run_seed} {name} {attempt}".encode()).digest()
        return cls(int.from_bytes(digest[:8]), MORE if attempt > 1 else 1)


_current: list[Source] = []
"""The source in use comes last; a fixture that several tests share has one of its own."""


def current() -> Source:
    """Return the source of the test that runs now, and note that it uses random numbers."""
    if not _current:
        raise RuntimeError("Random numbers are for tests: ask for them inside a test or a fixture.")
    _current[-1].used += 1
    return _current[-1]


def fresh(key: int = 0) -> np.random.Generator:
    """Return a generator for `key`. Tolerances are 5 errors, so no seed needs choosing."""
    return np.random.default_rng([current().seed, key])


def fresh_seed(key: int = 0) -> int:
    """Return a seed below 2³² for `key`."""
    return int(fresh(key).integers(2**32))


def more(count: int) -> int:
    """Return how many replications to take: `count`, and four times as many in a second run."""
    return count * (_current[-1].effort if _current else 1)
