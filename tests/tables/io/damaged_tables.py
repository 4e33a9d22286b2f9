"""Tables as people have them, with what goes wrong in them: encodings, ragged rows, names, types, sizes."""

import io
import random
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as parquet

from .mutations import mutated

Rows = list[list[str]]  # the first has the names

MODELS = {  # suitable ones, by target
    "sold": ("logistic", "logistic", "perceptron", "auto", "mlp", "constant"),
    "price": ("linear", "linear", "linear", "auto", "mlp", "constant"),
    "claims": ("poisson", "linear", "auto", "mlp"),
    "grade": ("softmax", "perceptron", "auto"),
    "colour": ("softmax", "auto"),
    "id": ("linear", "auto"),
    "day": ("linear", "auto"),
    "empty": ("auto",),
}
TARGETS = ("sold",) * 8 + ("price",) * 8 + ("claims",) * 4 + tuple(MODELS)


class Case(NamedTuple):
    """A file, and what to train on it."""

    kind: str  # of damage
    suffix: str
    data: bytes
    target: str
    model: str


def rows_of(rng: random.Random) -> Rows:
    count = rng.choice([0, 1, 9, 12, *([60] * 12), *([150] * 6)])
    rows = [["id", "size", "colour", "day", "empty", "grade", "claims", "price", "sold"]]
    for number in range(count):
        size = rng.gauss(50, 10)
        rows.append(
            [
                str(1000 + number),
                "" if rng.random() < 0.1 else f"{size:.3f}",
                rng.choice(["red", "blue", "grün", 'a "quoted" one', "x, y", ""]),
                f"2024-{rng.randrange(1, 13):02}-{rng.randrange(1, 29):02}",
                "",
                str(min(3, int(size / 20))),
                str(int(rng.expovariate(0.7))),
                f"{3 * size + rng.gauss(0, 2):.2f}",
                rng.choice(["yes", "no"]) if rng.random() < 0.2 else ("yes" if size > 50 else "no"),
            ]
        )
    return rows


def text_of(rows: Rows, delimiter: str = ",", end: str = "\n") -> str:
    def field(value: str) -> str:
        return '"' + value.replace('"', '""') + '"' if any(sign in value for sign in f'"\n{delimiter}') else value

    return "".join(delimiter.join(map(field, row)) + end for row in rows)


# ---- what goes wrong in text ----


def ragged(rows: Rows, rng: random.Random) -> bytes:
    for row in rng.sample(rows, min(len(rows), 3)):
        if rng.random() < 0.5:
            row.append("more")
        else:
            del row[rng.randrange(len(row)) :]
    return text_of(rows).encode()


def duplicate_names(rows: Rows, rng: random.Random) -> bytes:
    rows[0] = [rng.choice(["sold", "price", "size", "", " ", name]) for name in rows[0]]
    return text_of(rows).encode()


def nul_bytes(rows: Rows, rng: random.Random) -> bytes:
    data = bytearray(text_of(rows).encode())
    for _ in range(rng.choice([1, 5])):
        data.insert(rng.randrange(len(data) + 1), 0)
    return bytes(data)


def mixed_types(rows: Rows, rng: random.Random) -> bytes:
    odd = ["n/a", "word", "1e400", "-inf", "nan", "0x1F", "2024-13-45", "12:61", "true", "1_000", "9" * 400, "٣", "½"]
    for row in rows[1:]:
        for _ in range(rng.choice([0, 1, 3])):
            row[rng.randrange(len(row))] = rng.choice(odd)
    return text_of(rows).encode()


def other_encoding(rows: Rows, rng: random.Random) -> bytes:
    code = rng.choice(["utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252", "utf-8-sig", "cp037", "utf-7"])
    return text_of(rows).encode(code)


def line_ends(rows: Rows, rng: random.Random) -> bytes:
    return text_of(rows, end=rng.choice(["\r\n", "\r", "\n\r", "\n\n", "\r\n\n", "\x0b", "\u2028"])).encode()


def decimal_commas(rows: Rows, rng: random.Random) -> bytes:
    rows = [rows[0], *([value.replace(".", ",") for value in row] for row in rows[1:])]
    return text_of(rows, delimiter=rng.choice([";", "\t", "|", ","])).encode()


def open_quote(rows: Rows, rng: random.Random) -> bytes:
    text = text_of(rows)
    at = rng.randrange(len(text) + 1)
    return f'{text[:at]}"{text[at:]}'.encode()


def no_header(rows: Rows, rng: random.Random) -> bytes:
    return text_of(rows[1:]).encode()


def odd_names(rows: Rows, rng: random.Random) -> bytes:
    odd = [
        "(other)",
        "x" * 3000,
        "a\nb",
        "#1",
        "=cmd()",
        "../../up",
        "%s",
        "{0}",
        "[red]bold[/red]",
        "\u202e",
        "prediction",
    ]
    rows[0] = [rng.choice([name, name, name + " missing", rng.choice(odd)]) for name in rows[0]]
    return text_of(rows).encode()


def strange_target(rows: Rows, rng: random.Random) -> bytes:
    """The last column, the target mostly: of one value, gaps, huge or tiny numbers, as many classes as rows."""
    values: list[Callable[[int], str]] = [
        lambda _: "same",
        lambda _: "",
        lambda place: str(place) if place == 3 else "",
        lambda place: f"{rng.gauss(0, 1)}e300",
        lambda place: f"{rng.gauss(0, 1)}e-310",
        lambda place: f"class {place}",
        lambda place: "rare" if place == 5 else "often",
        lambda place: str(-place),
        lambda place: str(2**62 + place),
        lambda place: rng.choice(["1", "1.0", "01", " 1", "1e0"]),
        lambda place: "(other)" if place % 2 else "None",
    ]
    value, places = rng.choice(values), rng.choice([(7, 8), (1,), (1, 7, 8), (2, 8)])
    for place, row in enumerate(rows[1:]):
        for column in places:
            row[column] = value(place)
    return text_of(rows).encode()


