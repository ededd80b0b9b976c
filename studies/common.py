"""What the studies share: work on all cores, and figures with their Monte Carlo errors."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np


def spread(task: Callable[..., Any], *columns: Iterable[Any], workers: int | None = None) -> list:
    """Return what a task returns for each row of arguments, from a process on every core."""
    if workers == 1:
        return list(map(task, *columns))
    with ProcessPoolExecutor(workers, initializer=warnings.simplefilter, initargs=("ignore",)) as p:
        return list(p.map(task, *columns))


def with_error(each: Any) -> str:
    """Return the mean of replications and its standard error, as `0.95±.01`."""
    x = np.asarray(each, float)
    error = x.std(ddof=1) / np.sqrt(len(x)) if len(x) > 1 else np.nan
    return f"{x.mean():.2f}±{f'{error:.2f}'.removeprefix('0')} "


def ratio(ours: Any, others: Any) -> str:
    """Return the ratio of two means over the same replications, and its standard error."""
    x, y = np.asarray(ours, float), np.asarray(others, float)
    value = x.mean() / y.mean()
    error = (x - value * y).std() / np.sqrt(len(x)) / y.mean()
    return f"{value:.2f}±{f'{error:.2f}'.removeprefix('0')} "
