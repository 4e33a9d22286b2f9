"""Tables in every format, and their bytes with some of the damage that files come to."""

import io
import random
from collections.abc import Callable, Iterator

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as parquet

SUFFIXES = ("csv", "csv", "csv", "jsonl", "parquet", "parquet", "arrow")


def table(rng: random.Random) -> pa.Table:
    rows = rng.choice([0, 1, 40, 300])
    return pa.table(
        {
            "id": pa.array(range(rows), pa.int64()),
            "size": pa.array([rng.choice([None, rng.gauss(0, 1)]) for _ in range(rows)], pa.float64()),
            "colour": pa.array([rng.choice(["red", "blue", 'a "quoted" one', "x\ny", "é", None]) for _ in range(rows)]),
            "day": pa.array([rng.choice(["2020-01-31", "31.12.2020", ""]) for _ in range(rows)]),
            "y": pa.array([rng.random() < 0.3 for _ in range(rows)], pa.bool_()),
        }
    )


def written(data: pa.Table, suffix: str) -> bytes:
    sink = io.BytesIO()
    if suffix == "csv":
        csv.write_csv(data, sink)
    elif suffix == "parquet":
        parquet.write_table(data, sink, row_group_size=100)
    elif suffix == "arrow":
        with pa.ipc.new_file(sink, data.schema) as writer:
            writer.write_table(data)
    else:
        data.to_pandas().to_json(sink, orient="records", lines=True, date_format="iso")
    return sink.getvalue()


def mutated(data: bytes, rng: random.Random) -> bytes:
    """The bytes with one of the changes below, seldom with three."""
    for _ in range(rng.choice([1, 1, 1, 3])):
        data = _changed(data, rng)
    return data


def _changed(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    end = min(len(data), at + rng.choice([1, 4, 50]))
    part, lines = data[at:end], data.split(b"\n")
    changes: list[Callable[[], bytes]] = [
        lambda: data[:at],
        lambda: data[:at] + data[end:],
        lambda: data[:at] + part * 3 + data[end:],
        lambda: data[:at] + rng.randbytes(len(part)) + data[end:],
        lambda: data[:at] + bytes([rng.choice(b'\0\xff\xfe",;\n\r\t|{}[]0129.-')]) + data[at:],
        lambda: b"\n".join(rng.sample(lines, len(lines))),
        lambda: data.replace(b"\n", rng.choice([b"\r\n", b"\r", b"\n\n", b",\n"])),
        lambda: data.replace(b",", rng.choice([b";", b"\t", b"|", b",,", b" , "])),
        lambda: rng.choice([b"\xef\xbb\xbf", b"\xff\xfe", b"sep=;\n", b"\n", b"#\n"]) + data,
        lambda: data.decode("latin-1").encode(rng.choice(["utf-16", "utf-8"])),
        lambda: data.replace(b".", b","),
        lambda: data[:at] + b"9" * rng.choice([20, 400]) + data[at:],
    ]
    return rng.choice(changes)()


def cases(count: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """Names' ends and bytes."""
    rng = random.Random(seed)
    for _ in range(count):
        suffix = rng.choice(SUFFIXES)
        data = mutated(written(table(rng), suffix), rng)
        yield (suffix, data) if rng.random() < 0.9 else (f"{rng.choice(SUFFIXES)}", data)