def wide(rows: Rows, rng: random.Random) -> bytes:
    more = rng.choice([50, 200])
    rows[0] = [*rows[0], *(f"column {place}" for place in range(more))]
    for row in rows[1:]:
        row += [rng.choice(["0", "1", "2.5", "", "a"]) for _ in range(more)]
    return text_of(rows).encode()


def long_cell(rows: Rows, rng: random.Random) -> bytes:
    if len(rows) > 1:
        row = rng.choice(rows)
        row[rng.randrange(len(row))] = rng.choice(["x", "9", "a b ", '"']) * rng.choice([5_000, 200_000])
    return text_of(rows).encode()


def broken_bytes(rows: Rows, rng: random.Random) -> bytes:
    return mutated(text_of(rows).encode(), rng)


TEXT = (
    *(ragged, duplicate_names, nul_bytes, mixed_types, other_encoding, line_ends, decimal_commas, open_quote),
    *(no_header, odd_names, strange_target, strange_target, wide, long_cell, broken_bytes, broken_bytes),
)


# ---- the same in Parquet ----


def typed(rows: Rows, rng: random.Random) -> pa.Table:
    """The rows as Parquet has them, each column of one of the types that it may have."""
    columns = {}
    for place, name in enumerate(rows[0]):
        values: list[object] = [row[place] or None for row in rows[1:]]
        options: list[pa.DataType] = [pa.string(), pa.large_string()]
        if name in ("id", "grade", "claims"):
            values = [int(str(value)) for value in values]
            options = [pa.int64(), pa.int8() if name != "id" else pa.uint16(), pa.float64(), pa.decimal128(21, 2)]
        elif name in ("size", "price"):
            values = [None if value is None else float(str(value)) for value in values]
            options = [pa.float64(), pa.float32(), pa.float64()]
        elif name == "empty":
            options = [pa.null(), pa.string(), pa.float64(), pa.list_(pa.int64())]
        column = pa.array(values).cast(rng.choice(options))
        if pa.types.is_string(column.type) and rng.random() < 0.3:
            column = column.dictionary_encode()
        columns[name] = column
    return pa.table(columns)


def as_parquet(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    parquet.write_table(table, sink, row_group_size=50)
    return sink.getvalue()


def odd_types(rows: Rows, rng: random.Random) -> bytes:
    table = typed(rows, rng)
    count = table.num_rows
    odd: list[pa.Array] = [
        pa.array([{"a": 1}] * count),
        pa.array([[1, 2]] * count),
        pa.array([b"\xff\xfe"] * count, pa.binary()),
        pa.array([10**30] * count, pa.decimal128(38, 0)),
        pa.array([rng.choice([float("nan"), float("inf"), 1e308]) for _ in range(count)]),
        pa.array([rng.randrange(2**63, 2**64) for _ in range(count)], pa.uint64()),
        pa.array(list(range(count)), pa.duration("s")),
        pa.array([rng.randrange(86400) for _ in range(count)], pa.time32("s")),
        pa.array([rng.randrange(-(10**15), 10**15) for _ in range(count)], pa.timestamp("us", "Europe/Berlin")),
        pa.array([None] * count, pa.bool_()),
        pa.array([rng.random() < 0.5 for _ in range(count)]),
    ]
    at = rng.randrange(table.num_columns)
    return as_parquet(table.set_column(at, table.column_names[at], rng.choice(odd)))


def parquet_names(rows: Rows, rng: random.Random) -> bytes:
    table = typed(rows, rng)
    return as_parquet(table.rename_columns([rng.choice([name, "sold", "price", ""]) for name in table.column_names]))


def parquet_bytes(rows: Rows, rng: random.Random) -> bytes:
    return mutated(as_parquet(typed(rows, rng)), rng)


def parquet_cut(rows: Rows, rng: random.Random) -> bytes:
    data = as_parquet(typed(rows, rng))
    return data[: rng.randrange(len(data))]


PARQUET = (odd_types, odd_types, parquet_names, parquet_bytes, parquet_cut)


def damaged(count: int, seed: int) -> Iterator[Case]:
    """So many cases, of which the first are the same whatever the count."""
    rng = random.Random(seed)
    for _ in range(count):
        rows = rows_of(rng)
        kind, suffix = (rng.choice(TEXT), "csv") if rng.random() < 0.7 else (rng.choice(PARQUET), "parquet")
        target = rng.choice(TARGETS)
        model = rng.choice(MODELS[target if rng.random() < 0.9 else rng.choice(TARGETS)])
        yield Case(kind.__name__, suffix, kind(rows, rng), target, model)


def large() -> Iterator[tuple[str, str]]:
    """Names and text of files that are large: 3,000 columns, and a cell longer than a block that is read at once."""
    rng = random.Random(0)
    rows = rows_of(rng)
    while len(rows) < 100:
        rows = rows_of(rng)
    names = [f"column {place}" for place in range(3000)]
    wide = [[*rows[0], *names], *([*row, *(str(rng.randrange(9)) for _ in names)] for row in rows[1:61])]
    yield "wide.csv", text_of(wide)
    rows[7][2] = "x" * 20_000_000
    yield "long.csv", text_of(rows)
    rows[7][2], rows[7][1] = "red", "9" * 20_000_000
    yield "number.csv", text_of(rows)
