"""Estimates from audited units one by one: with probabilities of their own, or in clusters."""

from dataclasses import replace

import numpy as np

from trueup.audit.clusters import DesignEffect, cluster_effects, design_effect, fewer
from trueup.audit.units import Units, apart, few_behind, freedom, weighted_difference
from trueup.count.counts import Counts, split
from trueup.draws.settings import POSTERIORS, Settings
from trueup.estimate.answer import Answer, normal
from trueup.estimate.cell_totals import in_cells
from trueup.estimate.methods import METHODS, estimate, finish
from trueup.estimate.result import Estimate

WEIGHTED = (
    "Units have probabilities of their own of being drawn, so each has the weight 1/probability "
    "(the weighted difference estimator). This method has no draws."
)


def estimate_units(counts: Counts, units: Units, settings: Settings) -> Estimate:
    """Estimate from units with unequal probabilities, or in clusters.

    In cells, the weighted difference estimator is a check.
    """
    if units.pi is not None and not in_cells(counts, settings):
        lam = float(settings.method != "test_set")
        told = [] if settings.asked in ("difference", "test_set") else [WEIGHTED]
        settings = replace(settings, method="difference" if lam else "test_set")
        figures, variance = weighted_difference(units, counts.naive, counts.N, lam)
        told += few_behind(units, counts.classes)
        own = freedom(units, counts.K, lam)
        sd = np.sqrt(variance)
        answer = normal(figures, sd, settings.interval, own, warnings=told)
        # such a test set need not look like the population, so that is not tested
        result = finish(answer, counts, replace(settings, design="by_prediction"))
        result.info["design"] = settings.design
        if units.cluster is not None:
            single = replace(units, cluster=None)
            alone = weighted_difference(single, counts.naive, counts.N, lam)[1].sum()
            result.info["design_effect"] = float(variance.sum() / alone) if alone > 0 else 1.0
        return result
    if units.pi is None:
        return _with_clusters(counts, units, settings)
    result = _with_clusters(counts, units, replace(settings, design="by_prediction"))
    figures, variance = weighted_difference(units, counts.naive, counts.N)
    found = result._figures["estimate"]
    assert found is not None
    sd = np.sqrt(variance)
    result.info["design"] = settings.design
    result.info["weighted_difference"] = {"estimate": figures.tolist(), "sd": sd.tolist()}
    result.info["warnings"] += apart(units, found, figures, variance, counts.classes)
    return result


def _with_clusters(counts: Counts, units: Units, settings: Settings) -> Estimate:
    """Run a method; with clusters, from fewer units."""
    if units.cluster is None:
        return estimate(counts, settings)
    every = counts.squared()  # as the units are numbered
    effect = design_effect(units, every.v_hat)
    columns = effect.columns[[every.classes.index(h) for h in counts.predicted]]
    answer = _clustered(counts, settings, effect._replace(columns=columns))
    alike = cluster_effects(units, every.v_hat)
    result = finish(answer, counts, settings, clusters=alike)
    result.info["design_effect"] = effect.whole
    return result


def _clustered(counts: Counts, settings: Settings, effect: DesignEffect) -> Answer:
    """Run a method with as many test units as the clusters are worth: n over the design effects.

    Audited units are known as ever; the others are learned from fewer of them. Methods without
    draws get wider intervals instead.
    """
    if settings.method not in POSTERIORS:
        answer = METHODS[settings.method](counts, settings)
        if answer.sd is None or answer.estimate is None:
            return answer
        sd = answer.sd * np.sqrt(effect.whole)
        return normal(answer.estimate, sd, settings.interval, **answer.info)
    rest, known = split(counts, settings.overlap)
    cells = None
    if counts.bands is not None:
        inside, _ = split(counts.bands, settings.overlap)
        n = counts.bands.n.reshape(counts.K, counts.v_hat.size, -1)
        less = fewer(n, effect.columns[:, None]).reshape(counts.bands.n.shape)
        cells = replace(inside, n=less, t=None, t2=None)
    fewer_units = replace(rest, n=fewer(counts.n, effect.columns), t=None, t2=None, bands=cells)
    answer = METHODS[settings.method](fewer_units, replace(settings, overlap=False))
    assert answer.draws is not None
    M = answer.M if answer.M is None or not settings.overlap else answer.M + counts.n
    return replace(answer, draws=answer.draws + known, M=M)
