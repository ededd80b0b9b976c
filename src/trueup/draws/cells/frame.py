"""What the log odds of a class in a cell may depend on: functions of the value and of the score."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trueup.draws.cells.implied import implied_kinds, implied_slopes
from trueup.numerics.arrays import Floats, Integers

__all__ = ["Frame", "frame"]

BEND = 2.5
"""Makes the bend of normal scores vary about as much as the scores: its deviation is about 1."""
TINY = 1e-300
AS_LARGE = 5
"""Audited units that must be as large as a unit, or larger, for its class not to be a guess."""


class Frame(NamedTuple):
    """What the log odds of a class in a cell may depend on, besides its predicted class.

    φ (R, H, B): functions of the cell, centred in each predicted class, each with coefficients of
    its own; `slopes`: those of the first Q that homogeneity implies, and their errors, both (K, Q);
    `shares` (K, J): the log base rates of audit strata that it implies, with J > 1. With a score of
    the classifier, the last function is that, and `right` (K, H) is 1 where h is class g. `over`
    (R, H, B) is how far the functions of the value lie above those of the largest audited units.
    `leans` (H/J, J) is the weight of an audited unit in each stratum (`strata.leaning`).
    """

    phi: Floats
    slopes: tuple[Floats, Floats]
    shares: Floats | None = None
    right: Floats | None = None
    over: Floats | None = None
    leans: Floats | None = None


def frame(
    n: Integers,
    v_hat: Integers,
    z: Floats,
    within_classes: bool = False,
    shares: Floats | None = None,
    confidence: tuple[Floats, Floats] | None = None,
    leans: Floats | None = None,
    sign: Integers | None = None,
) -> Frame:
    """Return the frame of cells with a score: φ_1 is the score, the last its bend BEND·√(1 + z²).

    The bend has its linear part taken out; far from the middle it rises as |z| does, so that the
    few largest units are not extrapolated by a square. Where values are of several kinds by their
    `sign` (zero, negative), the score is that within the kind, and each kind but the commonest has
    a function of its own, 1 there and 0 elsewhere: how often a class is zero says nothing of how
    large it is otherwise. Arguments are those of `implied_slopes`; `confidence` is the classifier's
    own score of each cell (H, B), and where it is right (K, H).
    """
    strata = 1 if shares is None else shares.shape[1]
    order = z = np.broadcast_to(z, v_hat.shape)
    p = v_hat / max(int(v_hat.sum()), 1)
    sign = np.ones(v_hat.shape, int) if sign is None else np.broadcast_to(sign, v_hat.shape)
    kinds, shares_of = _kinds(sign, p)
    some = sign != 0 if len(kinds) > 1 else np.ones(sign.shape, bool)
    z = _within_kinds(z, sign, p) if len(kinds) > 1 else z
    linear = z - (p * z).sum()
    spread = float((p * linear**2).sum())
    slope = implied_slopes(n * some, v_hat * some, z, within_classes, strata, sign)
    functions, slopes = [z], [slope]
    if len(kinds) > 1:
        design = within_classes, strata
        implied = implied_kinds(n, v_hat, (z, sign), (kinds, shares_of), slope[0], *design)
        more, slopes_of = zip(*implied, strict=True)
        first = 1 if spread > 0 else 0
        functions, slopes = [*functions[:first], *more], [*slopes[:first], *slopes_of]
    Q = len(functions)
    if spread > 0:
        bend = BEND * np.sqrt(1 + z**2)
        functions.append(bend - linear * ((p * linear * bend).sum() / spread))
    own = [] if confidence is None else [confidence[0]]
    phi = np.stack([*functions, *own])
    middle = (v_hat * phi).sum(axis=-1) / np.maximum(v_hat.sum(axis=-1), 1)
    right = None if confidence is None else confidence[1]
    over = _over(phi[: len(phi) - len(own)], n.sum(axis=0), order)
    if over is not None:
        over[int(spread > 0) : Q] = 0.0  # kinds have no size
    if over is not None and own:
        over = np.concatenate([over, np.zeros((1, *z.shape))])
    centre, error = (np.stack(x, axis=1) for x in zip(*slopes, strict=True))
    return Frame(phi - middle[..., None], (centre, error), shares, right, over, leans)


def _kinds(sign: Integers, p: Floats) -> tuple[list[int], list[float]]:
    """Return the signs of values that units have, the commonest last, and their shares."""
    found = [(float(p[sign == k].sum()), k) for k in (-1, 0, 1)]
    found = sorted(x for x in found if x[0] > 0)
    return [k for _, k in found], [share for share, _ in found]


def _within_kinds(z: Floats, sign: Integers, p: Floats) -> Floats:
    """Return the score within each kind of values, with mean 0, and 0 for values of zero.

    Its deviation over the units that are not zero is 1, unless they are all alike.
    """
    found = np.zeros(z.shape)
    for k in (-1, 1):
        mine = (sign == k) & (p > 0)
        if mine.any():
            found[mine] = z[mine] - (p[mine] * z[mine]).sum() / p[mine].sum()
    some = p[sign != 0].sum()
    sd = np.sqrt((p * found**2).sum() / max(float(some), TINY))
    return np.asarray(found / sd if sd > 1e-9 else 0.0 * found)


def _over(phi: Floats, n: Integers, z: Floats) -> Floats | None:
    """How far functions of the value (R, H, B) lie above those of the largest audited units.

    These are AS_LARGE units, or few more. 0 up to there, and None if no cell is larger.
    """
    order = np.argsort(-z, axis=None, kind="stable")
    enough = np.cumsum(n.ravel()[order]) >= AS_LARGE
    edge = order[int(enough.argmax())] if enough.any() else order[-1]
    past = z > z.ravel()[edge]
    if not past.any():
        return None
    return np.where(past, phi - phi.reshape(len(phi), -1)[:, edge, None, None], 0.0)
