"""A fresh generator for each use, from the seed of this run (TRUEUP_SEED repeats it)."""

import os

import numpy as np


def fresh(key: int = 0) -> np.random.Generator:
    """Give a generator of its own for `key`; tolerances are 5 errors, so no seed is chosen."""
    return np.random.default_rng([int(os.environ["TRUEUP_SEED"]), key])
