"""Blocks of draws: in order, the same on any number of cores, few at a time."""

import threading

import numpy as np
import pytest

import trueup as tu
from trueup.numerics import blocks


def draw(part, rng):
    return rng.random(part.stop - part.start)


def test_parts_are_consecutive_and_cover_everything(rng):
    parts = list(blocks.in_blocks(lambda part, _: part, 23, 2, rng, block=10))
    assert np.concatenate([np.arange(23)[part] for part in parts]).tolist() == list(range(23))
    assert len(parts) == 5


def test_one_block_is_drawn_with_the_generator_itself():
    (one,) = blocks.in_blocks(draw, 100, 1, np.random.default_rng(1), block=100)
    assert np.array_equal(one, np.random.default_rng(1).random(100))


def test_draws_do_not_depend_on_the_number_of_cores(monkeypatch):
    found = []
    n, v_hat = np.full((8, 8), 3) + 20 * np.eye(8, dtype=int), np.arange(1, 9) * 1000
    for cores in (1, 3, 8):
        monkeypatch.setattr(blocks, "cores", lambda cores=cores: cores)
        monkeypatch.setattr(blocks, "BLOCK", 10_000)
        est = tu.correct_counts(
            n, v_hat, v_hat * 5.0, v_hat * 40.0, design="by_prediction", draws=900, seed=7
        )
        found.append(est.draws)
    assert len(np.unique(found[0][:, 0])) == 900  # no block repeats another
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


def test_few_blocks_exist_at_a_time(rng, monkeypatch):
    monkeypatch.setattr(blocks, "cores", lambda: 3)
    lock, alive, most = threading.Lock(), 0, 0

    def work(part, _):
        nonlocal alive, most
        with lock:
            alive += 1
            most = max(most, alive)
        return part

    for _ in blocks.in_blocks(work, 200, 1, rng, block=1):
        with lock:
            alive -= 1
    assert most <= 5  # three that run, one that waits, one that was just given


def test_an_error_in_a_block_is_the_callers(rng):
    def work(part, _):
        if part.start == 30:
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        list(blocks.in_blocks(work, 100, 1, rng, block=10))
