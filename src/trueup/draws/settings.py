"""How an estimate is to be made: the options, checked once."""

from collections.abc import Hashable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trueup.count.names import FROM_POPULATION as FROM_POPULATION
from trueup.count.parts import GroupBands
from trueup.errors import OptionError
from trueup.numerics.arrays import Floats, Progress, Rng, as_floats, fresh_seed
from trueup.prior import Concentrations, Regression, resolve_prior

DESIGNS = (*FROM_POPULATION, "by_class", "shifted")
METHODS = (
    "auto",
    "naive",
    "inverse",
    "bayes",
    "constrained",
    "joint",
    "full",
    "calibrated",
    "difference",
    "test_set",
)
POSTERIORS = ("bayes", "constrained", "joint", "full")  # those with a prior
POOLINGS = ("partial", "none", "complete")
MOST_DRAWS = 100_000_000
SECONDS = 20.0
DRAWS = 4000
"""Unless a number is given: at least so many, see `trueup.api`."""
# Room for R draws of P, a few arrays of that size, on an ordinary machine.
MOST_CELLS = 400_000_000


@dataclass(frozen=True, eq=False)
class Settings:
    """The options of `correct` and `correct_counts`, resolved."""

    design: str
    asked: str  # the method as the user gave it; `method` is what it means
    method: str
    prior: Concentrations
    noise: bool
    overlap: bool
    draws: int
    interval: float
    seed: int
    rng: Rng
    progress: Progress | None = None
    P: Floats | None = None  # draws of P from elsewhere, (R, K, K)
    regression: Regression | None = None
    executor: Executor | None = None
    seconds: float = SECONDS  # for chains; what does not need them takes less
    banded: GroupBands | None = None  # how the whole's cells make up those of groups
    call: Mapping[str, Any] = field(default_factory=dict)  # all that was asked, for advice

    @property
    def from_population(self) -> bool:
        """Whether the test set was drawn from the population, so that it shows the base rates."""
        return self.design in FROM_POPULATION

    @property
    def strata_alone(self) -> bool:
        """Whether strata cannot be pooled, with the method or prior that was asked for."""
        named = self.asked in ("bayes", "constrained")
        return named or (self.prior.tilt is not None and self.regression is None)

    @property
    def values_carry(self) -> bool:
        """Whether audited values hold for the population: those of another period need not."""
        return self.design != "shifted"


def make_settings(
    K: int,
    *,
    L: int | None = None,
    classes: Sequence[Hashable] | None = None,
    P: ArrayLike | None = None,
    design: str = "random",
    method: str = "auto",
    prior: object = "perks",
    noise: bool = True,
    overlap: bool | None = None,
    draws: int | None = DRAWS,
    interval: float = 0.95,
    seed: int | None = None,
    seconds: float = SECONDS,
    progress: Progress | None = None,
    executor: Executor | None = None,
    call: Mapping[str, Any] | None = None,
) -> Settings:
    """Check every option and resolve ``auto`` and ``None``.

    `classes` are the labels, for priors that name one; L ≠ K is the number of predicted labels.
    """
    check_options(
        design=design, method=method, draws=draws, interval=interval, seed=seed, seconds=seconds
    )
    draws = DRAWS if draws is None else int(draws)
    asked = method
    if method == "auto" and P is not None:
        method = "constrained"
    elif method == "auto":
        by_rows = "constrained" if L in (None, K) else "full"
        method = "joint" if design in FROM_POPULATION else by_rows
    if L not in (None, K):
        _rectangular(K, L, method, P)
    if overlap is None:
        overlap = design != "shifted"
    cells = K * (L or K)
    if draws * cells > MOST_CELLS:
        raise OptionError(
            f"`draws` times the number of true classes times that of predicted ones may be at most "
            f"{MOST_CELLS:,}; got {draws:,} draws of {K} × {L or K}.",
            hint=f"ask for {MOST_CELLS // cells:,} draws or fewer.",
        )
    if seed is None:
        seed = fresh_seed()
    return Settings(
        design=design,
        asked=asked,
        method=method,
        prior=resolve_prior(prior, K, classes, L, method == "joint"),
        noise=bool(noise),
        overlap=bool(overlap),
        draws=draws,
        interval=float(interval),
        seed=int(seed),
        rng=np.random.Generator(np.random.SFC64(seed)),
        progress=progress,
        executor=executor,
        P=None if P is None else _known_rates(P, K, method),
        regression=prior if isinstance(prior, Regression) else None,
        seconds=float(seconds),
        call=call or {},
    )


