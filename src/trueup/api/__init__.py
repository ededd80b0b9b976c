"""The two functions that users call: `correct` for tables, `correct_counts` for numbers."""

from trueup.api.numbers import correct_counts
from trueup.api.tables import correct

__all__ = ["correct", "correct_counts"]
