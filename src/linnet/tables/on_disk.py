"""All rows of a table that is too large to hold: encoded once, into a file, for the models that can read them there."""

from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from linnet.data.encoder import Encoded, Encoder
from linnet.data.targets import Labelled
from linnet.errors import DataError
from linnet.tables.io.store import Store
from linnet.tables.rows import Array, Examples, Roles, class_codes, given_of, target_of, with_target
from linnet.tables.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

    from linnet.tables.io.sources import Progress, Source


@dataclass
class TableOnDisk:
    """A table in files, and a folder with room for its encoded rows."""

    source: "Source"
    rows: int
    folder: Path
    progress: "Callable[[], AbstractContextManager[Progress | None]]" = nullcontext  # around the pass over all rows
    notices: list[str] = field(default_factory=list)  # what a user should know, after `examples`

    def examples(
        self, sample: "pa.Table", schema: Schema, roles: Roles, classes: Array | None, without: NDArray[np.int64]
    ) -> Examples:
        """All rows but those numbered, in the form learned from a sample."""
        encoder, columns = Encoder.learn(schema.apply(sample), gaps="fill")
        two = classes is not None and len(classes) == 2
        vectors = {"target": np.float64 if classes is None or two else np.int32}
        vectors |= dict.fromkeys(given_of(sample.slice(0, 1), roles), np.float64)
        store = Store(self.folder, self.rows, columns, vectors)
        wanted = [*(column.name for column in schema.used), *roles.names]
        odd: Counter[str] = Counter()  # rows, by what is odd about them
        done = 0
        with self.progress() as tell:
            for chunk in self.source.chunks(wanted, self.source.types(), tell):
                kept = np.ones(len(chunk), np.bool_)
                low, high = np.searchsorted(without, (done, done + len(chunk)))
                kept[without[low:high] - done] = False
                rows = with_target(chunk.filter(kept), schema)
                try:
                    odd += _append(store, encoder, rows, schema, roles, classes)
                except DataError as error:
                    raise DataError(f"among the {len(chunk):,} rows from {done:,} on: {error}") from None
                done += len(chunk)
        self.notices += [f"{count:,} rows {what}" for what, count in odd.items()]
        columns, given = store.read()
        target = given.pop("target")
        return Examples(Encoded(encoder, columns), target if classes is None else Labelled(classes, target), given)


def _append(
    store: Store, encoder: Encoder, table: "pa.Table", schema: Schema, roles: Roles, classes: Array | None
) -> Counter[str]:
    """Write rows, and count those that are not as the sample."""
    assert schema.task is not None
    odd: Counter[str] = Counter()
    if classes is None:
        target = target_of(table, schema, schema.task)
    else:
        target = class_codes(table[roles.target], classes)
        known = target >= 0
        if not known.all():
            odd[f"of classes that the sample does not have are left out: {roles.target!r}"] = int((~known).sum())
            table, target = table.filter(known), target[known]
    if len(table) == 0:
        return odd
    encoded = encoder.encode_table(schema.apply(table))
    store.append(encoded.columns, {"target": target, **given_of(table, roles)})
    for name, count in encoded.unseen.items():
        odd[f"have a level of {name!r} that the sample does not have, which has no effect"] = count
    for name, count in encoded.filled.items():
        odd[f"have no value of {name!r}, which no row of the sample lacks: they get the median"] = count
    return odd
