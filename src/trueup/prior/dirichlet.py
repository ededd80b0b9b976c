"""Conjugate priors: K Dirichlets for the rows of P and one for the base rates β (Theorem 1)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trueup.errors import OptionError
from trueup.numerics.arrays import Floats
from trueup.prior.belief import Belief, call


@dataclass(frozen=True, eq=False, repr=False)
class Dirichlet(Belief):
    """A prior p_g ~ Dir(alpha_g) for each row of P and β ~ Dir(gamma), all independent.

    Parameters
    ----------
    alpha : array_like
        A number, or a (K, K) array: rows true, columns predicted.
    gamma : array_like, optional
        A number, or a (K,) array. By default the row sums of `alpha`: all cells of the
        test set then have one Dirichlet prior together, and the method `joint` is exact.
    name : str, optional
        What the result calls this prior.

    Examples
    --------
    >>> Dirichlet(0.5).for_classes(2).gamma
    array([1., 1.])
    """

    alpha: ArrayLike
    gamma: ArrayLike | None = None
    name: str = "dirichlet"
    word: str = ""

    @property
    def labels(self) -> tuple[Hashable, ...]:  # type: ignore[override]
        """Numbers of the classes, where alpha says how many there are."""
        return tuple(range(len(np.atleast_1d(self.alpha)))) if np.ndim(self.alpha) == 2 else ()

    def __repr__(self) -> str:
        return f"trueup.{call('Dirichlet', np.asarray(self.alpha), np.asarray(self.gamma))}"

    def for_classes(
        self, K: int, labels: Sequence[Hashable] | None = None, L: int | None = None
    ) -> Concentrations:
        """Return the concentrations for K classes and L predicted labels, checked."""
        alpha = _positive("alpha", self.alpha, (K, L or K))
        gamma = alpha.sum(axis=1) if self.gamma is None else _positive("gamma", self.gamma, (K,))
        return Concentrations(alpha, gamma, self.name)


@dataclass(frozen=True, eq=False)
class Concentrations:
    """A prior written out for K classes: ``alpha`` (K, L), ``gamma`` (K,) and its name.

    L is the number of predicted labels, which is K unless some are no class or are missing.

    A prior that is not conjugate has a `tilt` too: its log density over that of the Dirichlets,
    ``tilt(P, numpy)`` for P (…, K, K), up to a constant. It is written for any array module with
    NumPy's functions, so that JAX can differentiate it; unless it has walls and is not `smooth`.
    """

    alpha: Floats
    gamma: Floats
    name: str
    tilt: Callable[[Any, Any], Any] | None = None
    smooth: bool = True


def uniform(K: int, L: int | None = None, joint: bool = False) -> Concentrations:
    """Flat on every row of P and on β: all concentrations are 1."""
    return Dirichlet(1.0, 1.0, "uniform").for_classes(K, L=L)


def jeffreys(K: int, L: int | None = None, joint: bool = False) -> Concentrations:
    """Jeffreys' prior for the likelihood of Theorem 1 (Proposition 1).

    alpha = 1/2 but gamma = K/2: each β_g occurs in the likelihood of a whole row. With L predicted
    labels a row has L cells, and gamma is L/2.
    """
    return Dirichlet(1 / 2, (L or K) / 2, "jeffreys").for_classes(K, L=L)


def perks(K: int, L: int | None = None, joint: bool = False) -> Concentrations:
    """Perks' prior, the default: alpha = 1/K, worth one test unit per row; Jeffreys at K = 2.

    Jeffreys' 1/2 in each of the K² cells is worth K²/2 test units: 112 at K = 15. With L ≠ K
    predicted labels it is one unit per row, alpha = 1/L; under `joint`, which draws
    columns, one per column: alpha = 1/K and gamma = L/K.
    """
    if joint:
        return Dirichlet(1 / K, (L or K) / K, "perks").for_classes(K, L=L)
    return Dirichlet(1 / (L or K), 1.0, "perks").for_classes(K, L=L)


NAMED_PRIORS = {"perks": perks, "jeffreys": jeffreys, "uniform": uniform}


def _positive(name: str, given: ArrayLike, shape: tuple[int, ...]) -> Floats:
    try:
        values = np.broadcast_to(np.asarray(given, dtype=float), shape).copy()
    except (TypeError, ValueError):
        raise OptionError(
            f"The prior's `{name}` must be a number or an array of shape {shape}; "
            f"got shape {np.shape(given)}.",
            hint=f"there are {shape[0]} classes: give one value for all, or one for each.",
        ) from None
    if not (np.isfinite(values).all() and (values > 0).all()):
        raise OptionError(
            f"Every component of the prior's `{name}` must be positive and finite; "
            f"got {float(values[~(np.isfinite(values) & (values > 0))].flat[0])}.",
            hint="for a cell that you think nearly impossible write a small number such as 0.01.",
        )
    return values
