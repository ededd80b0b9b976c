"""Many small symmetric systems side by side, positive definite: with up to five or so unknowns.

LAPACK is called for one matrix after the other, which costs more than the arithmetic does. Here the
matrices stand on the last axis, and every step of the elimination is one for all of them. No
pivoting: positive definite matrices need none.
"""

import numpy as np

from trueup.numerics.arrays import Floats

__all__ = ["solve_small"]


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
