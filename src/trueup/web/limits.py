"""What one request may ask for, and how the page says that it may not."""

import re
from collections.abc import AsyncIterator
from typing import Any

from trueup.errors import DataError, FileError, OptionError, TrueupError

UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
LONGEST = 600
APOLOGY: dict[str, Any] = {
    "error": "Something went wrong here that is not your fault. We are sorry.",
    "hint": "the window in which `trueup serve` runs says more; please report it.",
    "field": None,
}


class Limits:
    """The limits that no flag changes; the page is for a few people, not for a crowd."""

    body = 8_000_000  # bytes of numbers: a matrix of 500 classes fits
    cells = 40_000_000  # draws × K²: some 2 GB in a worker
    label = 300  # characters of a class name
    sessions = 16
    idle = 3600.0  # seconds after which an unused session goes, with its files
    workers = 4  # computations at once
    waiting = 16  # computations that may wait for a place
    seconds = 3600.0  # of one computation


class BusyError(TrueupError):
    """More people or computations than the page takes on."""

    status = 503


class SizeError(DataError):
    """More bytes than allowed."""

    status = 413


class SessionError(DataError):
    """A token that no open session has."""

    status = 410


def problem(error: TrueupError) -> dict[str, Any]:
    """Return the parts of a message; its first word in backticks is the field it belongs to.

    Examples
    --------
    >>> problem(TrueupError("`seed` must be whole; got 1.5.", hint="write 1."))
    {'error': '`seed` must be whole; got 1.5.', 'hint': 'write 1.', 'field': 'seed'}
    """
    told = re.sub(r" \(--[^()]*\)", "", str(error))  # the page has no flags
    words, _, hint = told.partition("\n\nHint: ")
    named = re.search(r"`(\w+)`", words)
    field = named[1] if named and not isinstance(error, FileError) else None
    return {"error": _cut(words), "hint": _cut(hint) or None, "field": field}


def _cut(words: str) -> str:
    return words if len(words) <= LONGEST else words[: LONGEST - 1] + "…"


def parse_size(text: str) -> int:
    """Read a number of bytes.

    Examples
    --------
    >>> parse_size("200MB"), parse_size("1.5 gb"), parse_size("1000")
    (200000000, 1500000000, 1000)
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmg]?)b?\s*", text.lower())
    size = int(float(found[1]) * UNITS[found[2]]) if found else 0
    if size < 1:
        raise OptionError(
            f"A size must be a number of bytes above 0; got {text!r}.", hint="write 200MB or 2GB."
        )
    return size


def size_words(size: int) -> str:
    """Write a number of bytes.

    Examples
    --------
    >>> size_words(200_000_000), size_words(1_500)
    ('200 MB', '1.5 kB')
    """
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size} bytes"


async def limited(
    chunks: AsyncIterator[bytes], declared: str | None, most: int, hint: str
) -> AsyncIterator[bytes]:
    """Pass a body on, and stop as soon as it is, or says that it will be, too large."""
    got = int(declared) if declared and declared.isdigit() else 0
    if got <= most:
        got = 0
        async for chunk in chunks:
            got += len(chunk)
            if got > most:
                break
            yield chunk
    if got > most:
        raise SizeError(f"This may be at most {size_words(most)}; got more.", hint=hint)
