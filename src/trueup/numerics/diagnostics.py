"""R-hat and effective sample size, rank-normalised (Vehtari et al., Bayesian Analysis 2021)."""

from functools import lru_cache
from statistics import NormalDist

import numpy as np

from trueup.numerics.arrays import Floats


def rhat(x: Floats) -> float:
    """R-hat of draws (chains, draws): the larger of the bulk's and the tails'.

    Examples
    --------
    >>> x = np.random.default_rng(1).normal(size=(4, 1000))
    >>> bool(rhat(x) < 1.01), bool(rhat(x + np.arange(4)[:, None]) > 1.5)
    (True, True)
    """
    halves = split(x)
    if halves.min() == halves.max():
        return 1.0
    return max(_rhat(normal_scores(y)) for y in (halves, np.abs(halves - np.median(halves))))


def ess(x: Floats) -> float:
    """Effective number of independent draws for the bulk of (chains, draws).

    Autocorrelations are measured against the variance of all chains together, so chains that have
    not met count as dependent draws, also when there are hundreds of short ones.

    Examples
    --------
    >>> x = np.random.default_rng(1).normal(size=(4, 1000))
    >>> 3500 < ess(x) < 4500, 3500 < ess(np.repeat(x, 10, axis=1)) < 4500
    (True, True)
    """
    halves = split(x)
    if halves.min() == halves.max():
        return float(halves.size)
    return _ess(normal_scores(halves))


def split(x: Floats) -> Floats:
    """Both halves of every chain as chains of their own, so that a drift shows as a difference."""
    half = x.shape[1] // 2
    return np.concatenate([x[:, :half], x[:, x.shape[1] - half :]])


def normal_scores(x: Floats) -> Floats:
    """Replace draws by the normal quantiles of their ranks; equal draws share their mean rank."""
    flat = x.ravel()
    order = flat.argsort()
    ordered = flat[order]
    ranks = np.arange(2, 2 * flat.size + 2, 2)  # twice the ranks: means are whole numbers, too
    first = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    if len(first) < flat.size:
        counts = np.diff(np.r_[first, flat.size])
        ranks = np.repeat(2 * first + counts + 1, counts)
    scores = np.empty(flat.size)
    scores[order] = _quantiles(flat.size)[ranks - 2]
    return scores.reshape(x.shape)


@lru_cache(maxsize=4)
def _quantiles(n: int) -> Floats:
    """Normal quantiles of the ranks 1, 1.5, 2, … n; loading SciPy for them would take 0.3 s."""
    lower = [*map(NormalDist().inv_cdf, ((i / 2 + 0.625) / (n + 0.25) for i in range(n - 1)))]
    return np.array([*lower, 0.0, *(-x for x in reversed(lower))])


def _rhat(x: Floats) -> float:
    n = x.shape[1]
    between = n * x.mean(axis=1).var(ddof=1)
    within = x.var(axis=1, ddof=1).mean()
    if within == 0.0:
        return np.inf
    return float(np.sqrt((between / within + n - 1.0) / n))


def _ess(x: Floats) -> float:
    n = x.shape[1]
    lags = autocovariance(x).mean(axis=0)
    within = lags[0] * n / (n - 1.0)
    total = lags[0] + x.mean(axis=1).var(ddof=1)
    rho = 1.0 - (within - lags) / total
    rho[0] = 1.0
    # Geyer: sums of neighbouring autocorrelations are positive and decreasing; stop where not,
    # and count half of the pair at which it stops.
    usable = 2 + 2 * max((n - 3) // 2, 0)
    pairs = rho[0:usable:2] + rho[1:usable:2]
    negative = np.flatnonzero(pairs < 0.0)
    stop = negative[0] if negative.size else len(pairs) - 1
    tau = -1.0 + 2.0 * np.minimum.accumulate(pairs[:stop]).sum() + max(rho[2 * stop], 0.0)
    return float(x.size / max(tau, 1.0 / np.log10(x.size)))


def autocovariance(x: Floats) -> Floats:
    """Autocovariances of every chain at all lags, by the FFT; divided by n, not n − lag."""
    n = x.shape[1]
    x = x - x.mean(axis=1, keepdims=True)
    f = np.fft.rfft(x, n=2 * n, axis=1)
    return np.asarray(np.fft.irfft(f.real**2 + f.imag**2, n=2 * n, axis=1)[:, :n] / n)
