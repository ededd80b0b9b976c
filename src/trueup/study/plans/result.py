"""What a plan says, in rows and in words."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from trueup.errors import OptionError
from trueup.text import aligned, quoted, short

NEXT = ("predicted", "values", "chosen", "units", "ids")
"""What `next` says of units besides their stratum."""


@dataclass(frozen=True, eq=False)
class Plan:
    """What to label; `print` it, or see ``rows()``, ``curve``, ``next`` and ``plot()``.

    Attributes
    ----------
    interest : hashable or list
        The class whose precision is planned, or several.
    target : float or None
        The half-width to reach.
    curve : list of dict
        allocation, n, half_width and its Monte Carlo error.
    next : list of dict
        Which units to audit next: predicted class, columns of the stratum, band of the value, how
        chosen, how many, their ids.
    info : dict
        What was assumed or found: design, interval, cost per label, seed, notes.
    """

    classes: tuple[Hashable, ...]
    interest: Any
    target: float | None
    curve: list[dict[str, Any]]
    next: list[dict[str, Any]]
    info: dict[str, Any]
    _rows: list[dict[str, Any]] = field(repr=False)
    _next: Any = field(repr=False, default=None)

    def work_list(self) -> Any:
        """Return the units to audit next as a table to label: a test set for `correct`.

        The pilot's units come first, with their labels. Needs `next` and `id`.
        """
        rows = self.work_list_rows()
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        return self._next.native(columns)

    def work_list_rows(self) -> list[dict[str, Any]]:
        """Return the work list as a dict per unit."""
        if self._next is None or self._next.work_list is None:
            raise OptionError(
                "A work list needs `next`, the predictions and the column `id` that names units."
            )
        return [dict(row) for row in self._next.work_list]

    def rows(self) -> list[dict[str, Any]]:
        """Return a dict per allocation: n, more, units per predicted class, half-width and cost."""
        return [dict(row) for row in self._rows]

    @property
    def best(self) -> dict[str, Any] | None:
        """The allocation that needs the fewest units; None when none is enough."""
        reached = [row for row in self._rows if row["n"] is not None]
        return min(reached, key=lambda row: int(row["n"]), default=None)

    def plot(self) -> Any:
        """Draw precision against the number of test units (needs the extra ``plot``)."""
        what = f"{'total' if self.info['totals'] else 'count'} of {self._wanted[0]!r}"
        return import_module("trueup.present.plots.studies").precision_chart(
            self.curve, self.target, what, self.info["interval"]
        )

    @property
    def _wanted(self) -> list[Hashable]:
        """The classes of interest; a goal (`target`) is for the first of them."""
        return self.interest if isinstance(self.interest, list) else [self.interest]

    def __str__(self) -> str:
        info, lines = self.info, []
        what = "total" if info["totals"] else "count"
        if self.target is not None:
            certain = f"; {info['certainty']:,} of the largest units for certain"
            lines += [
                f"To know the {what} of {self._wanted[0]!r} (about {short(info['truth'])}) to "
                f"within ± {short(self.target)} with {info['interval']:.0%} intervals"
                f"{certain if info['certainty'] else ''}:",
                "",
            ]
            kind = "s" if info["design"] == "by_class" else "ŝ"
            header = ["allocation", "test units", "of which new"]
            header += [f"{kind}={c}" for c in self.classes]
            header += ["half-width", "CV", "cost"]
            table = [header]
            for row in self._rows:
                if row["n"] is None:
                    cells = ["not enough", "–", *["–"] * len(self.classes)]
                    end = [f"≥ {short(row['half_width'])}", f"≥ {row['cv']:.1%}", "–"]
                else:
                    units = row["per_class"] or [None] * len(self.classes)
                    cells = [f"{row['n']:,}", f"{row['more']:,}"]
                    cells += ["–" if k is None else f"{k:,}" for k in units]
                    end = [
                        short(row["half_width"])
                        + ("" if row["error"] is None else f" ± {short(row['error'])}"),
                        f"{row['cv']:.1%}",
                        f"{row['cost']:,.0f}",
                    ]
                table.append([row["allocation"], *cells, *end])
            lines += aligned(table)
            lines += ["", "Precision against the number of test units:"]
            names = list(dict.fromkeys(point["allocation"] for point in self.curve))
            table = [["test units", *names]]
            for n in sorted({point["n"] for point in self.curve if point["grid"]}):
                at = {p["allocation"]: p["half_width"] for p in self.curve if p["n"] == n}
                table.append([f"{n:,}", *(short(at[k]) if k in at else "–" for k in names)])
            lines += aligned(table)
        if self.next:
            lines += [""] if lines else []
            each = f" in each {' and '.join(info['by'])}" if info["by"] else ""
            lines.append(f"Audit next, for the {what} of {quoted(self._wanted)}{each}:")
            for row in self.next:
                ids = "" if row["ids"] is None else ": " + ", ".join(map(str, row["ids"][:12]))
                ids += ", …" if row["ids"] is not None and len(row["ids"]) > 12 else ""
                values = "" if row["values"] is None else row["values"].split(": ")[-1]
                band = f", values {values}" if values else ""
                inside = "".join(f", {k}={x}" for k, x in row.items() if k not in NEXT)
                lines.append(
                    f"  {row['units']:>4} predicted {row['predicted']!r}{inside}{band}, "
                    f"{row['chosen']}{ids}"
                )
        for note in info["notes"]:
            lines += ["", note]
        return "\n".join(lines)
