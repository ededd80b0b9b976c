"""Everything that can be wrong with the input, as one small tree.

::

    TrueupError(ValueError)
    ├── DataError        a table, a column, a count or a value
    │   ├── ClassError   the classes of the two tables do not fit together
    │   └── FileError    a file that cannot be read or written
    ├── OptionError      an argument: method, design, prior, interval, draws
    └── EstimateError    the data are sound, but this method has no answer for them
"""

import importlib
import re
from typing import Any

NUMPY = r"\bnp\.(?:float|int|uint|bool|str)\w*\(([^()]*)\)"
"""How NumPy writes its scalars, which is no news to the user: np.float64(95.0) for 95.0."""


class TrueupError(ValueError):
    """A problem with the input, in words: what must hold, what we got, and one hint.

    Examples
    --------
    >>> print(TrueupError("`interval` must lie between 0 and 1; got 95.", hint="write 0.95."))
    `interval` must lie between 0 and 1; got 95.
    <BLANKLINE>
    Hint: write 0.95.
    >>> print(TrueupError("`interval` must lie between 0 and 1; got np.float64(95.0)."))
    `interval` must lie between 0 and 1; got 95.0.
    """

    def __init__(self, problem: str, *, hint: str | None = None) -> None:
        self.problem, self.hint = problem, hint
        words = problem if hint is None else f"{problem}\n\nHint: {hint}"
        super().__init__(re.sub(NUMPY, r"\1", words))


class DataError(TrueupError):
    """A table, a column, a count or a value is not what it must be."""


class ClassError(DataError):
    """The classes of the two tables do not fit together."""


class FileError(DataError):
    """A file cannot be read or written."""


class OptionError(TrueupError):
    """An argument has a value that trueup does not know or cannot use."""


class EstimateError(TrueupError):
    """The data are sound, but the chosen method has no answer for them."""


class TrueupWarning(UserWarning):
    """Something that the user should know before publishing; also in ``info["warnings"]``."""


def optional(package: str, words: str, hint: str, error: type[TrueupError] = OptionError) -> Any:
    """Import a package that is not always there, or say in words what needs it."""
    try:
        return importlib.import_module(package)  # a package of others, never one of ours
    except ImportError:
        raise error(words, hint=hint) from None
