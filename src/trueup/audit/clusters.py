"""What clusters do to the variance: audited units that were drawn together resemble each other."""

from typing import NamedTuple

import numpy as np

from trueup.audit.units import Units, satterthwaite, summed
from trueup.numerics import special
from trueup.numerics.arrays import Floats, Integers


class Clusters(NamedTuple):
    """Design effects of the test set's predicted classes and values, and degrees of freedom."""

    predictions: float
    values: float
    freedom: int


def cluster_effects(units: Units, v_hat: Integers) -> Clusters:
    """How many times clusters make the variance that of independent units, at least 1.

    Of predictions: what Pearson's chi-square against v̂/N is on average, over its degrees of freedom
    (Rao and Scott 1981). Of values: the variance of the mean rank.
    """
    assert units.cluster is not None
    n, occurs = len(units.h), np.flatnonzero(v_hat > 0)
    share = v_hat[occurs] / v_hat.sum()
    f = (units.h == occurs[:, None]).astype(float)
    z = f - f.mean(axis=1, keepdims=True)
    chi2 = (_of_clusters(z, units.cluster) / share).sum() / n
    rank = np.unique(units.y, return_inverse=True)[1].astype(float)
    r = (rank - rank.mean())[None]
    alone, together = float(_of_clusters(r, None)[0]), float(_of_clusters(r, units.cluster)[0])
    return Clusters(
        max(float(chi2) / max(len(occurs) - 1, 1), 1.0),
        max(together / alone, 1.0) if alone > 0 else 1.0,
        int(units.cluster.max()),
    )


class DesignEffect(NamedTuple):
    """How many times the variance is that of independent units: of all, and by prediction (L,)."""

    whole: float
    columns: Floats


def design_effect(units: Units, v_hat: Integers) -> DesignEffect:
    """What clusters do to the variance of the calibrated estimator, at least 1.

    Linearised: z = (v̂_h/n_h)·y·(1[s=g] − ĉ_gh), over all classes. Units of each prediction have an
    effect of their own, and what clusters add that err alike in several predictions; those without
    an error that of the whole. As it is estimated from few clusters, it grows by (t/z)², the
    quantiles of Student's t and of the normal distribution. Where a few clusters have most of the
    errors, t has fewer degrees of freedom than C − 1 (`freedom`): those of counts, as unequal
    values are no matter of clusters.
    """
    assert units.cluster is not None
    z, counted = (_residuals(units, y, v_hat) for y in (units.y, np.ones(len(units.y))))
    apart = [z * (units.h == h) for h in range(len(v_hat))]
    alone, own = (
        np.array([_of_clusters(x, cluster).sum() for x in apart])
        for cluster in (None, units.cluster)
    )
    together = _of_clusters(z, units.cluster).sum()
    z2 = (summed(counted, units.cluster) ** 2).sum(axis=0, keepdims=True)
    nu = float(satterthwaite(z2, int(units.cluster.max()))[0])
    wider = (special.stdtrit(nu, 0.975) / special.ndtri(0.975)) ** 2
    whole = max(together / max(alone.sum(), 1e-300), 1.0)
    shared = max(together / max(own.sum(), 1e-300), 1.0)
    columns = np.maximum(own / np.maximum(alone, 1e-300), 1.0) * shared
    return DesignEffect(float(whole * wider), wider * np.where(alone > 0, columns, whole))


def _residuals(units: Units, y: Floats, v_hat: Integers) -> Floats:
    """(v̂_h/n_h)·y·(1[s=g] − ĉ_gh) of every unit: (K, n)."""
    a = (units.g == np.arange(len(v_hat))[:, None]).astype(float)
    weight, c = np.zeros(len(y)), np.zeros_like(a)
    for h in range(len(v_hat)):
        mine = units.h == h
        if mine.any():
            weight[mine] = v_hat[h] / mine.sum()
            share = (y[mine] * a[:, mine]).sum(axis=1) / max(y[mine].sum(), 1e-300)
            c[:, mine] = share[:, None]
    return np.asarray(weight * y * (a - c))


def fewer(n: Integers, effect: Floats) -> Integers:
    """Return test counts (…, L) divided by design effects, rounded so that rows keep their sums.

    Sums along each row are rounded, not the cells, so that no row loses what its cells would.
    """
    total = np.rint(np.cumsum(n / effect, axis=-1)).astype(np.int64)
    return np.diff(total, axis=-1, prepend=0)


def _of_clusters(z: Floats, cluster: Integers | None) -> Floats:
    """m/(m − 1) Σ z² over units, or over the sums of clusters."""
    z = summed(z, cluster)
    m = z.shape[1]
    return np.asarray(m / max(m - 1, 1) * (z**2).sum(axis=1))
