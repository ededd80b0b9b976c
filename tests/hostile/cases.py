"""Hostile cases: tables, matrices and numbers that nobody would write, made from a seed."""

from __future__ import annotations

import csv
import io
import random
from pathlib import Path

LABELS = [
    "a", "b", "c", "A", " a", "a ", "b\t", "é", "e\u0301", "日本語", "🏪", "a,b", 'a"b', "a;b",
    "a|b", "a\nb", "a\r\nb", "'", '"', "", " ", "NULL", "null", "None", "nan", "NaN", "NA", "inf",
    "-inf", "0", "1", "2", "01", "1.0", "1e5", "-1", "+1", "true", "false", "True", "2020-01-01",
    "=1+1", "x" * 5000, "\ufeff", "\u202eabc", "\x00", "\x1b[31m", "a\\", "%s", "{}", "../x",
    "0x10",
    "9007199254740993", "99999999999999999999", "1_000", "١", "½",
]  # fmt: skip
VALUES = [
    "0", "1", "2.5", "-3", "1e3", "1e308", "-1e308", "1e309", "5e-324", "1e-300",
    "9007199254740993", "0.1", "1,5", "", "nan", "inf", "-inf", "x", "1_000", "0x10", " 7 ", "1e",
    "--1", "1.2.3", "123456789012345678901234567890", "٣", "+4", ".5", "5.", "1E+2", "true",
]  # fmt: skip
FEW = ["a", "b", "c"]
PLAIN = ["1", "2", "3.5", "10", "0", "0.25"]


def chance(rng: random.Random, p: float) -> bool:
    return rng.random() < p


def logical_rows(rng: random.Random) -> tuple[list[tuple[str, str]], list[tuple[str, str, str]]]:
    """Rows of both tables as (predicted, y) and (predicted, true, y); some with hostile cells."""
    classes = (
        rng.sample(LABELS, rng.randint(2, 5)) if chance(rng, 0.5) else FEW[: rng.randint(2, 3)]
    )
    odd = rng.choice([0.0, 0.0, 0.02, 0.3])

    def label() -> str:
        return rng.choice(LABELS) if chance(rng, odd / 4) else rng.choice(classes)

    def number() -> str:
        return rng.choice(VALUES) if chance(rng, odd) else rng.choice(PLAIN)

    rows = [(label(), number()) for _ in range(rng.choice([0, 1, 5, 40, 200]))]
    test = [(label(), label(), number()) for _ in range(rng.choice([0, 1, 5, 20, 60]))]
    if chance(rng, 0.7):  # every class is seen, or most cases would be refused for that alone
        rows += [(c, "1") for c in classes for _ in range(30)]
        test += [(c, c, "1") for c in classes for _ in range(2)]
        test += [(c, d, "1") for c in classes for d in classes]
    return rows, test


def csv_bytes(rows: list[tuple[str, ...]], header: list[str], rng: random.Random) -> bytes:
    """Write a table as CSV in one of many dialects."""
    text = io.StringIO()
    writer = csv.writer(
        text,
        delimiter=rng.choice([",", ",", ",", ";", "\t", "|"]),
        lineterminator=rng.choice(["\n", "\n", "\r\n"]),
        quoting=rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    )
    writer.writerow(header)
    writer.writerows(rows)
    encoding = rng.choice(["utf-8"] * 6 + ["utf-8-sig", "utf-16", "latin-1"])
    return text.getvalue().encode(encoding, errors="replace")


def damaged(content: bytes, rng: random.Random) -> bytes:
    """Cut, flip, repeat or insert bytes."""
    data = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(data) + 1)
        kind = rng.randrange(5)
        if kind == 0:
            del data[at:]
        elif kind == 1 and data:
            data[at % len(data)] = rng.randrange(256)
        elif kind == 2:
            data[at:at] = bytes(rng.choice([b"\x00", b'"', b",", b"\n", b"\xff", b"\r", b"'"]))
        elif kind == 3:
            data[at:at] = data[at : at + 20]
        else:
            del data[at : at + rng.randint(1, 30)]
    return bytes(data)


def write_csv_pair(folder: Path, rng: random.Random) -> tuple[Path, Path, bool]:
    """Write both tables; say whether they were damaged after they were written."""
    rows, test = logical_rows(rng)
    header = ["predicted", "y"], ["predicted", "true", "y"]
    if chance(rng, 0.05):
        header = ["predicted", "predicted"], ["predicted", "true", "y"]
    contents = [csv_bytes(rows, header[0], rng), csv_bytes(test, header[1], rng)]
    hurt = chance(rng, 0.4)
    if hurt:
        at = rng.randrange(2)
        contents[at] = damaged(contents[at], rng)
    paths = folder / "predictions.csv", folder / "test.csv"
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    return *paths, hurt


