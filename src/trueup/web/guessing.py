"""Which column of the two files is probably which, by name and kind."""

from collections.abc import Mapping, Sequence
from typing import Any

NAMES = {
    "predicted": "predicted prediction pred predicted_class class_predicted y_pred y_hat s_hat map "
    "map_class mapped model class label",
    "true": "true truth true_class actual reference ref audited gold y_true observed label class",
    "value": "value turnover amount area revenue sales total size y",
    "id": "id unit unit_id uid key company company_id",
}
Table = Mapping[str, Any]


def guess(predictions: Table, test_set: Table) -> dict[str, str | None]:
    """Guess which column is which; the user has the last word."""
    population = {c["name"]: c["kind"] for c in predictions["columns"]}
    audited = {c["name"]: c["kind"] for c in test_set["columns"]}
    both = [name for name in population if name in audited]
    chosen: dict[str, str | None] = {}
    chosen["predicted"] = _named("predicted", both) or _named("predicted", list(population))
    left = [name for name in audited if name != chosen["predicted"]]
    only = [name for name in left if name not in population]
    chosen["true"] = _named("true", only) or _named("true", left) or (only[0] if only else None)
    taken = {chosen["predicted"], chosen["true"]}
    numbers = [n for n, k in population.items() if k in ("number", "integer") and n not in taken]
    chosen["value"] = _named("value", numbers) or next(
        (name for name in numbers if population[name] == "number"), None
    )
    taken.add(chosen["value"])
    ids = [name for name in both if name not in taken and population[name] in ("integer", "text")]
    chosen["id"] = _named("id", ids) or next(
        (name for name in ids if name.lower().endswith(("id", "_nr", "number"))), None
    )
    return chosen


def _named(role: str, columns: Sequence[str]) -> str | None:
    """The column whose name comes first in the list of usual names."""
    plain = {name.lower().strip().replace(" ", "_"): name for name in reversed(columns)}
    return next((plain[name] for name in NAMES[role].split() if name in plain), None)
