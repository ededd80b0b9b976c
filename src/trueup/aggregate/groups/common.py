"""What a group's classes have in common across its predictions: η_b, on the log odds.

Groups of a real classifier differ most in how common a true class is *given* the prediction, in the
same direction whatever the prediction: a region with more fraud has more of it among the units
predicted honest and among those predicted fraud. With η_bg ~ N(0, σ²),

    c̃_gh ∝ m_gh exp(η_bg),

and the audited units of a group in column h count as n_h (κ + 1)/(κ + n_h) multinomial ones, since
the column deviates from c̃_·h by itself (`groups.layer`). Their log likelihood in η is concave;
the posterior is taken to be normal around its mode.
"""

import numpy as np

from trueup.numerics.arrays import Floats, Rng

NEWTON = 4
"""Newton's steps to the mode; each at most 2 in log odds."""


def find_mode(log_m: Floats, n: Floats, sigma: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the mode of η (…, K), the precision there (…, K, K), and its log determinant (…).

    `log_m` (…, K, H) is the log of the columns that η shifts, `n` (…, K, H) units, as many
    multinomial ones as they count for, and `sigma` (…) the standard deviation of η.
    """
    *every, K, H = np.broadcast_shapes(log_m.shape, n.shape)
    m = _last(np.exp(log_m - log_m.max(axis=-2, keepdims=True)), (*every, K, H))
    n = _last(n, (*every, K, H))
    total, seen, prior = n.sum(axis=0), n.sum(axis=1), sigma.ravel() ** -2.0
    eta, precision, log_det = np.zeros(seen.shape), np.empty(0), np.empty(0)
    diagonal = np.arange(K)
    for step in range(NEWTON + 1):
        x = m * np.exp(eta)[:, None]
        x /= x.sum(axis=0)
        weighed = x * total
        own = weighed.sum(axis=1)
        precision = np.stack([-(weighed * y).sum(axis=1) for y in x])
        precision[diagonal, diagonal] += own + prior
        move, log_det = solve_small(precision, seen - own - eta * prior)
        if step < NEWTON:
            eta = eta + np.clip(move, -2.0, 2.0)
    precision = np.moveaxis(precision, -1, 0).reshape(*every, K, K)
    return eta.T.reshape(*every, K), precision, log_det.reshape(every)


def _last(x: Floats, shape: tuple[int, ...]) -> Floats:
    """Return x in this shape with its last two axes first and all others as one, the last."""
    flat = np.broadcast_to(x, shape).reshape(-1, *shape[-2:])
    return np.ascontiguousarray(np.moveaxis(flat, 0, -1))


def draw_common(log_m: Floats, n: Floats, sigma: Floats, rng: Rng) -> Floats:
    """Draw η (…, K) given audited units; the parameters are those of `find_mode`."""
    eta, precision, _ = find_mode(log_m, n, sigma)
    root = np.swapaxes(np.linalg.cholesky(precision), -1, -2)
    z = rng.standard_normal(eta.shape)
    return np.asarray(eta + np.linalg.solve(root, z[..., None])[..., 0])


def solve_small(A: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Solve A x = y for A (K, K, N) and y (K, N); return x (K, N) and log det A (N,).

    >>> x, log_det = solve_small(np.array([[[2.0], [1.0]], [[1.0], [3.0]]]), np.array([[4.0], [7]]))
    >>> x.ravel().round(12).tolist(), np.exp(log_det).round(12).tolist()
    ([1.0, 2.0], [5.0])
    """
    A, y, K = A.copy(), y.copy(), len(y)
    for i in range(K - 1):
        factor = A[i, i + 1 :] / A[i, i]
        for j in range(i + 1, K):  # the upper half is enough
            A[j, j:] -= factor[j - i - 1] * A[i, j:]
        y[i + 1 :] -= factor * y[i]
    for i in reversed(range(K)):
        y[i] /= A[i, i]
        y[:i] -= A[:i, i] * y[i]
    return y, np.asarray(np.log(np.einsum("iin->in", A)).sum(axis=0))
