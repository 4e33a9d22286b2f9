"""`linnet.train`: data of any kind in, the best model of a table out."""

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linnet.checks import is_real
from linnet.errors import ConfigError, DataError, DataWarning, LinnetError, Parameter, warn
from linnet.files import real_path
from linnet.tables.inputs import Data, as_arrow, as_source, paths_of, without_nested
from linnet.tables.io.sampling import MAX_TABLE_BYTES
from linnet.tables.leaks import Leak, leaks
from linnet.tables.model import TableModel
from linnet.tables.on_disk import TableOnDisk
from linnet.tables.options import Options
from linnet.tables.schema import Schema, unknown_column
from linnet.tables.select import best_model

if TYPE_CHECKING:
    import pyarrow as pa

    from linnet.tables.io.sources import Progress, Source
    from linnet.tables.io.types import Types


class Listener:
    """Follows the progress of a training. This base class only warns of columns that leak the target."""

    def read(self, schema: Schema, notices: Sequence[str], suspects: Sequence[Leak]) -> None:
        """Called once the columns are known, before any training."""
        for suspect in suspects:
            warn(str(suspect), DataWarning)

    def begins(self, name: str) -> None:
        """Called before a candidate is fitted."""

    def noticed(self, notices: Sequence[str | LinnetError]) -> None:
        """Something to know, about the rows in files, or about what is tried; an error has parameters in its words."""

    def reading(self, what: str) -> "AbstractContextManager[Progress | None]":
        """Return a context for a pass over files, which gives a callback of its progress, or None."""
        return nullcontext()


def train(
    data: Data,
    target: str,
    *,
    task: str | None = None,
    model: str = "auto",
    hidden_layer_sizes: Sequence[int] | None = None,
    activation: str | Sequence[str] | None = None,
    dropout: float | Sequence[float] | None = None,
    solver: str | None = None,
    learning_rate_init: float | None = None,
    batch_size: int | None = None,
    max_iter: int | None = None,
    n_iter_no_change: int | None = None,
    loss: str | None = None,
    initializer: str | None = None,
    l1: float | None = None,
    l2: float | None = None,
    exposure: str | None = None,
    offset: str | None = None,
    weights: str | None = None,
    class_weight: str | Mapping[Any, float] | None = None,
    drop: str | Sequence[str] = (),
    text: str | Sequence[str] = (),
    valid: Data = 0.2,
    metric: str | None = None,
    threshold: str | float | None = None,
    seed: int = 0,
    threads: int | None = None,
    checkpoint: str | None = None,
    resume: bool = False,
    verbose: int = 0,
) -> TableModel:
    """Train on a table: read its columns, try models from simple to complex, keep the best on held-out rows.

    A constant, a linear or generalized linear model and a network are fitted one after the other to four fifths of the
    rows; the one that predicts the others best is returned. The same data, parameters and seed give the same model.

    Parameters
    ----------
    data
        A path or a list of paths (CSV, Parquet, Arrow or JSON lines, a folder), a data frame of any library, a table of
        pyarrow, a dict of columns, a list of dicts, or a source that `linnet.tables.io.sources.open_source` has opened.
        Of files of more than 256 MB a sample is held; linear models learn from all their rows all the same.
    target : str
        The column to predict. Rows without it are left out.
    task : {"two classes", "many classes", "counts", "a number"}, optional
        What is predicted; else it is read off the target.
    model : str
        Which models to try: "auto", "constant", "linear", "logistic", "softmax", "perceptron", "mlp" or "sequential",
        and of counts "poisson" or "negative_binomial", for counts that vary more than Poisson's. "sequential"
        is one network on columns of numbers as they are, as `Sequential` trains it.
    hidden_layer_sizes, activation, dropout, solver, learning_rate_init, batch_size, max_iter, n_iter_no_change
        Of the network, as `MLPClassifier` has them; `activation` and `dropout` may also be a list, one per layer.
    loss, initializer, l1, l2
        Of `model="sequential"`: a loss and an initializer of Keras, strengths of the penalties on weights.
    exposure, offset : str, optional
        For counts: the columns that say how long or how much was counted, and what is added to the linear output.
    weights : str, optional
        The column of row weights.
    class_weight : "balanced" or dict, optional
        Weights of classes.
    drop, text : str or list of str
        Columns to leave out, and columns of free text whose words are to be used.
    valid : float or data
        The share of the rows to hold out, or other rows, of any kind that `data` can be.
    metric : str, optional
        What chooses: such as "log_loss", "f2", "roc_auc", "rmse" or "poisson_deviance"; else log_loss
        of classes, poisson_deviance of counts (and between their distributions log_loss), rmse of numbers.
    threshold : "tune" or float, optional
        Of two classes: the probability from which on the positive class is predicted; "tune": the best for `metric`, or
        for F1 where that has none.
    seed : int
        Of the rows held out and of all that is random in the network.
    threads : int, optional
        The most threads to use; the result is the same for any number.
    checkpoint : str, optional
        A file to keep the network's run in, about once a second.
    resume : bool
        Whether to go on from that file after a crash; data and parameters must be the same.
    verbose : int
        1 shows how far networks and linear models are.

    Returns
    -------
    TableModel
        With `predict`, `predict_proba`, `sample`, `predict_interval`, `evaluate`, `score`, `report` and `save`.

    Examples
    --------
    >>> import linnet
    >>> rows = [{"size": k * 7 % 50, "colour": "red" if k % 3 else "blue"} for k in range(100)]
    >>> rows = [{**row, "sold": row["size"] + 20 * (row["colour"] == "red") > 40} for row in rows]
    >>> model = linnet.train(rows, "sold", model="logistic")
    >>> model.task, model.predict([{"size": 30, "colour": "red"}, {"size": 30, "colour": "blue"}])
    ('two classes', array(['True', 'False'], dtype=object))
    """
    given = {name: value for name, value in locals().items() if name not in ("data", "target")}
    if not isinstance(target, str):
        raise ConfigError(f"target must be the name of a column, got {target!r}")
    options = Options(**given)
    found = train_on(data, target, options)
    return replace(found, facts={**found.facts, "parameters": {"target": target, **options.given}})


