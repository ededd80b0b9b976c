"""Draws of P and β from posteriors that know v̂: exact, by rejection, or by chains.

Read in this order: `api` (what there is), `gammas` (the walk, with its equations), `chain` (when it
stops).
"""

from trueup.draws.samplers.api import draw_constrained, draw_full
from trueup.draws.samplers.draws import Draws
from trueup.numerics.diagnostics import ess, rhat

__all__ = ["Draws", "draw_constrained", "draw_full", "ess", "rhat"]
