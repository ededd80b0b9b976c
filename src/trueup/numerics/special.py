"""SciPy's special functions, loaded when the first of them is needed.

Loading them takes 0.2 to 0.3 s, more than most answers do, and the usual answer needs none. So
``from trueup.numerics import special``, then ``special.ndtr(x)``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scipy.special import *  # noqa: F403


def __getattr__(name: str) -> Any:
    globals()[name] = getattr(import_module("scipy.special"), name)
    return globals()[name]
