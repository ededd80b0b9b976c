"""The user's own case as a truth to simulate: from assumptions, or from the tables they have."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trueup.aggregates import columns
from trueup.counts import Counts
from trueup.errors import ClassError, DataError, OptionError
from trueup.methods import estimate
from trueup.posterior import draw_dirichlet
from trueup.settings import DESIGNS, make_settings
from trueup.simulation import Simulation, lognormal, simulate

__all__ = ["Situation", "assume", "doubted", "make_situation", "pilot", "position"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

POSTERIOR = 2000
"""Draws of the pilot's posterior: enough for its mean and for a spread of possible truths."""


@dataclass(frozen=True, eq=False)
class Situation:
    """What is taken to be true, and how the test set is drawn.

    Attributes
    ----------
    classes : tuple
        The K class labels.
    P, beta : (K, K) and (K,) array
        Error rates and base rates: assumed, or the mean of the pilot's posterior.
    v_hat : (K,) int
        Units per predicted class: as they are, or to be expected.
    s_hat, y : (N,) array or None
        The units' own predicted class and value, from a table with values.
    s : (N,) array or None
        True classes of these units that the rates make likely, once `settled`.
    values : callable or None
        The distribution of the values of an assumed population.
    draws : tuple of (R, K, K) and (R, K) arrays, or None
        Error rates and base rates that the pilot leaves possible.
    counts : Counts or None
        The pilot in numbers.
    design : str
        How the test set is drawn.
    test_shares : (K,) array or None
        Base rates of a shifted test set.
    """

    classes: tuple[Hashable, ...]
    P: Floats
    beta: Floats
    v_hat: Integers
    design: str
    s_hat: Integers | None = None
    y: Floats | None = None
    s: Integers | None = None
    values: Any = None
    draws: tuple[Floats, Floats] | None = None
    counts: Counts | None = None
    test_shares: Floats | None = None

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

    @property
    def own_test_size(self) -> int | Integers:
        """The pilot's size as `simulate` takes it for this design."""
        assert self.counts is not None
        if self.design == "by_prediction":
            return np.asarray(self.counts.n.sum(axis=0))
        if self.design == "by_class":
            return np.asarray(self.counts.n.sum(axis=1))
        return self.audited

    def sums(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Σy and Σy² per predicted class; for an assumed population, of one replication."""
        if self.y is not None:
            assert self.s_hat is not None
            U, W = (np.bincount(self.s_hat, x, self.K) for x in (self.y, self.y**2))
            return np.asarray(U, float), np.asarray(W, float)
        study = self.simulate(0, 1, rng, "random")
        if study.u_hat is None or study.w_hat is None:
            return self.v_hat.astype(float), self.v_hat.astype(float)
        return study.u_hat[0], study.w_hat[0]

    @property
    def certain(self) -> bool:
        """Whether there is one truth only: assumed rates, and no units of unknown class."""
        return self.draws is None and (self.y is None or self.s is not None)

    def possible(self, rng: np.random.Generator) -> Situation:
        """Give a truth that the pilot leaves possible; without a pilot, the assumed one."""
        case = self
        if self.draws is not None:
            r = int(rng.integers(len(self.draws[0])))
            case = replace(self, P=self.draws[0][r], beta=self.draws[1][r], draws=None)
        return case.settled(rng)

    def settled(self, rng: np.random.Generator) -> Situation:
        """Give every unit a true class, at random by what its prediction makes likely."""
        if self.y is None or self.s is not None:
            return self
        assert self.s_hat is not None
        edges = np.cumsum(self.c, axis=0)[:-1].T
        s = (rng.random((len(self.s_hat), 1)) >= edges[self.s_hat]).sum(axis=1)
        return replace(self, s=s)

    def without_largest(self, count: int, rng: np.random.Generator) -> Situation:
        """The case without its `count` largest units: what is left beside a certainty stratum."""
        case = self
        if self.y is None:
            if self.values is None:
                raise OptionError(
                    "A certainty stratum of the largest units needs values to be large.",
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
            v_hat=np.bincount(s_hat, minlength=self.K),
        )

    @property
    def truth(self) -> Floats:
        """The counts or totals of the true classes, of a settled or assumed case."""
        if self.y is not None:
            assert self.s is not None
            return np.asarray(np.bincount(self.s, self.y, self.K), float)
        return self.simulate(0, 1, np.random.default_rng(0), "random").truth

    def simulate(
        self,
        n: ArrayLike,
        replications: int,
        rng: np.random.Generator,
        design: str | None = None,
    ) -> Simulation:
        """Draw replications of both tables, with test sets of size `n`."""
        options: dict[str, Any] = {
            "n": n,
            "design": design or self.design,
            "classes": self.classes,
            "replications": replications,
            "seed": int(rng.integers(2**63)),
        }
        if (design or self.design) == "shifted":
            options["test_base_rates"] = self.test_shares
        if self.y is None:
            return simulate(self.P, N=self.N, base_rates=self.beta, values=self.values, **options)
        case = self if self.s is not None else self.settled(rng)
        assert case.s is not None
        return simulate(self.P, true=case.s, values=self.y, **options)


def make_situation(
    predictions: Any = None,
    test_set: Any = None,
    *,
    predicted: str = "predicted",
    true: str = "true",
    value: str | None = None,
    id: str | None = None,
    overlap: bool | None = None,
    classes: Sequence[Hashable] | None = None,
    P: ArrayLike | None = None,
    base_rates: ArrayLike | None = None,
    N: int | None = None,
    values: Any = None,
    worth: float | None = None,
    test_base_rates: ArrayLike | None = None,
    design: str,
    prior: object,
    seed: int,
) -> Situation:
    """Take the case from both tables, from the predictions and assumed rates, or assumed whole."""
    if design not in DESIGNS:
        raise OptionError(f"`design` must be one of {list(DESIGNS)}; {design!r} came.")
    if predictions is None:
        if test_set is not None:
            raise DataError("A test set needs the predictions that it belongs to.")
        if P is None or base_rates is None or N is None:
            raise DataError(
                "Without tables, `P`, `base_rates` and `N` must say what to assume.",
                hint="give the error rates (rows true), the classes' shares and the units.",
            )
        found = assume(P, base_rates, N, values, classes, design, test_base_rates)
        return found if worth is None else doubted(found, worth, seed)
    from trueup.gather import gather
    from trueup.sources import open_table

    population = open_table(predictions, "predictions")
    if test_set is not None:
        counts = gather(
            population,
            open_table(test_set, "the test set"),
            predicted=predicted,
            true=true,
            value=value,
            id=id,
            overlap=design != "shifted" if overlap is None else overlap,
            classes=classes,
        )
        found = pilot(counts, design, prior, seed)
    else:
        if P is None or base_rates is None:
            raise DataError(
                "Without a test set, `P` and `base_rates` must say what to assume.",
                hint="give the error rates, rows true, and the classes' shares.",
            )
        tally = population.tally([predicted], None)
        seen = {key[0]: int(units) for key, units in zip(tally.keys, tally.units, strict=True)}
        labels = tuple(classes) if classes is not None else tuple(sorted(seen, key=str))
        unknown = sorted(set(seen) - set(labels), key=str)
        if unknown:
            raise ClassError(f"`classes` must list every predicted class; not listed: {unknown}.")
        found = assume(P, base_rates, int(tally.units.sum()), None, labels, design, test_base_rates)
        found = replace(found, v_hat=np.array([seen.get(label, 0) for label in labels]))
        found = found if worth is None else doubted(found, worth, seed)
    if value is not None:
        place = {label: h for h, label in enumerate(found.classes)}
        rows = population.rows([predicted], value=value)
        s_hat = np.array([place[row[0]] for row in rows])
        found = replace(found, s_hat=s_hat, y=np.array([row[1] for row in rows], float))
    return found


def assume(
    P: ArrayLike,
    base_rates: ArrayLike,
    N: int,
    values: Any = None,
    classes: Sequence[Hashable] | None = None,
    design: str = "random",
    test_base_rates: ArrayLike | None = None,
) -> Situation:
    """A population and error rates that nobody has seen yet."""
    rates, beta = np.asarray(P, float), np.asarray(base_rates, float)
    if rates.ndim != 2 or rates.shape != (len(beta), len(beta)):
        raise DataError(
            f"`P` must be square with one row for each of the {len(beta)} base rates; "
            f"shape {rates.shape} came."
        )
    if isinstance(values, int | float):
        values = lognormal(float(values))
    # what is wrong with the numbers, simulate says; expected predicted counts are one replication
    trial = simulate(rates, n=0, N=N, base_rates=beta, replications=1, seed=0, classes=classes)
    beta = trial.v / trial.v.sum()
    shares = None if test_base_rates is None else np.asarray(test_base_rates, float)
    v_hat = np.round(trial.v @ rates).astype(np.int64)
    v_hat[v_hat.argmax()] += N - v_hat.sum()
    return Situation(trial.classes, rates, beta, v_hat, design, values=values, test_shares=shares)


def doubted(case: Situation, worth: float, seed: int) -> Situation:
    """The same case, where the assumed rates are no surer than `worth` test units would make them.

    Rows of P ~ Dir(worth · β_g · p_g) and β ~ Dir(worth · β): a conjugate prior (Theorem 1) around
    what is assumed.
    """
    if not worth > 0:
        raise OptionError(f"`worth` must be a number of test units above 0; {worth!r} came.")
    rng = np.random.Generator(np.random.SFC64(seed))
    least = 1e-6  # an assumed 0 stays practically 0
    rows = draw_dirichlet(np.maximum(worth * case.beta[:, None] * case.P, least), POSTERIOR, rng)
    beta = draw_dirichlet(np.maximum(worth * case.beta, least), POSTERIOR, rng)
    return replace(case, draws=(rows, beta))


def pilot(counts: Counts, design: str, prior: object, seed: int) -> Situation:
    """Error rates and base rates as far as a test set tells them: its posterior."""
    settings = make_settings(
        counts.K, design=design, method="auto", prior=prior, noise=False, overlap=False,
        draws=POSTERIOR, interval=0.95, seed=seed,
    )  # fmt: skip
    units = Counts(counts.classes, counts.n, counts.v_hat)
    est = estimate(units, settings, lambda table: table)
    assert est.P is not None
    assert est.draws is not None
    beta = est.draws / est.draws.sum(axis=1, keepdims=True)
    audited = counts.n.sum(axis=1)
    return Situation(
        counts.classes,
        est.P.mean(axis=0),
        beta.mean(axis=0),
        counts.v_hat,
        design,
        draws=(est.P, beta),
        counts=counts,
        test_shares=audited / audited.sum() if audited.sum() else None,
    )


def position(classes: tuple[Hashable, ...], interest: Hashable | None, beta: Floats) -> int:
    """The place of the class of interest; by default the smallest true class."""
    if interest is None:
        return int(np.where(beta > 0, beta, np.inf).argmin())
    for g, label in enumerate(classes):
        if label == interest or str(label) == str(interest):
            return g
    raise ClassError(f"The class of interest must be one of {list(classes)}; {interest!r} came.")
