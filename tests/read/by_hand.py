"""Fine bands of values and scores in NumPy: what every engine must find."""

import numpy as np

from trueup.read.table import ABOVE, BELOW, LEAST_VALUE, NEGATIVE, NEGATIVE_SCORE, NO_BAND


def fine_bands(y):
    """Number the fine band of each value in NumPy; see `Table.banded`.

    Examples
    --------
    >>> fine_bands(np.array([1.0, 2.0, -2.0, 0.0, np.nan]))
    array([     0,      4,  16388,  -3986, -32768])
    """
    usable = np.isfinite(y)
    size = np.rint(4.0 * np.log2(np.abs(np.where(usable, y, 1.0)) + LEAST_VALUE))
    return np.where(usable, size + NEGATIVE * (y < 0), NO_BAND).astype(np.int64)


def fine_scores(x, fineness=8):
    """Number the fine band of each score in NumPy, NaN for unusable ones; see `Table.scored`.

    Examples
    --------
    >>> fine_scores(np.array([0.5, 0.9, 1.0, -0.01, -3.0, 3.0])).tolist()
    [0.0, 25.0, 7973.0, -29947.0, -60051.0, 30051.0]
    """
    usable = np.isfinite(x)
    x = np.where(usable, x, 0.5)
    inside = np.clip(x, 0.0, 1.0)
    logit = fineness * np.log2((inside + LEAST_VALUE) / (1.0 - inside + LEAST_VALUE))
    size = np.log2(np.abs(x) + LEAST_VALUE)
    band = np.select(
        [x <= -1, x < 0, x <= 1],
        [BELOW - 4 * fineness * size, NEGATIVE_SCORE - fineness * size, logit],
        ABOVE + 4 * fineness * size,
    )
    return np.where(usable, np.rint(band), np.nan)
