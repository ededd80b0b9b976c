"""What speaks against an answer: evidence in the test set, and the warnings that users read."""

from typing import NamedTuple


class Evidence(NamedTuple):
    """The p-value, adjusted for the number of comparisons, and what was found, in words."""

    p_value: float
    words: str
