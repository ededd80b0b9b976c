"""trueup: totals you can defend, from classes a model predicted.

Names load what they need on first use, so that ``import trueup`` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trueup import prior
    from trueup.api import correct, correct_counts
    from trueup.audit.draw import draw
    from trueup.errors import (
        ClassError,
        DataError,
        EstimateError,
        FileError,
        OptionError,
        TrueupError,
        TrueupWarning,
    )
    from trueup.estimate.result import Estimate
    from trueup.prior import Dirichlet
    from trueup.simulation import simulate
    from trueup.study.check import check
    from trueup.study.compare import compare
    from trueup.study.plan import plan

__version__ = "0.1.0"

_HOME = {
    "ClassError": "errors",
    "DataError": "errors",
    "Dirichlet": "prior",
    "Estimate": "estimate.result",
    "EstimateError": "errors",
    "FileError": "errors",
    "OptionError": "errors",
    "TrueupError": "errors",
    "TrueupWarning": "errors",
    "check": "study.check",
    "compare": "study.compare",
    "correct": "api",
    "correct_counts": "api",
    "draw": "audit.draw",
    "plan": "study.plan",
    "prior": "",
    "simulate": "simulation",
}

__all__ = [
    "ClassError",
    "DataError",
    "Dirichlet",
    "Estimate",
    "EstimateError",
    "FileError",
    "OptionError",
    "TrueupError",
    "TrueupWarning",
    "__version__",
    "check",
    "compare",
    "correct",
    "correct_counts",
    "draw",
    "plan",
    "prior",
    "simulate",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'trueup' has no attribute {name!r}")
    home = _HOME[name]
    module = import_module(f"trueup.{home or name}")
    value = getattr(module, name) if home else module
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
