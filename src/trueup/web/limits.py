"""What one request may ask for, and the sizes that people write: ``200MB``."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

from trueup.errors import DataError, OptionError

__all__ = ["Limits", "SizeError", "limited", "parse_size", "size_words"]

UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}


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


class SizeError(DataError):
    """More bytes came than may."""


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
            f"A size must be a number of bytes above 0; {text!r} came.", hint="write 200MB or 2GB."
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
    """Pass a body on, and stop it as soon as it is, or says that it will be, too large."""
    got = int(declared) if declared and declared.isdigit() else 0
    if got <= most:
        got = 0
        async for chunk in chunks:
            got += len(chunk)
            if got > most:
                break
            yield chunk
    if got > most:
        raise SizeError(f"This may be at most {size_words(most)}; more came.", hint=hint)