def train_on(
    data: Data,
    target: str,
    options: Options,
    listener: Listener | None = None,
    *,
    folder: Path | None = None,
    delimiter: str | None = None,
) -> TableModel:
    """Train with checked options, and report progress to a listener.

    `folder`: where to encode the rows of files that are too large to hold; they take about as much room there.
    `delimiter`: of text files, if it shall not be recognised.
    """
    listener = Listener() if listener is None else listener
    roles = options.roles(target)
    _check_apart(data, options.valid)
    read = _read(data, listener, delimiter)
    _check_columns(read, [*roles.names, *(name for name in options.drop if name not in read.nested), *options.text])
    table = read.table.drop_columns([name for name in options.drop if name not in read.nested])
    read = replace(read, table=table)
    columns = [name for name in table.column_names if name == target or name not in roles.names]
    judged = table.select(columns)
    schema = Schema.of(judged, target, task=options.task, text=options.text)
    schema = replace(schema.as_numbers() if options.model == "sequential" else schema, rows=read.rows)
    notices = [*read.notices, *schema.notices]
    if read.source is not None:
        notices.append(
            f"the table is too large for memory: columns are judged by {len(table):,} rows drawn at random; linear "
            f"models learn from all {read.rows:,}, other models from those"
        )
    listener.read(schema, notices, leaks(judged, target, schema))
    del judged
    held_out = None
    if options.share is None:
        try:
            held_out = _read(options.valid, listener, delimiter, most=np.inf, types=schema.types)
            _check_columns(held_out, [target])
        except DataError as error:
            raise type(error)(Parameter("valid"), ": ", *error.parts) from None
    whole = None
    if read.source is not None:
        room = Path(tempfile.gettempdir()) if folder is None else folder
        whole = TableOnDisk(read.source, read.rows, room, lambda: listener.reading("Encoding"))

    def notice(message: LinnetError) -> None:
        notices.append(str(message))
        listener.noticed([message])

    numbers, tables = read.numbers, [table]
    del read, table  # of very many columns a table takes far more memory than their values: it goes once it is parted
    found = best_model(
        tables.pop(),
        schema,
        options,
        valid=None if held_out is None else held_out.table,
        numbers=numbers,
        whole=whole,
        begin=listener.begins,
        notice=notice,
    )
    if whole is not None:
        listener.noticed(whole.notices)
        notices += whole.notices
    assert found.run is not None
    files = tuple(Path(name).name if name != "-" else "-" for name in paths_of(data))
    return replace(found, run=replace(found.run, files=files, notices=tuple(notices)))


@dataclass(frozen=True)
class _Read:
    """A table, or a sample of its rows."""

    table: "pa.Table"
    rows: int  # of the whole table
    notices: list[str]
    nested: list[str]  # columns that are left out: they hold lists or objects
    numbers: NDArray[np.int64] | None = None  # of the rows in the whole table; None: all
    source: "Source | None" = None  # where all rows are, if only some are held


def _read(
    data: Data, listener: Listener, delimiter: str | None, most: float | None = None, types: "Types | None" = None
) -> _Read:
    with listener.reading("Looking at columns") as tell:
        source = as_source(data, delimiter)
        if source is not None:
            some = source.read_some(MAX_TABLE_BYTES if most is None else most, tell, types)
            rest = None if some.is_all else source
            return _Read(some.table, some.rows, list(source.notices), source.nested, some.numbers, rest)
    table, nested = without_nested(as_arrow(data))
    notices = (
        [f"columns that hold lists or objects are left out: {', '.join(map(repr, nested[:10]))}"] if nested else []
    )
    return _Read(table, len(table), notices, nested)


def _check_columns(read: _Read, needed: Sequence[str]) -> None:
    """Refuse a table without one of these columns."""
    if nested := [name for name in needed if name in read.nested]:
        what = ", ".join(map(repr, nested))
        raise DataError(f"lists or objects in {what}, which linnet cannot use: convert them to columns of plain values")
    for name in needed:
        if name not in read.table.column_names:
            raise unknown_column(name, read.table.column_names)


def _check_apart(data: Data, valid: Data) -> None:
    """Refuse to choose a model by the rows that it is trained on."""
    trained = {real_path(name) for name in paths_of(data)}
    same = [name for name in paths_of(valid) if real_path(name) in trained]
    if same or (valid is data and not is_real(valid)):
        given = Parameter("valid", same[0]) if same else Parameter("valid")
        raise ConfigError(given, ": these are training rows, so they cannot show how the model predicts others")
