"""SciPy's special functions, loaded when the first of them is needed.

Loading them takes 0.2 to 0.3 s, more than most answers do, and the usual answer needs none. So
``from trueup.numerics import special``, then ``special.ndtr(x)``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scipy.special import (
        betainc,
        betaincinv,
        betaln,
        digamma,
        erfcx,
        expit,
        gammaln,
        log_ndtr,
        ndtr,
        ndtri,
        ndtri_exp,
        polygamma,
        stdtrit,
        xlogy,
    )

__all__ = [
    "betainc",
    "betaincinv",
    "betaln",
    "digamma",
    "erfcx",
    "expit",
    "gammaln",
    "log_ndtr",
    "ndtr",
    "ndtri",
    "ndtri_exp",
    "polygamma",
    "stdtrit",
    "xlogy",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'trueup.numerics.special' has no attribute {name!r}")
    globals()[name] = getattr(import_module("scipy.special"), name)
    return globals()[name]
