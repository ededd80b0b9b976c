"""Bands of the value as strata of an audit: those that `correct` itself uses for totals."""

from typing import Any

import numpy as np

from trueup.audit.allocate import BAND
from trueup.count.bands import LEAST_BANDS, MOST_BANDS, MOST_CELLS, in_order, merge_bands
from trueup.count.names import Columns
from trueup.read.table import NEGATIVE, NO_BAND, ZERO, Table
from trueup.text import short


def band_names(population: Table, columns: Columns, K: int, phase: float) -> dict[Any, str]:
    """Return the name of the band that each fine band is in: those of `correct`, in order."""
    assert columns.value is not None
    table = population.banded(BAND, columns.value, phase)
    tally = table.tally([BAND], columns.value, missing="leave_out")
    fine = np.array([key[0] for key in tally.keys if key[0] != NO_BAND], np.int64)
    every = in_order(fine)
    order = [tally.keys.index((int(band),)) for band in every]
    most = int(np.clip(MOST_CELLS // K, LEAST_BANDS, MOST_BANDS))
    band_of = merge_bands(every, tally.units[order], tally.sums[order], most)
    names: dict[Any, str] = {}
    for b in range(int(band_of.max()) + 1):
        edges = [_edges(int(band), phase) for band in every[band_of == b]]
        low, high = min(x[0] for x in edges), max(x[1] for x in edges)
        text = f"{short(low)} to {short(high)}" if low < high else "0"
        names |= {int(band): f"{b + 1}: {text}" for band in every[band_of == b]}
    return names


def _edges(band: int, phase: float) -> tuple[float, float]:
    """Return the least and the largest value of a fine band."""
    if band == ZERO:
        return 0.0, 0.0
    size = band - NEGATIVE if band > NEGATIVE // 2 else band
    low, high = 2.0 ** ((size + phase - 0.5) / 4), 2.0 ** ((size + phase + 0.5) / 4)
    return (-high, -low) if band > NEGATIVE // 2 else (low, high)
