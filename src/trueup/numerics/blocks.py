"""Independent draws in blocks, side by side: a generator for each block, a thread for each core.

NumPy releases Python's lock while it draws and computes, so threads are enough. The blocks, and so
the draws, are the same on any number of cores.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from itertools import islice
from typing import Any, TypeVar

from trueup.numerics.arrays import Rng

Block = TypeVar("Block")

BLOCK = 250_000
"""Numbers in a block: with fewer a thread costs more than it gains, more fit no cache."""
MOST_WAITING = 64
"""Jobs that an executor has at a time: enough for a cluster of some dozens of cores."""


def in_blocks(
    work: Callable[[slice, Rng], Block], size: int, each: int, rng: Rng, *, block: int | None = None
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
    parts = (slice(start, min(start + width, size)) for start in starts)
    with ThreadPoolExecutor(min(cores(), len(starts))) as pool:
        yield from in_order(work, zip(parts, rng.spawn(len(starts)), strict=True), pool)


def in_order(
    work: Callable[..., Block], jobs: Iterable[tuple[Any, ...]], executor: Executor
) -> Iterator[Block]:
    """Yield ``work(*job)`` for each job, in order; a few jobs are under way at a time."""
    jobs, waiting = iter(jobs), deque[Future[Block]]()

    def send(many: int) -> None:
        for job in islice(jobs, many):
            waiting.append(executor.submit(work, *job))

    try:
        send(cores() + 1 if isinstance(executor, ThreadPoolExecutor) else MOST_WAITING)
        while waiting:
            done = waiting.popleft().result()
            send(1)
            yield done
    finally:
        for job in waiting:
            job.cancel()


def cores() -> int:
    """How many processors this program may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
