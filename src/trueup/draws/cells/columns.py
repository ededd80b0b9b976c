"""What the columns of cells have in common: their mean m and their concentration κ.

Cell ℓ = (h, b) is predicted class h crossed with band b of the value. Its column
c_·ℓ = Pr(s = · | cell ℓ) has the prior Dir(κ m_ℓ), with

    m_gℓ = x_gh exp(λ s_g φ_1ℓ + Σ_r d_ghr φ_rℓ) / S_ℓ,   S_ℓ the sum of the same over g,
    x_gh ~ Gamma(α_gh),  λ ~ U(0, 1.5),  d_ghr ~ N(0, υ_r²),  υ_r ~ half-t(scale_r),  log κ ~ U.

φ_1 is the band's score and φ_2 its bend (`frame`), both centred in each predicted class, so that
x_·h/Σx ~ Dir(α_·h) speaks of its middle: the prior of `joint`. Where some values are zero, or some
negative, more functions tell these apart, each with an s_g. s_g is the slope of the log odds of
class g in the value that the paper's homogeneity implies, when values depend on the true class
alone: λ = 1. With λ = 0 values say nothing of the true class beyond the prediction. Real
classifiers are in between, and a class may be rare among middling values but not among small and
large ones: d and κ are what they add. How far each holds is learned; s_g has an error of its own.

With a score of the classifier, cells are also bands of it within the predicted class, and the last
function is its normal score there. Its coefficient is b 1[g = h] + d_gh, b ~ U(0, STEEPEST): the
log odds of being right rise by b per standard deviation (Platt's curve), in all predicted classes
alike but for d. b = 0 is a score that tells nothing.

Where the test set was drawn within J strata (`drawn_within`), h stands for predicted class and
stratum, and one more level pools the strata j of a predicted class i:

    m_gℓ ∝ x_gij exp(… + ν o_gj + e_gi ψ_ij),
    x_gij ~ Gamma(X_gi),  X_gi ~ Gamma(α_gi)/τ,  ν ~ U(0, 1),

so that x_·ij/Σx ~ Dir(X_·i): alike if ΣX is large. o_gj is the log of the stratum's base rate that
its predictions imply if error rates are those of the whole (`implied_shares`), which is ν = 1. ψ_ij
is the weight of its audited units (`strata`), e_gi ~ N(0, υ_e²), υ_e ~ half-t.

Every step but those of λ, b, s, d, ν and e is an exact draw. Tables (Antoniak 1974) turn the
Dirichlet-multinomial of the audited units into κ^T Π m^t; w_ℓ ~ Gamma(t_ℓ)/S_ℓ turns Π m^t into
Π (xE)^t exp(−w xE), E the exponential above, so that x_gh ~ Gamma(α_gh + t_gh)/(1 + Σ_b wE); κ is
drawn on a grid; λ, b, s, ν and e move by Metropolis with x integrated out, d without w: given
tables and x its density is Π m^t, in which steps are longer. X is drawn by tables once more: those
of t_gij units at X_gi, r, leave X^r exp(−X log(1 + Σ wE)), so that X ~ Gamma(α + r)/(τ + Σ log).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from functools import partial
from typing import NamedTuple

import numpy as np

from trueup.draws.cells.frame import Frame
from trueup.draws.cells.strata import LEAN, offset, pooled, step_leans, step_share
from trueup.draws.cells.tables import tables_of
from trueup.numerics import half_t
from trueup.numerics.arrays import Floats, Integers

__all__ = ["CHAINS", "Changed", "Columns", "curve", "learn_columns"]

SLOPE, SCALE = 0.2, 0.1
"""Scales of υ for the slope and for kinds of values (`implied.STEP`), and for the other functions,
per standard deviation of the score. Slopes of real classifiers have a scale
of .0 to .2 (`studies/slopes.py`). With .1 intervals covered .68 instead of .83 where the odds of a
false positive rise 3.3-fold per standard deviation (40 test sets of 300). With .3 they covered .77
instead of .76 (100 test sets), and where values depend on the class alone the squared error was 10
to 18% larger. With the tails of a Cauchy, three audited units of a class leave bends open that send
half of all value to it."""
BEYOND = 1.5
"""The largest λ. Homogeneity, λ = 1, must not be at the end of its range: where classes lie far
apart, few audited errors leave λ open, and intervals would stop short of it. And there the slope
between the classes is steeper than s_g, that of normal scores with one variance."""
STEEPEST = 3.0
"""The largest b. The odds of being right then differ 400-fold between a unit whose score is one
standard deviation above the mean of its predicted class and one whose score is one below."""
KAPPAS = np.exp(np.linspace(np.log(2.0), np.log(2000.0), 60))
"""Grid of κ, uniform in log."""
CHAINS = 80
"""Chains side by side."""
FEW_CLASSES, STRETCH = 8, 1.2
"""With fewer classes d moves twice in a sweep; with more that costs two fifths of it, and one
move gives more effective draws in the same time. And the deviation of a step of log υ."""

TINY, MOST = 1e-170, 300.0
"""The least x, and log odds beyond which one is certain: the product of both does not underflow. A
draw of x is tiny where log odds are large, and in another band they are not."""
LEAST = 1e-300


class Columns(NamedTuple):
    """A sweep: κ, λ, b (C,), m (C, K, H, B), υ (C, R), x (C, K, H), d (C, K, H, R), s (C, K, Q)."""

    kappa: Floats
    m: Floats
    lam: Floats
    upsilon: Floats
    x: Floats
    d: Floats
    s: Floats
    b: Floats


class Changed(NamedTuple):
    """What may be sent back: units of each chain (C, K, H, B), and where the chain has moved."""

    n: Integers
    to: Columns


def learn_columns(
    n: Integers, known: Frame, alpha: Floats, rng: np.random.Generator, chains: int = CHAINS
) -> Generator[Columns, Changed | None, None]:
    """Draw (κ, m) from their posterior given the audited units: all chains, sweep after sweep.

    What is sent (`Changed`) takes the place of `n`, x, κ and the slopes; κ is then the sender's.

    Parameters
    ----------
    n : (K, H, B) ndarray of int
        Audited units by true class, predicted class and band.
    known : Frame
        What the log odds may depend on.
    alpha : (K, H/J) ndarray
        Prior of the columns of each predicted class.
    rng : numpy.random.Generator
        Source of randomness.
    chains : int
        Chains side by side.
    """
    (K, H, B), C, bands = n.shape, chains, np.ones(n.shape[2])
    phi, (centre, error), shares, right, _, psi = known
    R, J = len(phi), 1 if shares is None else shares.shape[1]
    L, o = H // J, None
    centre, error = (np.reshape(each, (K, -1)) for each in (centre, error))
    scale = scales(R, centre.shape[1])
    s = centre + error * rng.standard_normal((C, *centre.shape))
    if shares is not None and J > 1:
        psi = np.zeros((L, J)) if psi is None else psi
        nu, e, upsilon_e = rng.random(C), LEAN * rng.standard_normal((C, K, L)), np.full(C, LEAN)
        o = offset(nu, shares, e, psi)
    tables = tables_of(np.broadcast_to(n, (C, K, H, B)))
    log_kappas, base, moved = np.log(KAPPAS), _log_kappa(n.sum(axis=0).ravel()), False
    d, upsilon, lam = np.zeros((C, K, H, R)), np.tile(scale, (C, 1)), BEYOND * rng.random(C)
    b = np.zeros(C) if right is None else STEEPEST * rng.random(C)
    kappa = rng.choice(KAPPAS, C)
    tau = np.full(C, 0.1)
    X = np.broadcast_to(alpha if J == 1 else alpha / tau[0], (C, K, L))
    x = rng.standard_gamma(np.repeat(alpha, J, axis=1) + n.sum(axis=-1), (C, K, H))
    E = _odds(_coefficients(lam, s, d, b, right), phi, o)
    m, S = _shares(x, E)
    while True:
        t = tables(kappa[:, None, None, None] * m, rng)
        if not moved:
            kappa = KAPPAS[_pick(base + t.sum(axis=(1, 2, 3))[:, None] * log_kappas, rng)]
        w = rng.standard_gamma(t.sum(axis=1)) / S
        t_gh = t @ bands  # sums over a short last axis are slow
        a = np.repeat(X, J, axis=2) + t_gh
        t_phi = np.stack([(t * f) @ bands for f in phi], axis=-1)

        def fit(
            coef: Floats,
            o: Floats | None = o,
            w: Floats = w,
            a: Floats = a,
            t: Floats = t,
            t_phi: Floats = t_phi,
        ) -> Floats:
            """Log density of the coefficients (C, K, H, R) given tables and w, x integrated out."""
            log_E, beyond = _log_odds(coef, phi, o)
            if beyond:  # what is beyond bounds tells nothing either
                told = (t * log_E) @ bands - (0.0 if o is None else (t @ bands) * o)
            else:
                told = np.einsum("ckhr,ckhr->ckh", coef, t_phi)
            grown = _over_bands(np.exp(log_E, out=log_E), w)
            return np.asarray(told - a * np.log1p(grown))

        if o is not None:
            assert shares is not None
            assert psi is not None
            fixed = partial(fit, _coefficients(lam, s, d, b, right))

            def along(
                o: Floats, fixed: Callable[[Floats], Floats] = fixed, t_gh: Floats = t_gh
            ) -> Floats:
                """Log density of the log odds of strata (C, K, H)."""
                return np.asarray(fixed(o) + t_gh * o)

            nu = step_share(nu, lambda nu: along(offset(nu, shares, e, psi)), rng)  # noqa: B023
            if psi.any():
                told = (t_gh.reshape(C, K, L, J) * psi**2).sum(axis=-1)
                e, upsilon_e = step_leans(
                    e, upsilon_e, lambda e: along(offset(nu, shares, e, psi)), told, rng  # noqa: B023
                )  # fmt: skip
            o = offset(nu, shares, e, psi)
            fit = partial(fit, o=o)
        here = fit(_coefficients(lam, s, d, b, right))
        near = reflected(lam + 0.2 * rng.standard_normal(C), BEYOND)
        for new in (near, BEYOND * rng.random(C)):
            there = fit(_coefficients(new, s, d, b, right))
            yes = -rng.standard_exponential(C) < (there - here).sum(axis=(1, 2))
            lam, here = np.where(yes, new, lam), np.where(yes[:, None, None], there, here)
        if right is not None:
            for new in (
                reflected(b + 0.4 * rng.standard_normal(C), STEEPEST),
                STEEPEST * rng.random(C),
            ):
                there = fit(_coefficients(lam, s, d, new, right))
                yes = -rng.standard_exponential(C) < (there - here).sum(axis=(1, 2))
                b, here = np.where(yes, new, b), np.where(yes[:, None, None], there, here)
        # a fresh s_g from its prior, or one that keeps most of the old: the likelihood decides
        for r in (0.0, 0.9):
            noise = np.sqrt(1 - r**2) * error * rng.standard_normal(s.shape)
            new = centre + r * (s - centre) + noise
            there = fit(_coefficients(lam, new, d, b, right))
            yes = -rng.standard_exponential((C, K)) < (there - here).sum(axis=2)
            s, here = np.where(yes[..., None], new, s), np.where(yes[..., None], there, here)
        d, upsilon, here = _stretch(
            d, upsilon, here, lambda d: fit(_coefficients(lam, s, d, b, right)), scale, rng  # noqa: B023
        )  # fmt: skip
        E = _odds(_coefficients(lam, s, d, b, right), phi, o)
        grown = _over_bands(E, w)
        if J > 1:
            X, tau = pooled(X, tau, t_gh, grown, alpha, rng)
            a = np.repeat(X, J, axis=2) + t_gh
        x = rng.standard_gamma(a) / (1 + grown)
        for _ in range(2 if K < FEW_CLASSES else 1):
            coef = _coefficients(lam, s, d, b, right)
            d = _step(d, np.maximum(x, TINY)[..., None] * E, upsilon, t, t_phi, coef, o, phi, rng)
            E = _odds(_coefficients(lam, s, d, b, right), phi, o)
        squares = np.einsum("ckhr,ckhr->cr", d, d)
        upsilon = half_t.draw(upsilon, squares, K * H, scale, rng)
        m, S = _shares(x, E)
        sent = yield Columns(kappa, m, lam, upsilon, x, d, s, b)
        if sent is not None:
            kappa, _, lam, upsilon, x, d, s, b = sent.to
            m, S = _shares(x, _odds(_coefficients(lam, s, d, b, right), phi, o))
            tables, moved = tables_of(sent.n), True


def _step(
    d: Floats,
    xE: Floats,
    upsilon: Floats,
    t: Floats,
    t_phi: Floats,
    coef: Floats,
    o: Floats | None,
    phi: Floats,
    rng: np.random.Generator,
) -> Floats:
    """Move d of one class after the other, given tables and x alone: Π m^t without w.

    `coef` and `o` are of the log odds: from and to what is beyond bounds there is no step.
    """
    precision = 1 / upsilon[:, None, None] ** 2
    S, t_l, t_gh = xE.sum(axis=1), t.sum(axis=1), t.sum(axis=-1)
    log_S = np.log(S)
    share = t_gh / np.maximum(t_gh.sum(axis=1, keepdims=True), 1)
    information = t_gh * (1 - share)
    size = 2.0 / np.sqrt(d.shape[-1] * (information[..., None] + precision))
    step = size * rng.standard_normal(d.shape)
    grown = xE * _odds(step, phi, None)
    gain = np.einsum("ckhr,ckhr->ckh", step, t_phi - precision * (d + step / 2))
    gain += rng.standard_exponential(gain.shape)
    if _reach(coef, phi, o) + _reach(step, phi, None) > MOST:
        for at in (coef, coef + step):
            log_E = curve(at, phi) + (0.0 if o is None else o[..., None])
            gain[(np.abs(log_E) > MOST).any(axis=3)] = -np.inf
    yes = np.zeros(gain.shape, dtype=bool)
    for g in range(d.shape[1]):
        new = np.maximum(np.maximum(S - xE[:, g], 0.0) + grown[:, g], LEAST)
        log_new = np.log(new)
        yes[:, g] = gain[:, g] > np.einsum("chb,chb->ch", t_l, log_new - log_S)
        np.copyto(S, new, where=yes[:, g, :, None])
        np.copyto(log_S, log_new, where=yes[:, g, :, None])
    return d + np.where(yes[..., None], step, 0.0)


def curve(coef: Floats, phi: Floats) -> Floats:
    """Σ_r coef_r φ_r: coefficients (…, H, R) of functions (R, H, B) give (…, H, B)."""
    R, H, B = phi.shape  # a product of matrices for each h: short last axes are slow
    total = np.empty((*coef.shape[:-1], B))
    each = total.reshape(-1, H, B).swapaxes(0, 1)
    np.matmul(coef.reshape(-1, H, R).swapaxes(0, 1), phi.swapaxes(0, 1), out=each)
    return total


def _odds(coef: Floats, phi: Floats, o: Floats | None) -> Floats:
    """E = exp(Σ_r coef_r φ_r + o), the exponent within bounds."""
    log_E, _ = _log_odds(coef, phi, o)
    return np.exp(log_E, out=log_E)


def _log_odds(coef: Floats, phi: Floats, o: Floats | None) -> tuple[Floats, bool]:
    """Σ_r coef_r φ_r + o within bounds, and whether any of it is beyond them."""
    log_E = curve(coef, phi)
    if o is not None:
        log_E += o[..., None]
    beyond = _reach(coef, phi, o) > MOST and _largest(log_E) > MOST
    if beyond:  # half the time of `numpy.clip`
        np.minimum(np.maximum(log_E, -MOST, out=log_E), MOST, out=log_E)
    return log_E, beyond


def _reach(coef: Floats, phi: Floats, o: Floats | None) -> float:
    """How large the log odds can be at most: less work than to find out."""
    most = _largest(coef) * float(np.abs(phi).max(axis=(1, 2)).sum())
    return most + (0.0 if o is None else _largest(o))


def _largest(x: Floats) -> float:
    return max(float(x.max()), -float(x.min()))


def _shares(x: Floats, E: Floats) -> tuple[Floats, Floats]:
    """Return m = xE/S and S."""
    xE = np.maximum(x, TINY)[..., None] * E
    S = xE.sum(axis=1)
    return xE / S[:, None], S


def _over_bands(E: Floats, w: Floats) -> Floats:
    """Σ_b w E: (C, K, H, B) and (C, H, B) give (C, K, H), in a third of the time of `einsum`."""
    total: Floats = np.matmul(E.swapaxes(1, 2), w[..., None])[..., 0]
    return total.swapaxes(1, 2)


def _coefficients(lam: Floats, s: Floats, d: Floats, b: Floats, right: Floats | None) -> Floats:
    """Coefficients (C, K, H, R) of the functions: λ s_g + d_gh1, d_gh2, then b 1[g=h] + d_gh3."""
    coef = d.copy()
    coef[..., : s.shape[-1]] += (lam[:, None, None] * s)[:, :, None]
    if right is not None:
        coef[..., -1] += b[:, None, None] * right
    return coef


def reflected(x: Floats, most: float) -> Floats:
    """Reflect steps of a parameter into its range, from 0 to `most`."""
    return np.asarray(most - np.abs(most - np.abs(x) % (2 * most)))


def _log_kappa(n_l: Integers) -> Floats:
    """Σ_ℓ log Γ(κ)/Γ(κ + n_ℓ) for each κ of the grid."""
    # a few dozen numbers: Python's own function, as loading SciPy's would take 0.3 s
    log_gamma = np.vectorize(math.lgamma, otypes=[float])
    return np.asarray((log_gamma(KAPPAS) - log_gamma(KAPPAS + n_l[:, None])).sum(axis=0))


def _pick(log_p: Floats, rng: np.random.Generator) -> Integers:
    """Draw one index per row."""
    up = np.exp(log_p - log_p.max(axis=1, keepdims=True)).cumsum(axis=1)
    return np.asarray((rng.random((len(up), 1)) * up[:, -1:] > up).sum(axis=1))


def _stretch(
    d: Floats,
    upsilon: Floats,
    here: Floats,
    fit: Callable[[Floats], Floats],
    scale: Floats,
    rng: np.random.Generator,
) -> tuple[Floats, Floats, Floats]:
    """Multiply a function's d and its standard deviation υ by one factor: out of the funnel."""
    for r in range(upsilon.shape[1]):
        factor = np.ones(upsilon.shape)
        factor[:, r] = np.exp(STRETCH * rng.standard_normal(len(factor)))
        new = d * factor[:, None, None]
        there = fit(new)
        prior = half_t.log_density(upsilon * factor, scale) - half_t.log_density(upsilon, scale)
        gain = (there - here).sum(axis=(1, 2)) + (prior + np.log(factor)).sum(axis=1)
        yes = -rng.standard_exponential(len(upsilon)) < gain
        d, here = (
            np.where(yes[:, None, None, None], new, d),
            np.where(yes[:, None, None], there, here),
        )
        upsilon = np.where(yes[:, None], upsilon * factor, upsilon)
    return d, upsilon, here


def scales(R: int, Q: int = 1) -> Floats:
    """The scales of υ: those of the Q functions of the value, then those of the others."""
    return np.array([*[SLOPE] * Q, *[SCALE] * (R - Q)])
