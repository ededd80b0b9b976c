"""QuaPy's Bayesian quantifiers on the inputs of `scores.py --design shifted --quapy`.

    pip install "quapy[bayes]" "numpyro<0.20" "jax<0.8"

`BayesianCC` has the hard classes, `BayesianKDEy` all probabilities and `PQ` the one of the second
class (two classes only); each with QuaPy's defaults. Not a dependency of trueup or its tests.
QuaPy 0.2.3 does not run with NumPyro 0.22.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

__all__ = ["quapy_answers"]


class _Given(BaseEstimator):  # type: ignore[misc]
    """Stands in for a classifier whose predictions are given."""

    def __init__(self, K: int) -> None:
        self.K, self.classes_ = K, np.arange(K)

    def fit(self, X: Any, y: Any) -> _Given:
        """There is nothing to learn."""
        return self

    def predict(self, X: Any) -> Any:
        """Return what is given."""
        return X

    predict_proba = predict


def quapy_answers(
    h: np.ndarray, P: np.ndarray, s: np.ndarray, audited: np.ndarray, inside: np.ndarray
) -> dict[str, tuple[np.ndarray, ...]]:
    """Return shares of the classes with their 95% intervals, by method.

    `h`, `P` and `s` are predicted class, probabilities and true class of all units; `audited` and
    `inside` are those of the test set and of the population.
    """
    from quapy.method._bayesian import BayesianKDEy
    from quapy.method.confidence import PQ, BayesianCC

    K = P.shape[1]
    methods: dict[str, tuple[Any, np.ndarray]] = {"BayesianCC": (BayesianCC, h)}
    methods |= {"BayesianKDEy": (BayesianKDEy, P)}
    if K == 2:
        methods["PQ"] = PQ, P
    found = {}
    for name, (kind, seen) in methods.items():
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            method = kind(_Given(K), fit_classifier=False, val_split=None)
            method.aggregation_fit(seen[audited], s[audited])
            method.aggregate(seen[inside])
        draws = {
            "BayesianCC": lambda m: m.get_prevalence_samples(),
            "BayesianKDEy": lambda m: m.prevalence_samples,
            "PQ": lambda m: m.prev_distribution,
        }[name](method)
        draws = np.asarray(draws, dtype=float)
        found[name] = draws.mean(axis=0), *np.quantile(draws, [0.025, 0.975], axis=0)
    return found
