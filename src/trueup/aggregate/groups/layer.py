"""Error rates that differ between groups: how far, learned from the audited units in them.

With one P for all, a group's columns are c̃_gℓ ∝ c_gℓ β_bg/β_g: the whole's own columns, tilted by
the group's base rates, which its predictions tell. Where rates differ, predictions tell less, and
columns differ beyond the tilt. Two numbers say how much:

    c̃_gℓ ∝ c_gℓ (β_bg/β_g)^λ,     c^(b)_·ℓ ~ Dir(κ s_ℓ c̃_·ℓ).

λ = 1 and κ → ∞ is one P for all; λ = 0 ignores what a group's predictions say of its base rates.
Two families are weighed against each other. In "rows", each row of P varies as Dir(κ p_g): s_ℓ is
what that implies for the columns, by the delta method, and λ is close to the part of the
differences between the groups' predictions that rows leave to base rates. In "columns", s = 1 and
λ is free. In both, the classes' odds of a group may also deviate in the same direction in all
columns, by η_bg ~ N(0, σ²) (`groups.common`). The audited units of a group and predicted class are
Dirichlet-multinomial given (family, λ, κ, σ) and η; the former are drawn on a grid, c^(b) given
them is a Dirichlet.

ℓ is a predicted class here. Where cells are finer (bands of the value), c̃ of a predicted class is
the mean over the group's own units in its cells, and the cells' odds follow c^(b) together: a group
whose rates differ does so in all bands, while how classes lie in the bands is the whole's.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueup.aggregate.groups.common import draw_common, find_mode
from trueup.draws.base_rates import columns
from trueup.numerics import special
from trueup.numerics.arrays import Floats, Integers, Rng

ONE_P, FEW = 0.2, 3
"""Prior probability of one P for all groups: the last κ of the grid, with λ = 1. With so few groups
it is 0: they cannot show that rates differ, and intervals of a difference between two groups whose
rates do covered 70 to 83% of 20 to 40, without it 85 to 95%."""
KAPPAS = np.append(np.exp(np.linspace(np.log(2.0), np.log(1500.0), 20)), 1e6)
POWER = -0.5
"""Grid of κ, and the power of κ in its prior, per unit of log κ."""
LAMBDAS = np.linspace(0.0, 1.0, 5)
FREE = np.array([1.0, 1.0, 1.0, 1.0, 3.0])
LINK = 0.1
"""Grid of λ; its prior in "columns", which favours one P; how closely λ follows κ in "rows"."""
SIGMAS = np.array([0.0, 0.25, 0.5, 1.0, 2.0])
COMMON = 0.25
THIN = 4
"""Grid of σ; the prior probability that it is above 0; every fourth κ is tried with those."""
MOST_COMMON = 4_000
"""σ may be above 0 for at most so many audited groups times K²: its cost is that of solving K
equations for each of them on each draw."""
FIRST, UNLIKELY = 12, 7.0
"""The grid is first tried on 12 draws; what is then e^7 times less likely than the best is left."""
BLOCK = 100_000
"""Numbers in an array of the grid: small enough for a processor's cache."""
UNLIKE = ((1.0, 30.0, 0.0), (1.0, 10.0, 0.0), (0.0, 10.0, 0.0), (1.0, 1e6, 1.0))
"""λ, κ and σ of one group whose rates differ, against one P: what `Learned.unlike` compares."""
LEAST = 0.5
"""Least concentration of a column."""
FITS = 5
"""Rounds of proportional fitting that carry a predicted class's column to its cells."""


class Layer(NamedTuple):
    """Draws of λ (R,), of the columns' concentrations κs (R, H) and of σ (R,)."""

    lam: Floats
    kappa: Floats
    sigma: Floats


class Learned(NamedTuple):
    """Draws of λ, κ, whether the family is "rows", and σ, (R,) each.

    `unlike` (B,) is the log of how much better a group's audited units fit rates of its own than
    one P, a Bayes factor.
    """

    lam: Floats
    kappa: Floats
    by_rows: NDArray[np.bool_]
    sigma: Floats
    unlike: Floats


