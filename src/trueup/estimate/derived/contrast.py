"""Differences and growth: between two groups, two classes or two estimates."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Hashable
from typing import Any

import numpy as np

from trueup.errors import OptionError, TrueupWarning
from trueup.estimate import derived
from trueup.estimate.derived.few_groups import warn_of_few
from trueup.estimate.result import Estimate
from trueup.numerics.arrays import Floats
from trueup.text import listed

SHARED = (
    "Both estimates use the same test set, so their errors go together; the contrast takes them as "
    "independent, and its interval is likely too wide. Put both tables into one and contrast "
    "groups (`by`)."
)


def contrast(est: Estimate, a: Any, b: Hashable, share: bool) -> list[dict[str, Any]]:
    """Return b − a and the growth (b − a)/a per class; see `Estimate.contrast`."""
    labels = () if est.groups is None else est.groups.labels
    if b is None and not (isinstance(a, Estimate) or (None,) in labels or None in est.classes):
        raise OptionError(
            f"A contrast compares two groups, two classes or two estimates; got {a!r} alone.",
            hint=f"name the other one too: est.contrast({a!r}, …).",
        )
    rows: list[dict[str, Any]] = [{"class": label} for label in est.classes]
    classes = False
    if isinstance(a, Estimate):
        one, other = _of_estimates(est, a)
    elif est.groups is None or ({a, b} <= {*est.classes} and not {(a,), (b,)} & {*labels}):
        classes, one, other = True, est._joint_draws(), est._joint_draws()
        rows = [row | {"class": b, "against": a} for row in est._derived_rows({})[:: len(rows)]]
    else:  # a label of both kinds is a group
        one, other = _of_group(est, a), _of_group(est, b)
        warn_of_few(est, stacklevel=4)
    if share:
        one, other = derived.shares(one), derived.shares(other)
    if classes:
        one, other = (x[..., _class(est, k)] for x, k in ((one, a), (other, b)))
        one, other = (x.reshape(len(x), -1) for x in (one, other))
    interval = est.info["interval"]
    difference = derived.summarise_draws(other - one, interval)
    growth = derived.summarise_draws(derived.divide(other - one, one), interval)
    return [
        row
        | derived.at(difference, g)
        | {f"growth_{name}": x for name, x in derived.at(growth, g).items()}
        for g, row in enumerate(rows)
    ]


def _of_estimates(one: Estimate, other: Estimate) -> tuple[Floats, Floats]:
    """Return draws of the whole of two estimates, paired at random; warn if they share a test set.

    The same seed must not make them go together.
    """
    both = (one, other)
    if {*one.classes} != {*other.classes} or one.totals != other.totals:
        kinds = ("totals" if x.totals else "counts" for x in both)
        got = map("{} of {}".format, kinds, (listed([*map(str, x.classes)]) for x in both))
        raise OptionError(
            "Two estimates must both be counts, or both totals, of the same classes to be "
            f"compared; got {' and '.join(got)}."
        )
    at = [other.classes.index(label) for label in one.classes]
    n = other.counts.n[at] if other.counts.columns else other.counts.n[np.ix_(at, at)]
    if np.array_equal(one.counts.n, n):
        warnings.warn(SHARED, TrueupWarning, stacklevel=4)
    a, b = one._whole_draws(), other._whole_draws()[:, at]
    size, rng = min(len(a), len(b)), np.random.default_rng(len(a) + len(b))
    return a[rng.permutation(len(a))[:size]], b[rng.permutation(len(b))[:size]]


def _class(est: Estimate, label: Hashable) -> int:
    if label not in est.classes:
        raise OptionError(
            "A contrast compares two classes, two groups (`by`) or two estimates; "
            f"{label!r} is not one of the classes {list(est.classes[:10])}."
        )
    return est.classes.index(label)


def _of_group(est: Estimate, label: Hashable) -> Floats:
    assert est.groups is not None
    wanted = label if isinstance(label, tuple) else (label,)
    if wanted not in est.groups.labels:  # dates may be named as the rows print them
        written = {tuple(map(_written, x)): x for x in est.groups.labels}
        wanted = written.get(wanted, wanted)
    if wanted not in est.groups.labels:
        known = [x[0] if len(x) == 1 else x for x in est.groups.labels[:10]]
        raise OptionError(f"There must be a group {label!r}; groups are {known} …")
    return est._joint_draws()[:, est.groups.labels.index(wanted)]


def _written(label: Hashable) -> Hashable:
    """A date as text, 2024-01-31; other labels as they are."""
    return str(label) if isinstance(label, datetime.date) else label
