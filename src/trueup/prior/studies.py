"""Error rates from published studies: partially pooled, and drawn for a population of one's own.

The share of right predictions differs between studies: logit p_j ~ N(μ, σ²) for study j of a class,
with y_j right of n_j. The rate where it is wanted now is one more of these (the second model of
Gelman and Carpenter, JRSS C 2020). e^μ/(1 + e^μ) is uniform and σ half-normal with scale `between`
before any study is seen. μ and σ are on a grid; each study's integral over its own rate is by
Gauss–Hermite quadrature around the mode of its integrand, which is log-concave.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from trueup.errors import ClassError, DataError, OptionError
from trueup.numerics.arrays import Floats, Rng, as_floats
from trueup.text import quoted

BETWEEN = 0.5
NODES = 31
GRID = (60, 40)
ROUNDS = 4
WIDEST = 12.0
"""Beyond this, on the scale of logits, rates are 0 or 1 to six digits."""
NEWTON = 60
SMALL = 1e-7
"""Cells of the grid with a smaller share of the largest weight are left out in the next round."""


def draw_from_studies(
    studies: Any, classes: Sequence[Hashable] | None, between: float, size: int, rng: Rng
) -> tuple[Floats, list[Hashable], list[dict[str, Any]]]:
    """Return draws of P (size, 2, 2), the two classes, and what was found of each of them."""
    if isinstance(between, bool) or not (
        isinstance(between, int | float) and 0 <= between <= WIDEST
    ):
        raise OptionError(
            f"`between` must be a number from 0 to {WIDEST:g}: how far studies differ, on the "
            f"logit scale; got {between!r}.",
            hint="0.5 lets a rate of 0.8 be between 0.6 and 0.9 elsewhere; 0 takes all as one.",
        )
    if not isinstance(studies, Mapping):
        raise OptionError(
            "`studies` must name the true class of each study, as {class: [[right, wrong], …]}; "
            f"got {type(studies).__name__}."
        )
    labels = list(studies) if classes is None else list(classes)
    if len(labels) != 2:
        raise ClassError(
            f"`studies` can be pooled for two classes (sensitivity and specificity); got "
            f"{len(labels)}: {labels[:5]}.",
            hint="for more classes, draw the rates elsewhere and give them as `P`.",
        )
    none = [x for x in labels if x not in studies or not len(studies[x])]
    if none or len(studies) > len(labels):
        got = f"there is none of {quoted(none)}" if none else f"got {[*studies][:5]}"
        raise ClassError(
            f"`studies` must have studies of both classes, {quoted(labels)}; {got}.",
            hint="without a study of a class, nothing is known of its error rates: give one.",
        )
    P, found = np.empty((size, 2, 2)), []
    for g, label in enumerate(labels):
        counts = _checked(studies[label], label)
        right, n = counts[:, g], counts.sum(axis=1)
        rate, mu, sigma = draw_rate(right, n, float(between), size, rng)
        P[:, g, g], P[:, g, 1 - g] = rate, 1 - rate
        low, middle, high = np.quantile(rate, [0.025, 0.5, 0.975])
        found.append(
            {
                "class": label, "studies": len(n), "units": int(n.sum()), "rate": float(middle),
                "lower": float(low), "upper": float(high), "mean_logit": float(np.median(mu)),
                "sd_logit": float(np.median(sigma)),
            }
        )  # fmt: skip
    return P, labels, found


def _checked(given: Any, label: Hashable) -> Floats:
    counts = as_floats(given)
    if counts.ndim == 1 and counts.size == 2:
        counts = counts[None]
    if counts.ndim != 2 or counts.shape[1] != 2 or not len(counts):
        raise DataError(
            f"The studies of class {label!r} must be rows of two numbers, one for each predicted "
            f"class; got shape {counts.shape}.",
            hint="each row is a study: how many of its units were predicted as each class.",
        )
    bad = ~(np.isfinite(counts) & (counts >= 0) & (counts == np.floor(counts)))
    if bad.any():
        raise DataError(
            f"The studies of class {label!r} must hold counts, whole numbers of at least 0; got "
            f"{counts[bad].flat[0]:g}."
        )
    if (counts.sum(axis=1) == 0).any():
        raise DataError(f"Each study of class {label!r} must have at least one unit; one has none.")
    return counts


def draw_rate(
    right: Floats, n: Floats, between: float, size: int, rng: Rng
) -> tuple[Floats, Floats, Floats]:
    """Draw the rate of a new study, with μ and σ: (size,) each."""
    spans = [(-WIDEST, WIDEST), (0.0, 4 * between)]
    for _ in range(ROUNDS):
        edges = [np.linspace(*span, k + 1) for span, k in zip(spans, GRID, strict=True)]
        mu, sigma = ((x[1:] + x[:-1]) / 2 for x in edges)
        log_post = _log_posterior(mu[:, None], sigma, right, n, between)
        weight = np.exp(log_post - log_post.max())
        spans = []
        for axis, x in enumerate(edges):  # the part with weight, and a cell beyond it
            some = np.flatnonzero(weight.max(axis=1 - axis) > SMALL)
            first, last = max(some[0] - 1, 0), min(some[-1] + 2, len(x) - 1)
            spans.append((float(x[first]), float(x[last])))
    chosen = rng.choice(weight.size, size, p=(weight / weight.sum()).ravel())
    at = np.unravel_index(chosen, weight.shape)
    drawn = [x[i] + rng.random(size) * (x[1] - x[0]) for x, i in zip(edges, at, strict=True)]
    logit = drawn[0] + drawn[1] * rng.standard_normal(size)
    return 1 / (1 + np.exp(-logit)), drawn[0], drawn[1]


def _log_posterior(mu: Floats, sigma: Floats, right: Floats, n: Floats, between: float) -> Floats:
    """Log density of (μ, σ) given the studies, up to a constant; μ and σ broadcast."""
    mu, sigma = np.broadcast_arrays(mu, np.maximum(sigma, 1e-6))
    prior = -np.logaddexp(0, mu) - np.logaddexp(0, -mu)
    if between > 0:
        prior = prior - (sigma / between) ** 2 / 2
    z, w = np.polynomial.hermite_e.hermegauss(NODES)
    total = prior.astype(float)
    for y, size in zip(right, n, strict=True):
        x = np.array(mu)
        for _ in range(NEWTON):
            p = 1 / (1 + np.exp(-x))
            step = (y - size * p - (x - mu) / sigma**2) / (size * p * (1 - p) + 1 / sigma**2)
            x = x + np.clip(step, -1.0, 1.0)
            if np.abs(step).max() < 1e-9:
                break
        scale = 1 / np.sqrt(size * p * (1 - p) + 1 / sigma**2)
        t = x + scale * z[:, None, None]
        value = -y * np.logaddexp(0, -t) - (size - y) * np.logaddexp(0, t)
        value = value - ((t - mu) / sigma) ** 2 / 2 + (z**2 / 2 + np.log(w))[:, None, None]
        total = total + np.logaddexp.reduce(value, axis=0) + np.log(scale / sigma)
    return np.asarray(total)
