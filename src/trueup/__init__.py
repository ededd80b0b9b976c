"""trueup: totals you can defend, from classes a model predicted.

Names load what they need on first use, so that ``import trueup`` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trueup import prior as prior
    from trueup.api import correct as correct
    from trueup.api import correct_counts as correct_counts
    from trueup.audit.draw import draw as draw
    from trueup.errors import ClassError as ClassError
    from trueup.errors import DataError as DataError
    from trueup.errors import EstimateError as EstimateError
    from trueup.errors import FileError as FileError
    from trueup.errors import OptionError as OptionError
    from trueup.errors import TrueupError as TrueupError
    from trueup.errors import TrueupWarning as TrueupWarning
    from trueup.estimate.result import Estimate as Estimate
    from trueup.present.saved import load as load
    from trueup.prior import Dirichlet as Dirichlet
    from trueup.simulation import simulate as simulate
    from trueup.study.check import check as check
    from trueup.study.compare import compare as compare
    from trueup.study.plan import plan as plan

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
    "load": "present.saved",
    "plan": "study.plan",
    "prior": "",
    "simulate": "simulation",
}

__all__ = sorted([*_HOME, "__version__"])


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'trueup' has no attribute {name!r}")
    home = _HOME[name]
    module = import_module(f"trueup.{home or name}")
    value = getattr(module, name) if home else module
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
