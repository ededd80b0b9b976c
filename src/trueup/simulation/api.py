"""The classification error model, many replications at once: `simulate`.

A population has known true classes; each replication predicts a class for every unit with the
error rates P and audits a test set. Counts need no units at all: units of one class are alike, so a
replication is a few multinomial and hypergeometric draws, whatever N is. Totals depend on which
units were misclassified. Their places among all units of a class, replication after replication,
are a Bernoulli process, so the gaps between them are geometric: the cost grows with the number of
errors, not of units. Both ways are exact.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trueup.count.counts import Counts
from trueup.errors import DataError, OptionError
from trueup.numerics.arrays import Floats, Integers, fresh_seed
from trueup.simulation.draws import draw_counts, draw_totals
from trueup.simulation.population import (
    Design,
    Population,
    Values,
    make_design,
    make_population,
)

CELLS_AT_ONCE = 20_000_000
"""Predictions (replications × units) held in memory at a time."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Simulation(Counts):
    """R replications of both tables as one bag of counts: its arrays have replications first.

    So `n` is (R, K, K), `v_hat` (R, K), and so on; `t` and `t2` are None for a test set from
    elsewhere.
    """

    design: str  # how the test sets were drawn
    v: Integers  # (K,) the truth: units per true class
    u: Floats | None  # (K,) their total value; None when units are counted
    seed: int  # the same seed gives the same replications
    cells: dict[str, Any] | None = None  # the arrays by predicted class and band, (R, …, K·B)

    def __len__(self) -> int:
        return len(self.n)

    @property
    def N(self) -> int:
        """The number of units in the population."""
        return int(self.v.sum())

    @property
    def truth(self) -> Floats:
        """What every estimate should be: u, or v when units are counted."""
        return self.v.astype(float) if self.u is None else self.u

    def counts(self, r: int) -> Counts:
        """Return replication r as the bag of counts that every method takes."""
        bands = None
        if self.cells is not None:
            by_cell = {name: x[r] for name, x in self.cells.items()}
            bands = Counts(self.classes, signed=self.signed, **by_cell)
        return replace(self.part(r), bands=bands)


def simulate(
    P: ArrayLike,
    *,
    n: ArrayLike,
    N: ArrayLike | None = None,
    base_rates: ArrayLike | None = None,
    true: ArrayLike | None = None,
    values: ArrayLike | Values | None = None,
    design: str = "random",
    test_base_rates: ArrayLike | None = None,
    classes: Sequence[Hashable] | None = None,
    replications: int = 1000,
    seed: int | None = None,
) -> Simulation:
    """Draw predictions and test sets from the classification error model, for a known truth.

    Parameters
    ----------
    P : (K, K) array_like
        Error rates, rows true.
    n : int or (K,) array_like
        Test units in total; or per predicted class (``design="by_prediction"``) or true class
        (``"by_class"``). One number is divided in proportion to those classes: for
        ``"by_class"`` these are the fixed class counts of the paper's Table 1.
    N, base_rates : int and (K,) array_like
        A population by its size and the shares of its true classes.
    true : (N,) array_like of int
        Or the true class, 0 to K − 1, of each of its units; the population is the same in every
        replication.
    values : float, (N,) array_like or callable, optional
        The values to total. One number is the spread of a lognormal distribution with mean 1;
        a function gets the true classes of the units; see `lognormal`. Without it units are
        counted, at a cost that does not depend on N.
    design : {"random", "by_prediction", "by_class", "shifted"}
        How the test set is drawn. A "shifted" one is from elsewhere, with `test_base_rates`.
    test_base_rates : (K,) array_like, optional
        Shares of the true classes where a shifted test set comes from; equal shares by default.
    classes : sequence, optional
        Names of the classes.
    replications : int
        The number of replications.
    seed : int, optional
        The same seed gives the same replications.

    Examples
    --------
    A million units cost no more than a thousand:

    >>> study = simulate([[0.9, 0.1], [0.2, 0.8]], n=100, N=1_000_000, base_rates=[0.3, 0.7],
    ...                  replications=500, seed=1)
    >>> study.n.shape, study.v
    ((500, 2, 2), array([300000, 700000]))
    >>> (study.v_hat.mean(axis=0) / 1e6).round(2)  # Pᵀβ
    array([0.41, 0.59])
    """
    population = make_population(P, N, base_rates, true, values)
    labels = tuple(range(population.K)) if classes is None else tuple(classes)
    plan = make_design(design, n, test_base_rates, population)
    return replicate(population, plan, labels, replications, seed)


def replicate(
    population: Population,
    plan: Design,
    classes: tuple[Hashable, ...],
    replications: int,
    seed: int | None,
    band: Integers | None = None,
) -> Simulation:
    """Draw replications of a population; with the `band` of each unit's value, by cell too."""
    K = population.K
    if len(classes) != K:
        raise DataError(f"`classes` must name each of the {K} classes; got {len(classes)}.")
    if int(replications) != replications or replications < 1:
        raise OptionError(f"`replications` must be a whole number above 0; got {replications!r}.")
    if seed is None:
        seed = fresh_seed()
    rng = np.random.Generator(np.random.SFC64(seed))
    u = cells = None
    if population.y is None:
        figures = draw_counts(population, plan, int(replications), rng)
    else:
        step = max(1, CELLS_AT_ONCE // len(population.y))
        parts = [
            draw_totals(population, plan, min(step, int(replications) - start), rng, band)
            for start in range(0, int(replications), step)
        ]
        figures = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        assert population.s is not None
        u = np.asarray(np.bincount(population.s, population.y, K), float)
        if band is not None:
            cells = figures
            figures = {
                name: x.reshape(*x.shape[:-1], K, -1).sum(axis=-1) for name, x in cells.items()
            }
    return Simulation(
        classes=classes,
        design=plan.name,
        v=population.v,
        u=u,
        signed=population.y is not None and bool((population.y < 0).any()),
        seed=seed,
        cells=cells,
        **figures,
    )
