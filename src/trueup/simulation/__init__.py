"""The classification error model, many replications at once: read `api` first."""

from trueup.simulation.api import Simulation, simulate
from trueup.simulation.population import largest_remainder, lognormal

__all__ = ["Simulation", "largest_remainder", "lognormal", "simulate"]
