"""Counts and totals per group of any size: additive, permissible, and partially pooled.

Read in this order: `draw` (what there is), `base_rates`, `near` and `proposal` (what a group's
predictions say), `allocate` (its units), `layer` (rates that differ), `conditioned` (groups add up
to the whole), `concentration` (what they share).
"""

from trueup.aggregate.groups.base_rates import base_rates
from trueup.aggregate.groups.draw import GroupAnswer, Whole, correct_groups
from trueup.aggregate.groups.values import mean_values

__all__ = ["GroupAnswer", "Whole", "base_rates", "correct_groups", "mean_values"]
