"""What happened in a cell of the grid or in a scenario: how often intervals held the truth."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.numerics.arrays import Floats


@dataclass(frozen=True, eq=False)
class Tally:
    """Per figure (a class; or all groups together): covered of answered, squared errors, warnings.

    `gain` is the mean over replications of the naive squared error less ours, summed over figures,
    with its Monte Carlo error: naive is better where it is below 0 by several errors.
    """

    cell: Any  # with `section`, `replications` and a name
    warned: int  # answers with a warning
    unproven: int  # answers that say that correcting may not pay
    refused: int  # replications without an answer
    inside: Floats  # (R, F) part of the figure's intervals that hold the truth, per answer
    mse: Floats  # (F,) mean squared error of the estimate, over the total squared
    naive_mse: Floats  # (F,) that of the uncorrected figure
    gain: float
    gain_error: float

    @property
    def answered(self) -> int:
        """Replications with an answer."""
        return len(self.inside)

    @property
    def covered(self) -> Floats:
        """(F,) answers whose intervals hold the truth."""
        return np.asarray(self.inside.sum(axis=0))

    @property
    def least(self) -> float:
        """The coverage of the figure that is covered least often."""
        return float(self.covered.min() / max(self.answered, 1))

    @property
    def mostly_warned(self) -> bool:
        """Whether more than half of the answers have a warning."""
        return 2 * self.warned > self.answered


def tally(
    cell: Any, refused: int, inside: Any, warned: Any, unproven: Any, error: Any, naive: Any
) -> Tally:
    """Sum up the answers: arrays (R, F), and `warned` and `unproven` (R,)."""
    gain = (naive**2).sum(axis=1) - (error**2).sum(axis=1)
    R, some = len(warned), max(len(warned), 1)
    return Tally(
        cell,
        int(warned.sum()),
        int(unproven.sum()),
        refused,
        np.asarray(inside, float),
        np.asarray((error**2).sum(axis=0) / some),
        np.asarray((naive**2).sum(axis=0) / some),
        float(gain.sum() / some),
        float(gain.std(ddof=1) / np.sqrt(R)) if R > 1 else 0.0,
    )
