"""DuckDB relations as tables of units, and results as relations."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from trueup.errors import DataError
from trueup.numerics.arrays import Progress
from trueup.read.duck import DuckTable, first_line, identifier, literal
from trueup.read.native import local_frame
from trueup.read.table import Rows


class RelationTable(DuckTable):
    """A DuckDB relation as a table of units; queries run on the user's own connection."""

    def __init__(self, relation: Any, role: str) -> None:
        self.name = role
        self._relation = relation

    def plan(self, sql: str) -> Any:
        """Return the lazy relation of a query on this one."""
        return self._relation.query("trueup_relation", sql)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        import duckdb

        try:
            yield
        except duckdb.Error as error:
            raise DataError(
                f"{self.name} must be readable; DuckDB says: {first_line(error)}"
            ) from None

    def _query(self, sql: str, progress: Progress | None = None) -> Rows:
        with self._reading():
            return self.plan(sql).fetchall()  # type: ignore[no-any-return]

    def order(self, column: str) -> list[Hashable] | None:
        """Return the values of an ENUM in their order."""
        kind = dict(zip(self._relation.columns, self._relation.types, strict=True))[column]
        return list(kind.children[0][1]) if kind.id == "enum" else None

    def _types(self) -> dict[str, str]:
        with self._reading():
            relation = self._relation
            return dict(zip(relation.columns, map(str, relation.types), strict=True))

    def _source(self, columns: Sequence[str], value: str | None) -> str:
        return "trueup_relation"

    @property
    def native(self) -> Relations:
        """The function that makes relations on the same connection."""
        return Relations(self._relation)


class Relations:
    """Makes a relation from columns, on the connection of another; unpickled, a local dataframe."""

    def __init__(self, relation: Any) -> None:
        self._relation = relation

    def __call__(self, columns: dict[str, list[Any]], blank: tuple[str, str] | None = None) -> Any:
        """Make a relation."""
        names = ", ".join(map(identifier, columns))
        values = ", ".join(
            f"({', '.join(map(literal, row))})" for row in zip(*columns.values(), strict=True)
        )
        sql = f"SELECT * FROM (VALUES {values}) AS result({names})"
        return self._relation.query("trueup_relation", sql)

    def __reduce__(self) -> Any:  # a connection stays in its process
        return partial, (local_frame,)

    def __deepcopy__(self, memo: object) -> Relations:
        return self
