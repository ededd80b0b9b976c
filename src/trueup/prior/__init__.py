"""Priors of the error rates P and the base rates β: conjugate ones, and any other."""

from trueup.prior.dirichlet import NAMED_PRIORS, Concentrations, Dirichlet, jeffreys, perks, uniform
from trueup.prior.elicited import diagonal, from_counts, from_range, per_class
from trueup.prior.elicited import resolve as resolve_prior
from trueup.prior.own import log_density
from trueup.prior.regression import Regression, regression
from trueup.prior.tilted import hierarchical, logistic_normal, ordered, robust, symmetric, truncated

__all__ = [
    "NAMED_PRIORS",
    "Concentrations",
    "Dirichlet",
    "Regression",
    "diagonal",
    "from_counts",
    "from_range",
    "hierarchical",
    "jeffreys",
    "log_density",
    "logistic_normal",
    "ordered",
    "per_class",
    "perks",
    "regression",
    "resolve_prior",
    "robust",
    "symmetric",
    "truncated",
    "uniform",
]