def learn_layer(
    n: Integers,
    v_hat: Integers,
    P: Floats,
    beta: Floats,
    tilt: Floats,
    every: Integers,
    size: int,
    rng: Rng,
) -> Learned:
    """Draw λ, κ, the family and σ, `size` of each, given the audited units.

    `n` (B, K, H) are audited units of each group, by true and predicted class, `v_hat` (B, L) its
    units by cell, and `every` (G, H) those of all groups by predicted class, also of groups without
    audited units. `P` (S, K, L) and `beta` (S, K) are some draws of the whole's P, by cell, and of
    its base rates; `tilt` (S, B, K) is β_b/β of the groups on these draws, from their predictions
    alone.
    """
    (S, K), (B, _, H) = beta.shape, n.shape
    sigmas = SIGMAS if B * K**2 <= MOST_COMMON else SIGMAS[:1]
    rows, c = by_label(P, H), columns(P, beta)
    scale = column_scale(rows, columns(rows, beta))  # (S, H)
    link = -0.5 * ((LAMBDAS[:, None] - _left_to_base_rates(every, rows, beta)) / LINK) ** 2
    link -= np.log(np.exp(link).sum(axis=0))
    own = within_label(v_hat.astype(float), H)
    seen = _Seen(n)

    def fits(every: list[_Choice], some: slice) -> Floats:
        """Log likelihood of each group (C, B) with each choice, from some of the draws."""
        lam, kappa, by_rows, sigma, _ = (np.array(x) for x in zip(*every, strict=True))
        found = np.empty((len(every), B))
        here = scale[some]
        for value in np.unique(lam):
            r = tilt[some] ** value  # (S, B, K)
            each = c[some].reshape(len(r), K, H, -1)
            among = own / np.einsum("skl,sbk->sbl", c[some], r)
            among = among.reshape(len(r), B, H, -1)
            mean = np.einsum("skhj,sbhj->sbkh", each, among) * r[..., None]
            for apart in (sigma == 0, sigma > 0):
                at = np.flatnonzero((lam == value) & apart)
                for part in np.split(at, range(0, len(at), max(1, BLOCK // mean.size))[1:]):
                    s = np.where(by_rows[part, None, None], here, 1.0)
                    k = np.maximum(kappa[part, None, None] * s, LEAST)  # (C, S, H)
                    found[part] = seen.fit(mean, k, sigma[part])
        return found

    def posterior(choices: list[_Choice], some: slice) -> Floats:
        prior = np.array([x.log_prior for x in choices])
        return np.asarray(prior + fits(choices, some).sum(axis=1))

    choices = _choices(link, sigmas, ONE_P if B > FEW else 0.0)
    log_p = posterior(choices, slice(0, FIRST))
    if S > FIRST:  # those that matter once more, from all draws
        choices = [choices[i] for i in np.flatnonzero(log_p > log_p.max() - UNLIKELY)]
        log_p = posterior(choices, slice(None))
    p = np.exp(log_p - log_p.max())
    picked = [choices[i] for i in rng.choice(len(p), size, p=p / p.sum())]
    lam, kappa, by_rows, sigma = (np.array([x[i] for x in picked]) for i in range(4))
    kinds = [(1.0, KAPPAS[-1], 0.0), *(x for x in UNLIKE if x[2] == 0 or len(sigmas) > 1)]
    one, *own_rates = fits([_Choice(x[0], x[1], False, x[2], 0.0) for x in kinds], slice(None))
    unlike = np.log(np.exp(np.clip(own_rates - one, -500, 500)).mean(axis=0))
    return Learned(lam, kappa, by_rows, sigma, unlike)


class _Choice(NamedTuple):
    """A point of the grid, and the log of its prior probability."""

    lam: float
    kappa: float
    by_rows: bool
    sigma: float
    log_prior: float


def _choices(link: Floats, sigmas: Floats, one_P: float) -> list[_Choice]:
    """List the grid; `link` is the log prior of each λ and κ in "rows", `one_P` that of one P."""
    found, last = [], len(KAPPAS) - 1
    for j, lam in enumerate(LAMBDAS):
        for i, kappa in enumerate(KAPPAS):
            for sigma in sigmas:
                if sigma > 0 and i % THIN:
                    continue
                prior = _log_prior(i, sigma, len(sigmas) > 1, one_P)
                found.append(_Choice(lam, kappa, True, sigma, prior + link[j, i]))
                if i == last and sigma == 0:
                    prior += 0.0 if lam == 1 else -np.inf
                else:
                    prior += np.log(FREE[j] / FREE.sum())
                found.append(_Choice(lam, kappa, False, sigma, prior))
    return [choice for choice in found if choice.log_prior > -np.inf]


class _Seen:
    """The audited units of groups, and how well a mean with concentrations fits them."""

    def __init__(self, n: Integers) -> None:
        self.n, self.total = n.astype(float), n.sum(axis=1).astype(float)
        self.at = np.nonzero(n)
        self.some = np.nonzero(self.total)
        self.units, self.all = self.n[self.at], self.total[self.some]

    def fit(self, mean: Floats, k: Floats, sigma: Floats) -> Floats:
        """Return the log likelihood of C choices (C, B), each group's averaged over draws.

        `mean` (S, B, K, H) are the columns before η, k (C, S, H) their concentrations and `sigma`
        (C,) the standard deviations of η, all 0 or none. η is integrated out by Laplace's method.
        """
        K, fit = mean.shape[2], np.zeros((*k.shape[:2], mean.shape[1]))
        if sigma.any():
            counted = self.n * effective(k[:, :, None], self.total)[..., None, :]
            log_m = np.log(np.maximum(mean, 1e-300))
            wide = np.broadcast_to(sigma[:, None, None], fit.shape)
            eta, _, log_det = find_mode(log_m, counted, wide)
            mean = mean * np.exp(eta)[..., None]
            mean /= mean.sum(axis=-2, keepdims=True)
            fit -= 0.5 * (eta**2).sum(axis=-1) / wide**2 + K * np.log(wide)
            fit -= 0.5 * log_det
        b, g, h = self.at
        x = np.maximum(k[..., h] * mean[..., b, g, h], 1e-300)
        _add(fit, b, special.gammaln(x + self.units) - special.gammaln(x))
        b, h = self.some
        _add(fit, b, special.gammaln(k)[..., h] - special.gammaln(k[..., h] + self.all))
        top = fit.max(axis=1, keepdims=True)
        return np.asarray(top[:, 0] + np.log(np.exp(fit - top).mean(axis=1)))


def _add(sums: Floats, group: Integers, x: Floats) -> None:
    """Add x (…, n) to the sums (…, B) of their groups, which stand in order."""
    some, first = np.unique(group, return_index=True)
    if len(some):
        sums[..., some] += np.add.reduceat(x, first, axis=-1)


def effective(kappa: Floats, n: Floats) -> Floats:
    """Return how much of one multinomial unit each of n units of a column with κ tells of c̃."""
    return np.minimum((kappa + 1) / (kappa + np.maximum(n, 1)), 1.0)


@np.errstate(divide="ignore")
def _log_prior(i: int, sigma: float, both: bool, one_P: float) -> float:
    """Log prior of the κ at i and of σ; `both` if σ may be above 0."""
    some = slice(0, len(KAPPAS) - 1, 1 if sigma == 0 else THIN)
    p = (
        one_P
        if i == len(KAPPAS) - 1
        else (1 - one_P) * KAPPAS[i] ** POWER / (KAPPAS[some] ** POWER).sum()
    )
    if not both:
        return float(np.log(p))
    if sigma > 0:
        return float(np.log(p * COMMON / (len(SIGMAS) - 1)))
    # the spike at one P keeps its probability
    return float(np.log(one_P if i == len(KAPPAS) - 1 else p * (1 - one_P - COMMON) / (1 - one_P)))


def column_scale(rows: Floats, c: Floats) -> Floats:
    """Return s (S, L): columns vary as Dir(κs c) where rows vary as Dir(κ p), by the delta method.

    p_gℓ then has the relative variance V = (1 − p)/(pκ), and a column's Σ_g Var(c_gℓ) is set
    against that of a Dirichlet, Σ_g c(1 − c)/(κs).
    """
    V = (1 - rows) / np.maximum(rows, 1e-9)
    own = c**2 * V
    var = c**2 * ((1 - 2 * c) * V + own.sum(axis=1, keepdims=True))
    return np.asarray((c * (1 - c)).sum(axis=1) / np.maximum(var.sum(axis=1), 1e-12))


def _left_to_base_rates(v_hat: Integers, rows: Floats, beta: Floats) -> Floats:
    """The part of the variance of predictions between groups that rows with κ leave, per κ."""
    size, N = v_hat.sum(axis=1), max(int(v_hat.sum()), 1)
    pi = v_hat.sum(axis=0) / N
    B = max(len(v_hat), 2)
    apart = v_hat / np.maximum(size, 1)[:, None] - pi
    seen = (size[:, None] * apart**2).sum() / N * B / (B - 1) - B * (pi * (1 - pi)).sum() / N
    P, base = rows.mean(axis=0), beta.mean(axis=0)
    of_rows = (base[:, None] ** 2 * P * (1 - P)).sum() / (KAPPAS + 1)
    return np.asarray(np.clip(1 - of_rows / max(float(seen), 1e-12), 0.0, 1.0))


def draw_layer(layer: Layer, c: Floats, tilt: Floats, n: Floats, v: Integers, rng: Rng) -> Floats:
    """Draw the groups' columns c^(b) (K, r, L, B).

    `c` (r, K, L) are the whole's columns, `tilt` (K, r, B) is β_b/β, `n` (B, K, H) the audited
    units by predicted class, `v` (L, B) the units of each cell.
    """
    lam, H = layer.lam[:, None], n.shape[2]
    mean = c.transpose(1, 0, 2)[..., None] * (tilt**lam)[:, :, None]
    mean /= mean.sum(axis=0)
    share = within_label(v.T.astype(float), H).T
    among = _labelled(mean * share, H)
    if layer.sigma.any():
        eta = _common(layer, among, n, rng)
        mean *= np.exp(eta)[:, :, None]
        mean /= mean.sum(axis=0)
        among = _labelled(mean * share, H)
    shape = layer.kappa[None, :, :, None] * among + n.transpose(1, 2, 0)[:, None]
    drawn = np.maximum(rng.standard_gamma(shape), 1e-300)
    drawn /= drawn.sum(axis=0)
    if len(v) == H:
        return drawn
    for _ in range(FITS):
        mean *= np.repeat(drawn / np.maximum(among, 1e-300), len(v) // H, axis=2)
        mean /= mean.sum(axis=0)
        among = _labelled(mean * share, H)
    return mean


def _common(layer: Layer, among: Floats, n: Floats, rng: Rng) -> Floats:
    """Draw η (K, r, B), from its prior where no unit was audited; 0 where σ is."""
    K, r, _, B = among.shape
    eta = rng.standard_normal((K, r, B)) * layer.sigma[:, None]
    draws, placed = np.flatnonzero(layer.sigma), np.flatnonzero(n.any(axis=(1, 2)))
    if len(placed):
        total = n[placed].sum(axis=1)
        counted = effective(layer.kappa[draws][:, None], total)[:, :, None] * n[placed]
        log_m = np.log(np.maximum(among[:, draws][..., placed].transpose(1, 3, 0, 2), 1e-300))
        sigma = np.repeat(layer.sigma[draws][:, None], len(placed), axis=1)
        drawn = draw_common(log_m, counted, sigma, rng)  # (draws, groups, K)
        eta[:, draws[:, None], placed] = drawn.transpose(2, 0, 1)
    return eta


def by_label(x: NDArray[Any], H: int) -> NDArray[Any]:
    """Add up the cells (…, L) of each of H predicted classes."""
    return np.asarray(x.reshape(*x.shape[:-1], H, -1).sum(axis=-1))


def within_label(v: Floats, H: int) -> Floats:
    """Return each cell's share (B, L) of its predicted class in the group; equal without units."""
    each = v.reshape(len(v), H, -1)
    total = each.sum(axis=2, keepdims=True)
    share = np.where(total > 0, each / np.maximum(total, 1.0), 1.0 / each.shape[2])
    return np.asarray(share.reshape(v.shape))


def _labelled(x: Floats, H: int) -> Floats:
    """Add up the cells (K, r, L, B) of each predicted class: (K, r, H, B)."""
    K, r, _, B = x.shape
    return np.asarray(x.reshape(K, r, H, -1, B).sum(axis=3))
