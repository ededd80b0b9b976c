"""Drawing by lot: every unit has a number that its id and the seed decide, and the lowest win."""

import hashlib
import heapq
from collections.abc import Hashable, Sequence

from trueup.read.columns import plain, refuse_missing
from trueup.read.table import BySize, Lots, Table


def lot(seed: int, id: object, probability: float = 1.0) -> float:
    """Return the lot of a unit: the n units with the lowest are a random draw.

    A number from 0 to 1 that the seed and the id decide, so that every engine draws the same units
    in whatever order it reads them: 53 bits of the MD5 of "seed:id". With a `probability` below 1,
    Rosén's Pareto order sampling (1997): u/(1 − u) · (1 − π)/π; π = 1 is drawn for certain.

    Examples
    --------
    >>> round(lot(7, 12), 6), lot(7, 12, 0.5) < lot(7, 12, 0.4)
    (0.817729, True)
    """
    digest = hashlib.md5(f"{seed}:{id}".encode(), usedforsecurity=False).digest()
    u = ((int.from_bytes(digest[8:], "little") >> 11) + 0.5) / 2.0**53
    return u if probability == 1.0 else u / (1 - u) * (1 - probability) / probability


def lowest(
    table: Table, id: str, keys: Sequence[str], most: int, seed: int, by: BySize | None
) -> Lots:
    """Draw lots of a table's rows; of one elsewhere only the id, keys and size are fetched."""
    found: dict[tuple[Hashable, ...], list[tuple[float, int, Hashable]]] = {}
    nulls, (size, rate) = 0, by or (None, 1.0)
    for i, row in enumerate(table.rows([id, *keys], value=size)):
        name, *label = map(plain, row)
        y = 1.0 if size is None else float(label.pop())
        if name is None:
            nulls += 1
        elif y > 0:
            p = 1.0 if size is None else min(rate * y, 1.0)
            rank = 0.0 if size is not None and p == 1.0 else lot(seed, name, p)
            heap, here = found.setdefault(tuple(label), []), (-rank, -i, name)
            if len(heap) < most:
                heapq.heappush(heap, here)
            elif here > heap[0]:
                heapq.heapreplace(heap, here)
    if nulls:
        refuse_missing(table, id, nulls, needed=True)
    return {k: [name for *_, name in sorted(heap, reverse=True)] for k, heap in found.items()}
