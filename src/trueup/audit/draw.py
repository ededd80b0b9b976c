"""The audit sample to label: `draw`.

The design is in the columns of the work list, so that `correct` needs no `design`: which units had
what probability, out of how many. They survive a spreadsheet.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from trueup.audit.allocate import BAND, Label, whole
from trueup.audit.lots import by_size, in_strata, sizes_of, warn_of_few
from trueup.audit.score_bands import (
    bands_for,
    neyman,
    refuse_constant,
    score_bands,
    why,
    with_scores,
)
from trueup.audit.work_list import Design, own_columns, stratum_name, units_mark
from trueup.count.names import check_given, names
from trueup.errors import DataError, OptionError
from trueup.numerics.arrays import fresh_seed
from trueup.read.columns import check_value_kind, class_kind, group_kind, plain, require_columns
from trueup.read.table import Table

MOST_SHOWN = 30
"""Columns that a work list shows without being asked."""


@dataclass(frozen=True)
class Bands:
    """Bands of a value: the name of the band that each fine band is in."""

    value: str
    names: Mapping[Any, str]
    phase: float  # where the fine bands begin


def draw(
    predictions: Any,
    n: int | Mapping[Any, int],
    *,
    id: str,
    within: str | Sequence[str] | None = None,
    by_prediction: bool = False,
    size: str | None = None,
    score: str | Sequence[str] | None = None,
    classes: Sequence[Hashable] | None = None,
    allocation: Literal["proportional", "equal"] | None = None,
    predicted: str = "predicted",
    true: str = "true",
    show: str | Sequence[str] | None = None,
    seed: int | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    text: str | Sequence[str] | None = None,
) -> Any:
    """Draw the units to label, as a table with an empty column for their true class.

    Fill in that column and pass the table to `correct` as the test set: the table records how the
    units were drawn. The same seed draws the same units from a file or any kind of table.

    Parameters
    ----------
    predictions : path or dataframe
        The population, as for `correct`.
    n : int or mapping
        How many units; or how many per stratum, by the label of the stratum (a tuple of labels,
        the predicted class first, where there are several columns).
    id : str
        The column that names each unit once.
    within : str or sequence of str, optional
        Draw within each combination of these columns.
    by_prediction : bool
        Draw within predicted classes; with `within`, within the combinations of both.
    size : str, optional
        Draw with probability proportional to this column, such as turnover; units so large that
        their probability would be above 1 are all taken. Not with `within` or `by_prediction`.
    score : str or sequence of str, optional
        Column of the classifier's confidence in the predicted class; or one for each of `classes`.
        Units are drawn within predicted classes and bands of the score, more of them where the
        scores make errors likely. A column `why` says so of each unit. `correct` then uses the
        score too. Not with `within` or `size`.
    classes : sequence, optional
        With several columns of scores: the classes that they belong to.
    allocation : {"proportional", "equal"}, optional
        How n is spread over strata, with at least 2 in each. By default "equal" over predicted
        classes, by Neyman's rule over bands of the score, and "proportional" to the number of
        units otherwise.
    predicted, true : str
        The column of the predicted class, and the name of the column to fill in.
    show : str or sequence of str, optional
        Further columns that the auditor needs to see; by default all, if there are up to 30.
    seed : int, optional
        Without one a seed is chosen; it is in the work list.
    decimal, encoding, text : optional
        How files are written, as for `correct`.

    Returns
    -------
    table
        Of the same kind as `predictions`; for files, a pandas, Polars or PyArrow table.

    Examples
    --------
    >>> import pyarrow as pa
    >>> shops = pa.table({"id": [1, 2, 3, 4], "predicted": ["a", "a", "b", "b"]})
    >>> draw(shops, 2, id="id", seed=1).column("probability").to_pylist()
    [0.5, 0.5]
    """
    check_given(locals() | {"id": id or ""})
    from trueup.read import open_table
    from trueup.read.formats.written import written

    population = open_table(written(predictions, decimal, encoding, text), "predictions")
    rows = draw_rows(
        population, n, id=id, within=within, by_prediction=by_prediction, size=size, score=score,
        classes=classes, allocation=allocation, predicted=predicted, true=true, show=show,
        seed=seed,
    )  # fmt: skip
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    return population.native(columns, blank=(true, predicted))


def draw_rows(
    population: Table,
    n: int | Mapping[Any, int],
    *,
    id: str,
    within: str | Sequence[str] | None = None,
    by_prediction: bool = False,
    size: str | None = None,
    score: str | Sequence[str] | None = None,
    classes: Sequence[Hashable] | None = None,
    allocation: str | None = None,
    predicted: str = "predicted",
    true: str = "true",
    show: str | Sequence[str] | None = None,
    seed: int | None = None,
    labels: Mapping[Hashable, Hashable] | None = None,
    bands: Bands | None = None,
) -> list[dict[str, Any]]:
    """Return the work list as rows.

    `labels` are the true classes of units of an earlier audit, by id: they come first and count as
    drawn. With `bands` the strata are predicted classes and bands of a value; `n` names them.
    """
    inside, scores = names("within", within), names("score", score)
    first = [id, predicted, *inside, *([size] if size else []), *scores]
    kinds = require_columns(population, first)
    class_kind(population, predicted, kinds)
    for column in inside:
        group_kind(population, column, kinds)
    if allocation not in (None, "proportional", "equal"):
        raise OptionError(
            f'`allocation` must be "proportional" or "equal"; got {allocation!r}.',
            hint="or give n as a mapping from each stratum to its number of units.",
        )
    seed = fresh_seed() if seed is None else seed
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 2**63:
        raise OptionError(f"`seed` must be a whole number from 0 to 2**63; got {seed!r}.")
    if common := {id, predicted} & {*inside}:
        raise OptionError(
            f"`within` must name columns that divide the units otherwise; got {common.pop()!r}.",
            hint="`by_prediction` draws within predicted classes; an id has one unit in each.",
        )
    if scores and (inside or size or isinstance(n, Mapping)):
        raise OptionError(
            "`score` cannot be combined with `within` or `size`, nor with `n` per stratum.",
            hint="draw by score, or within columns: one of them.",
        )
    known, by_prediction = dict(labels or {}), by_prediction or bool(scores)
    keys = [*([predicted] if by_prediction else []), *inside]
    reasons: dict[str, str] = {}
    if size is not None:
        if keys or isinstance(n, Mapping):
            raise OptionError(
                "`size` cannot be combined with strata; got both.",
                hint="draw by size, or within strata of size classes.",
            )
        check_value_kind(population, size, kinds[size])
        chosen, design = by_size(population, whole(n), id, predicted, size, seed)
    else:
        table = population
        if bands is not None:
            table = population.banded(BAND, bands.value, bands.phase)
            keys = [predicted, BAND]
        if scores:
            table, keys = with_scores(population, predicted, scores, classes), [predicted, BAND]
        every = [*dict.fromkeys([*keys, predicted])]
        tally = table.tally(every, None)
        most = bands_for(n, tally) if scores else 0
        scored = score_bands(tally, most) if scores else None
        of: dict[Label, Label] = {}
        units: dict[Label, int] = {}
        for key, count in zip(tally.keys, tally.units, strict=True):
            if bands is not None and key[1] not in bands.names:
                continue  # units without a usable value
            key = label = key[: len(keys)]
            if bands is not None:
                label = (key[0], bands.names[key[1]])
            if scored is not None:
                label = (key[0], scored.names[key])
            of[key] = label
            units[label] = units.get(label, 0) + int(count)
        equal = allocation == "equal" or (allocation is None and by_prediction and not inside)
        shown_keys = [key.replace(BAND, "score" if scores else "value") for key in keys]
        sizes = sizes_of(n, units, shown_keys, equal)
        if labels is None:  # those of a plan add to what was audited
            warn_of_few(sizes, units, shown_keys)
        if scored is not None:
            refuse_constant(units, population, scores)
            sizes = neyman(n, units, scored) if allocation is None else sizes
            reasons = {
                stratum_name(shown_keys, label): why(label, units[label], m, scored)
                for label, m in sizes.items()
            }
        chosen = in_strata(table, sizes, units, id, (keys, shown_keys), seed, known, of)
        design = Design(
            id, int(tally.units.sum()), inside, by_prediction,
            bands=bands.value if bands else None, phase=bands.phase if bands else 0.0,
            score=scores, score_bands=most,
            classes=tuple(map(plain, classes or ())),
            predictions=units_mark(tally, every.index(predicted)),
        )  # fmt: skip
    design = replace(design, n=len(chosen), seed=seed)
    shown = _shown(kinds, show, first, true)
    found = {
        plain(row[0]): [*map(plain, row[1:])]
        for row in population.rows([id, *shown], id=id, among=list(chosen))
    }
    if len(found) < len(chosen):
        raise DataError(f"Column {id!r} of {population.name} must not change while it is read.")
    *names_of, reason = own_columns({id, true, *shown})
    rows = []
    for i in sorted(chosen, key=lambda i: (i not in known, str(chosen[i][0]))):
        stratum, count, probability = chosen[i]
        own = (design.text, stratum, count, probability, seed)
        values = dict(zip(shown, found[i], strict=True))
        row = {id: i} | values | {true: known.get(i)}
        row |= {reason: reasons[stratum]} if reasons else {}
        rows.append(row | dict(zip(names_of, own, strict=True)))
    return rows


def _shown(
    kinds: Mapping[str, str], show: str | Sequence[str] | None, first: Iterable[str], true: str
) -> list[str]:
    """Return the columns of the work list between the id and the empty one, each once."""
    order = [*first]
    if show is not None:
        wanted = names("show", show)
        if absent := [column for column in wanted if column not in kinds]:
            raise DataError(
                f"`show` must name columns of the predictions; got {absent}.",
                hint=f"there are {list(kinds)[:MOST_SHOWN]}.",
            )
        order += wanted
    elif len(kinds) <= MOST_SHOWN:
        order += [column for column, kind in kinds.items() if kind != "other"]
    return [column for column in dict.fromkeys(order[1:]) if column not in (order[0], true)]