def write_binary_pair(folder: Path, rng: random.Random, ending: str) -> tuple[Path, Path, bool]:
    """Write both tables as Parquet or Arrow, with columns of many types; some damaged."""
    import pyarrow as pa

    rows, test = logical_rows(rng)
    dictionary = chance(rng, 0.2)

    def text(cells: list[str]) -> pa.Array:
        values = [None if cell == "NULL" else cell for cell in cells]
        array = pa.array(values, pa.string())
        return array.dictionary_encode() if dictionary else array

    kind = rng.choice([pa.float64(), pa.float32(), pa.int64(), pa.int8(), pa.decimal128(20, 3)])

    def numbers(cells: list[str]) -> pa.Array:
        found = []
        for cell in cells:
            try:
                x = float(cell)
            except ValueError:
                x = None
            if x is not None and not pa.types.is_floating(kind):
                x = int(x) if abs(x) < 100 else None
            found.append(x)
        return pa.array(found, pa.float64()).cast(kind, safe=False)

    tables = (
        pa.table({"predicted": text([r[0] for r in rows]), "y": numbers([r[1] for r in rows])}),
        pa.table(
            {
                "predicted": text([r[0] for r in test]),
                "true": text([r[1] for r in test]),
                "y": numbers([r[2] for r in test]),
            }
        ),
    )
    hurt = chance(rng, 0.4)
    which = rng.randrange(2)
    paths = []
    for i, (name, table) in enumerate(zip(("predictions", "test"), tables, strict=True)):
        path = folder / f"{name}.{ending}"
        if ending == "parquet":
            import pyarrow.parquet as pq

            pq.write_table(table, path, row_group_size=rng.choice([1, 7, 10_000]))
        else:
            import pyarrow.feather as feather

            feather.write_feather(table, path, compression=rng.choice(["uncompressed", "lz4"]))
        if hurt and i == which:
            path.write_bytes(damaged(path.read_bytes(), rng))
        paths.append(path)
    return paths[0], paths[1], hurt


EDGES = [
    0, 0.0, -0.0, 1, 2, 3, 5, 17, 100, 1e3, 1e6, 2**31, 2**53 - 1, 2**53, 2**53 + 2, 2**63, 2**64,
    10**400, 0.5, -1, 1e-300, 5e-324, 1e154, 1e155, 1e200, 1e308, 1.7e308, float("inf"),
    float("-inf"), float("nan"), None, "7", "x", True, 1j, b"1",
]  # fmt: skip


def number(rng: random.Random, odd: float) -> object:
    return rng.choice(EDGES) if chance(rng, odd) else rng.randint(0, 40)


def count_case(rng: random.Random) -> dict[str, object]:
    """Arguments of `correct_counts`: shapes and numbers at the edge of what floats hold."""
    K = rng.choice([1, 2, 2, 2, 3, 3, 4, 6])
    odd = rng.choice([0.0, 0.05, 0.3])

    def matrix() -> list[list[object]]:
        rows = [[number(rng, odd) for _ in range(K)] for _ in range(K)]
        if chance(rng, 0.05):
            rows[0] = rows[0][:-1]
        return rows

    def vector(low: int = 0) -> list[object]:
        size = K if chance(rng, 0.97) else rng.randint(0, 7)
        return [number(rng, odd) if chance(rng, 0.8) else low + 1000 for _ in range(size)]

    case: dict[str, object] = {"test": matrix(), "predicted_counts": vector(200)}
    if chance(rng, 0.6):
        case["predicted_sums"] = vector()
        if chance(rng, 0.7):
            scale = rng.choice([1, 1e3, 1e150, 1e300, 1e-300])
            case["predicted_squares"] = [
                scale * x * x + 1 if isinstance(x, int | float) and abs(x) < 1e100 else x
                for x in case["predicted_sums"]  # type: ignore[attr-defined]
            ]
        if chance(rng, 0.3):
            case["test_sums"] = matrix()
    case["method"] = rng.choice(
        ["auto", "naive", "inverse", "bayes", "constrained", "joint", "calibrated", "difference",
         "test_set"]
    )  # fmt: skip
    case["design"] = rng.choice(["random", "by_prediction", "by_class", "shifted"])
    case["prior"] = rng.choice(["perks", "jeffreys", "uniform"])
    case["overlap"] = rng.choice([None, True, False])
    case["noise"] = chance(rng, 0.8)
    return case


WORDS = [
    "1",
    "2",
    "30",
    "0",
    "-1",
    "1.5",
    "nan",
    "inf",
    "1e3",
    "1e400",
    "x",
    "",
    " ",
    "４",
    "1_0",
    "0x1",
]
SIGNS = [",", ",", ",", ";", ";", "\n", " ", "\t", '"', "'", "\x00", ",,", ";;", ".csv", "\ufeff"]


def matrix_text(rng: random.Random) -> str:
    """What someone might type after ``--test``, or write in its file."""
    if chance(rng, 0.6):
        K = rng.choice([1, 2, 2, 2, 3])
        return ";".join(",".join(str(rng.randint(0, 30)) for _ in range(K)) for _ in range(K))
    return "".join(rng.choice(WORDS) + rng.choice(SIGNS) for _ in range(rng.randint(0, 12)))
