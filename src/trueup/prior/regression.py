"""Error rates that depend on a number: on the value itself, or on another column.

The paper: "it might be more reasonable to assume that p_ghi depends on i, but only through y_i and
possibly other features." Log odds of errors are linear in that number, a multinomial logistic
model; units are put into bins of it, within which rates are equal.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from trueup.errors import OptionError
from trueup.prior.belief import Belief, call, check_between
from trueup.prior.dirichlet import Concentrations
from trueup.prior.tilted import even_errors, size_of


@dataclass(frozen=True, eq=False, repr=False)
class Regression(Belief):
    """Log odds of each error: normal intercepts and slopes; see `regression`."""

    on: str
    log: bool
    bins: int
    error: float
    sd: float
    slope_sd: float
    name: str = "regression"
    word: str = ""
    centres: tuple[float, ...] = ()  # of the bins, standardised; known once tables are read

    def __repr__(self) -> str:
        options = {"log": self.log, "bins": self.bins, "error": self.error, "sd": self.sd}
        return f"trueup.prior.{call('regression', self.on, **options, slope_sd=self.slope_sd)}"

    @property
    def bin_name(self) -> str:
        """What messages call the column of bins."""
        return f"{self.on} (bin)"

    def for_classes(self, K: int, labels: Sequence[Hashable] | None = None) -> Concentrations:
        """Return Dirichlet rows close to what it believes of a unit in the middle."""
        size = size_of(self.error / (K - 1), 1 - self.error, self.sd**2)
        return Concentrations(even_errors(K, self.error) * size, np.ones(K), self.name)


def regression(
    on: str,
    *,
    log: bool = False,
    bins: int = 40,
    error: float = 0.1,
    sd: float = 1.5,
    slope_sd: float = 0.5,
) -> Regression:
    """Let the error rates depend on a column: log odds log(p_gh / p_gg) linear in it.

    Parameters
    ----------
    on : str
        The column, in the population and (or by `id`) the test set; it may be the value itself.
    log : bool
        Whether the log odds are linear in its logarithm: right for turnover or area.
    bins : int
        Units are put into at most this many bins of equal numbers of test units, with at least five
        each; rates are equal within a bin. With few bins, a bin of very different units, such as
        the largest ones, leaves a bias.
    error, sd : float
        The error rate in the middle of the belief, and the standard deviation of its log odds.
    slope_sd : float
        Standard deviation of the slopes, for one standard deviation of the column.

    Notes
    -----
    For a test set drawn from the population, the model is of the true class given the prediction:
    log(c_gh / c_hh) is linear in the column. Then nothing has to be assumed about how the classes
    themselves depend on it.
    """
    if not isinstance(on, str):
        raise OptionError(f"`on` must name a column; got {on!r}.")
    check_between("error", error, 0, 1)
    check_between("sd", sd, 0, 100)
    check_between("slope_sd", slope_sd, 0, 100)
    if not (isinstance(bins, int) and 2 <= bins <= 200):
        raise OptionError(f"`bins` must be a whole number from 2 to 200; got {bins!r}.")
    return Regression(on, bool(log), bins, float(error), float(sd), float(slope_sd))
