"""Independent draws in blocks, side by side: a generator for each block, a thread for each core.

NumPy releases Python's lock while it draws and computes, so threads are enough. The blocks, and so
the draws, are the same on any number of cores.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

import numpy as np

Block = TypeVar("Block")

BLOCK = 250_000
"""Numbers in a block: with fewer a thread costs more than it gains, more fit no cache."""


def in_blocks(
    work: Callable[[slice, np.random.Generator], Block],
    size: int,
    each: int,
    rng: np.random.Generator,
    *,
    block: int | None = None,
) -> Iterator[Block]:
    """Yield ``work(part, generator)`` for consecutive parts of `size` draws, in order.

    A draw takes `each` numbers, and a part about `block` of them. One block is done here, with
    `rng` itself. Of many, one more than there are threads exists at a time, so that memory does
    not grow with their number.
    """
    width = max(1, (block or BLOCK) // each)
    if size <= width:
        yield work(slice(0, size), rng)
        return
    starts = range(0, size, width)
    jobs = zip(starts, rng.spawn(len(starts)), strict=True)
    threads = min(cores(), len(starts))
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[Block]] = deque()

        def send(many: int) -> None:
            for start, own in islice(jobs, many):
                part = slice(start, min(start + width, size))
                waiting.append(pool.submit(work, part, own))

        try:
            send(threads + 1)
            while waiting:
                done = waiting.popleft().result()
                send(1)
                yield done
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def cores() -> int:
    """How many processors this program may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