def _rectangular(K: int, L: int | None, method: str, P: ArrayLike | None) -> None:
    """Refuse what needs as many predicted labels as classes: an inverse, or rates given as P."""
    if P is not None or method in ("constrained", "bayes", "inverse"):
        what = "`P`" if P is not None else f"Method {method!r}"
        raise OptionError(
            f"{what} needs as many predicted labels as classes, to be inverted; got {K} classes "
            f"and {L} predicted labels.",
            hint='use method="auto" ("full" for by_class and shifted), or merge labels.',
        )


def _known_rates(given: ArrayLike, K: int, method: str) -> Floats:
    """Check contingency matrices from elsewhere: one, or draws of it."""
    one_of("method", method, ("constrained", "bayes", "full"))
    P = as_floats(given)
    if P.ndim == 2:
        P = P[None]
    if P.shape[1:] != (K, K) or not len(P):
        raise OptionError(
            f"`P` must be a matrix of shape {(K, K)} or draws of it, {('R', K, K)}; got "
            f"shape {np.shape(given)}.".replace("'", ""),
            hint="rows are true classes, columns predicted ones, in the order of `classes`.",
        )
    sums = P.sum(axis=-1)
    if not (np.isfinite(P).all() and (P >= 0).all() and (np.abs(sums - 1) < 1e-6).all()):
        raise OptionError(
            "Every row of `P` must hold rates of at least 0 that sum to 1; got a row with "
            f"sum {float(sums.flat[np.abs(sums - 1).argmax()]):g}.",
            hint="rows are true classes: divide each by its sum. Is the matrix transposed?",
        )
    return np.asarray(P / sums[..., None])


def check_options(
    *,
    design: str = "random",
    method: str = "auto",
    draws: int | None = DRAWS,
    interval: float = 0.95,
    seed: int | None = None,
    seconds: float = SECONDS,
) -> None:
    """Check what can be checked before any table is read."""
    one_of("design", design, DESIGNS)
    one_of("method", method, METHODS)
    if draws is not None:
        _whole("draws", draws, least=100, most=MOST_DRAWS)
    if seed is not None:
        _whole("seed", seed, least=0, most=2**128)
    if not (isinstance(interval, int | float) and 0 < interval < 1):
        raise OptionError(
            f"`interval` must be a probability between 0 and 1; got {interval!r}.",
            hint="write 0.95 for a 95% interval.",
        )
    if isinstance(seconds, bool) or not (isinstance(seconds, int | float) and seconds > 0):
        raise OptionError(f"`seconds` must be a number above 0; got {seconds!r}.")


def one_of(name: str, given: Any, known: tuple[str, ...]) -> None:
    """Refuse a word that is not in the list."""
    if given not in known:
        raise OptionError(f"`{name}` must be one of {list(known)}; got {given!r}.")


def _whole(name: str, given: Any, *, least: int, most: int) -> None:
    try:
        whole = int(given)
    except (TypeError, ValueError, OverflowError):
        whole = least - 1
    if whole != given or isinstance(given, bool) or not least <= whole <= most:
        span = f"from {least:,} to {most:,}" if most < 2**64 else f"of at least {least:,}"
        raise OptionError(f"`{name}` must be a whole number {span}; got {given!r}.")
