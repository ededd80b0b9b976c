"""The user's own case as a truth to simulate."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trueup.count.counts import Counts
from trueup.draws.base_rates import columns
from trueup.errors import ClassError, OptionError
from trueup.numerics.arrays import Floats, Integers, Rng
from trueup.simulation import Simulation, simulate
from trueup.simulation.api import replicate
from trueup.simulation.population import make_design, make_population
from trueup.simulation.resampled import composition, resample

TRUTHS = 20
"""Truths drawn from those that a pilot leaves possible."""
UNITS, FEWEST = 40_000_000, 20
"""Units, over all replications, that `resample` draws; and its replications at least."""


def place(classes: Sequence[Hashable], sizes: Floats, interest: Hashable | None) -> int:
    """Return the place of the class of interest; by default the smallest that there is."""
    if interest is None:
        return int(np.where(sizes > 0, sizes, np.inf).argmin())
    for g, label in enumerate(classes):
        if label == interest or str(label) == str(interest):
            return g
    raise ClassError(f"`interest` must be one of the classes {list(classes)}; got {interest!r}.")


@dataclass(frozen=True, eq=False)
class Case:
    """What is taken to be true, and how the test set is drawn."""

    classes: tuple[Hashable, ...]
    P: Floats  # (K, K) and (K,), assumed or the mean of the pilot's posterior
    beta: Floats
    v_hat: Integers  # (K,) units per predicted class: those in the table, or those to expect
    design: str
    s_hat: Integers | None = None  # (N,) the units' own predicted class and value, of a table
    y: Floats | None = None
    s: Integers | None = None  # (N,) their true classes, drawn by what is likely
    # Draws (D, K, K, B) of Pr(true g | predicted h, band of the value): where the pilot's values
    # tell, true classes are drawn with regard to them.
    cells: Floats | None = None
    band: Integers | None = None  # (N,) the band of each unit's value
    values: Any = None  # the distribution of the values of an assumed population
    draws: tuple[Floats, Floats] | None = None  # (R, K, K) and (R, K): what the pilot leaves open
    counts: Counts | None = None  # the pilot in numbers
    strata: tuple[str, ...] = ()  # columns within which units are drawn
    test_shares: Floats | None = None  # (K,) base rates of a shifted test set

    @property
    def K(self) -> int:
        """The number of classes."""
        return len(self.classes)

    @property
    def N(self) -> int:
        """The number of units in the population."""
        return int(self.v_hat.sum())

    @property
    def totals(self) -> bool:
        """Whether a value is totalled, rather than units counted."""
        return self.y is not None or self.values is not None

    @property
    def c(self) -> Floats:
        """Pr(true g | predicted h); columns sum to 1."""
        return np.asarray(columns(self.P[None], self.beta[None])[0])

    @property
    def audited(self) -> int:
        """How many units the pilot labelled."""
        return 0 if self.counts is None else int(self.counts.n.sum())

    def position(self, interest: Hashable | None) -> int:
        """Return the place of the class of interest; by default the smallest true class."""
        return place(self.classes, self.beta, interest)

    def sums(self, rng: Rng) -> tuple[Floats, Floats]:
        """Return Σy and Σy² per predicted class; for an assumed population, of one replication."""
        if self.y is not None:
            assert self.s_hat is not None
            U, W = (np.bincount(self.s_hat, x, self.K) for x in (self.y, self.y**2))
            return np.asarray(U, float), np.asarray(W, float)
        study = self.simulate(0, 1, rng, "random")
        if study.u_hat is None or study.w_hat is None:
            return self.v_hat.astype(float), self.v_hat.astype(float)
        return study.u_hat[0], study.w_hat[0]

    def truths(self, rng: Rng) -> list[Case]:
        """Draw truths that the pilot leaves possible; of an assumed case there is only one."""
        uncertain = self.draws is not None or (self.y is not None and self.s is None)
        found = []
        for _ in range(TRUTHS if uncertain else 1):
            case = self
            if self.draws is not None:
                r = int(rng.integers(len(self.draws[0])))
                case = replace(self, P=self.draws[0][r], beta=self.draws[1][r], draws=None)
            found.append(case._with_true_classes(rng))
        return found

    def _with_true_classes(self, rng: Rng) -> Case:
        """Draw a true class for every unit, by what its prediction makes likely."""
        if self.y is None or self.s is not None:
            return self
        assert self.s_hat is not None
        if self.cells is None:
            edges = np.cumsum(self.c, axis=0)[:-1].T[self.s_hat]
        else:
            c = self.cells[rng.integers(len(self.cells))]
            edges = np.cumsum(c, axis=0)[:-1, self.s_hat, self.band].T
        s = (rng.random((len(self.s_hat), 1)) >= edges).sum(axis=1)
        return replace(self, s=s)

    def without_largest(self, count: int, rng: Rng) -> Case:
        """Return the case without its `count` largest units, which are audited for certain."""
        case = self
        if self.y is None:
            if self.values is None:
                raise OptionError(
                    "Auditing the largest units for certain needs values to total; got none.",
                    hint="give `value` with a table, or `values`.",
                )
            s = np.repeat(np.arange(self.K), self.simulate(0, 1, rng, "random").v)
            s_hat = (rng.random((len(s), 1)) >= self.P.cumsum(axis=1)[:, :-1][s]).sum(axis=1)
            case = replace(self, s=s, s_hat=s_hat, y=np.asarray(self.values(s), float), values=None)
        assert case.y is not None
        assert case.s_hat is not None
        keep = np.sort(np.argsort(-np.abs(case.y), kind="stable")[count:])
        s_hat = case.s_hat[keep]
        return replace(
            case,
            s_hat=s_hat,
            y=case.y[keep],
            s=None if case.s is None else case.s[keep],
            band=None if case.band is None else case.band[keep],
            v_hat=np.bincount(s_hat, minlength=self.K),
        )

    @property
    def truth(self) -> Floats:
        """The counts or totals of the true classes, once these are known."""
        if self.y is not None:
            assert self.s is not None
            return np.asarray(np.bincount(self.s, self.y, self.K), float)
        return self.simulate(0, 1, np.random.default_rng(0), "random").truth

    def simulate(
        self,
        n: ArrayLike,
        replications: int,
        rng: Rng,
        design: str | None = None,
        by_band: bool = False,
    ) -> Simulation:
        """Draw replications of both tables, with test sets of size `n`; with values also by band.

        Predictions are drawn with one P for all units. `resample` does without that assumption.
        """
        design, seed = design or self.design, int(rng.integers(2**63))
        shares = self.test_shares if design == "shifted" else None
        if self.y is None:
            return simulate(
                self.P, N=self.N, base_rates=self.beta, values=self.values, n=n, design=design,
                test_base_rates=shares, classes=self.classes, replications=replications, seed=seed,
            )  # fmt: skip
        case = self._with_true_classes(rng)
        population = make_population(self.P, None, None, case.s, self.y)
        plan = make_design(design, n, shares, population)
        band = None if self.band is None or design == "shifted" or not by_band else self.band
        return replicate(population, plan, self.classes, replications, seed, band)

    def resample(
        self, n: ArrayLike, replications: int, rng: Rng
    ) -> tuple[Simulation, Floats] | None:
        """Draw test sets from a population as the audited units have it; None without bands.

        Returned with the truth of each replication. Units with a prediction and a band have true
        classes as the audited ones among them; those drawn within true classes, or elsewhere, count
        by how many of the population they stand for.
        """
        if self.band is None or self.counts is None or self.counts.bands is None:
            return None
        assert self.s_hat is not None
        assert self.y is not None
        cells = self.counts.bands.n.reshape(self.K, self.K, -1)
        weight = np.ones(self.K)
        if self.design in ("by_class", "shifted"):
            weight = self.beta / np.maximum(cells.sum(axis=(1, 2)), 1)
        c = composition(cells, weight, self.c)
        few = int(np.clip(UNITS // len(self.y), FEWEST, replications))
        return resample(
            c, self.s_hat, self.y, self.band, n=n, design=self.design, shares=self.test_shares,
            classes=self.classes, replications=few, seed=int(rng.integers(2**63)),
        )  # fmt: skip
