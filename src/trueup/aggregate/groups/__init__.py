"""Counts and totals per group of any size: additive, permissible, and partially pooled.

Read in this order: `draw` (what there is), `allocate` (units to true classes), `values` (totals),
`concentration` (what groups share).
"""

from trueup.aggregate.groups.base_rates import base_rates
from trueup.aggregate.groups.draw import (
    GroupAnswer,
    correct_groups,
    draw_groups,
    mean_values,
)

__all__ = [
    "GroupAnswer",
    "base_rates",
    "correct_groups",
    "draw_groups",
    "mean_values",
]
