"""A model of a whole table: how its columns are read, an estimator, its threshold, and where it all came from."""

import operator
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

import linnet.tables.candidates
import linnet.tables.network  # noqa: F401 - model files may hold what is in them
from linnet._sklearn import encoder_of, history_of, prepared_encoder_of
from linnet.checks import check_random
from linnet.data.encoder import AT_ONCE
from linnet.errors import ConfigError, DataError, Parameter
from linnet.export.saved import Saved
from linnet.heads import Normal, draw_class
from linnet.registry import UNSAVED, need, saved
from linnet.tables.inputs import Data, as_arrow, as_source
from linnet.tables.kinds import OTHER, Column
from linnet.tables.network import TableNetwork
from linnet.tables.predictions import Evaluation, Law, Predictions, decide
from linnet.tables.rows import AppliedRows, Array, Examples, KnownRows, Roles, TableRows, target_of
from linnet.tables.schema import Schema
from linnet.tables.task import Task

if TYPE_CHECKING:
    import pyarrow as pa

    from linnet.evaluate import Interval
    from linnet.export.onnx.columns import Inputs
    from linnet.export.onnx.file import Outputs
    from linnet.tables.io.sources import Progress, Source
    from linnet.tables.io.types import Types


@saved
@dataclass(frozen=True, slots=True)
class Tried:
    """A candidate and its scores on the held-out rows."""

    name: str
    what: str  # in words
    scores: dict[str, float]  # by metric, of the held-out rows
    chosen: bool = False
    failed: str = ""  # why, if it did
    # that it took; not in model files, which are the same for the same run
    seconds: float | None = field(default=None, metadata=UNSAVED)


@dataclass(frozen=True)
class Run:
    """What is known of a training as long as its model lives: model files hold no rows."""

    training: Examples  # the rows that the model was fitted to
    held_out: KnownRows  # those it was chosen by
    predictions: Predictions  # of these
    files: tuple[str, ...] = ()  # where the rows came from
    notices: tuple[str, ...] = ()  # what a user should know


@saved
@dataclass(frozen=True)
class TableModel(Saved):
    """A fitted model that takes tables as they come: columns in any order, with missing values, of files or frames.

    `linnet.train` makes it, and `linnet.load` reads it from a file. It never changes: predicting writes nothing. Its
    methods take data of any kind: a path or a list of paths, a data frame of any library, a table of pyarrow, a dict of
    columns, a list of dicts, a dict of one row, or a source that `linnet.tables.io.sources.open_source` has opened.

    Attributes
    ----------
    task : Task
        "two classes", "many classes", "counts" or "a number"
    classes : array or None
        Classes in the order of the columns of `predict_proba`; the second of two is the positive one.
    threshold : float or None
        From which probability of the positive class on it is predicted; None: the more probable one.
    metric : str
        The metric that chose the model: what `score` returns.
    tried : tuple of Tried
        The candidates, with their metrics on the held-out rows.
    schema : Schema
        How columns are read, and which are left out and why.
    estimator
        The fitted estimator inside.
    roles : Roles
        The names of the columns with a role of their own: target, exposure, offset, weights.
    variance : float or None
        Of numbers around what is predicted, on the held-out rows.
    facts : dict
        Rows, seed and settings of the training.
    run : Run or None
        The rows of the training, which are kept as long as this object lives, and are in no file.

    Examples
    --------
    >>> import linnet
    >>> sizes, rooms = [k * 7 % 50 for k in range(100)], [k % 5 for k in range(100)]
    >>> prices = [size + 10 * room + 0.5 for size, room in zip(sizes, rooms)]
    >>> model = linnet.train({"size": sizes, "rooms": rooms, "price": prices}, "price", model="linear")
    >>> model.predict([{"size": 10, "rooms": 2}, {"size": 20, "rooms": 3}]).round(2)
    array([30.5, 50.5])
    """

    schema: Schema
    roles: Roles
    task: Task
    estimator: Any
    classes: Array | None = None
    threshold: float | None = None
    tried: tuple[Tried, ...] = ()
    metric: str = ""
    variance: float | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    run: Run | None = field(default=None, repr=False, compare=False, metadata=UNSAVED)

    def __post_init__(self) -> None:
        object.__setattr__(self, "task", Task(self.task))  # files have the word

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "run": None}  # a copy in another process, or on disk, holds no rows

    def _check_file(self) -> None:
        need(self.schema.target is not None and self.schema.target.name == self.roles.target, self, "schema")
        need(self.task == self.schema.task, self, "task")
        need(self.task.has_classes == (self.classes is not None), self, "classes")
        if self.classes is not None:
            need(self.classes.ndim == 1 and np.array_equal(self.classes, self.estimator.classes_), self, "classes")
        need(self.threshold is None or (self.task is Task.TWO_CLASSES and 0 <= self.threshold <= 1), self, "threshold")
        need(self.variance is None or self.variance >= 0, self, "variance")

    def _made_up_row(self, size: int) -> "pa.Table | TableRows":
        import pyarrow as pa

        encoder, used, types = encoder_of(self.estimator), self.schema.used, self.schema.types
        levels = {} if encoder is None else encoder.known_levels(besides=[OTHER])

        def row_of(columns: Sequence[Column]) -> "pa.Table":
            found = {column.name: column.made_up_value(levels.get(column.name)) for column in columns}
            return pa.table({name: pa.array([value], types[name]) for name, value in found.items()})

        shifts = dict.fromkeys(self.roles.shifts.values(), pa.array([1.0]))
        if encoder is None or encoder.kind != "frame" or len(used) <= AT_ONCE:
            row = row_of(used)
            return pa.table({**dict(zip(row.column_names, row.columns, strict=True)), **shifts})
        # a row of all columns would take more memory than the model: they are read some at a time
        names: list[str] = []
        for first in range(0, len(used), AT_ONCE):
            some = used[first : first + AT_ONCE]
            names += replace(self.schema, columns=some).apply(row_of(some)).column_names
        need(len(names) == encoder.width and all(map(operator.eq, names, encoder.names or ())), self, "schema")
        return TableRows(encoder.row_of_zeros(), {name: np.ones(1) for name in self.roles.shifts}, {}, {}, {})

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns that predictions need."""
        return (*(column.name for column in self.schema.used), *self.roles.shifts.values())

    @property
    def has_proba(self) -> bool:
        """Whether the model predicts probabilities of classes."""
        return self.classes is not None and hasattr(self.estimator, "predict_proba")

    @property
    def history(self) -> Mapping[str, Sequence[float]]:
        """The numbers by epoch, by name such as "loss", of a model that was trained by epochs; none of another."""
        known = self.estimator
        return known.history_ if isinstance(known, TableNetwork) else history_of(known)

    # ---- reading ----

    def read(self, data: Data | AppliedRows) -> TableRows:
        """Read rows once for any number of questions: predict, predict_proba, sample, predict_interval."""
        rows = data if isinstance(data, AppliedRows) else AppliedRows.of(self._table(data), self.schema, self.roles)
        encoder = prepared_encoder_of(self.estimator)
        if encoder is None:
            return TableRows(rows.x, rows.given, {}, rows.rare, {})
        encoded = encoder.encode_table(rows.x)
        return TableRows(encoded, rows.given, dict(encoded.unseen), rows.rare, dict(encoded.filled))

    def known_rows(self, data: Data) -> KnownRows:
        """Read the rows of data that have a target."""
        return KnownRows.of(as_arrow(data, self.schema.types), self.schema, self.roles, self.classes)

    def target_of(self, data: Data) -> Array:
        """The target of rows that all have one."""
        return target_of(as_arrow(data, self.schema.types), self.schema, self.task, self.classes)

    def _table(self, data: Data) -> "pa.Table":
        """A table with the columns that prediction reads; those of files in the types that they had in training."""
        source = as_source(data)
        return as_arrow(data) if source is None else self._read_files(source)

    def _read_files(self, source: "Source") -> "pa.Table":
        import pyarrow as pa

        tables = [*self._chunks(source, (), {}, None)]
        if not tables:
            raise DataError("the table has no rows")
        return pa.concat_tables(tables)

    def _chunks(
        self, source: "Source", keep: Sequence[str], of_kept: "Types", progress: "Progress | None"
    ) -> "Iterator[pa.Table]":
        """The rows of files in chunks: the columns that prediction reads, in the types of the training, and others."""
        needed, present = dict.fromkeys(self.needed), {*source.names}
        types = {name: kind for name, kind in self.schema.types.items() if name in needed}
        for names, why in ((needed, "the model needs"), (keep, "is to be kept")):
            if absent := [name for name in names if name not in present]:
                lists = " (lists or objects, which cannot be read)"
                named = ", ".join(repr(name) + lists * (name in source.nested) for name in absent)
                raise DataError("; ".join([f"the table lacks {named}, which {why}", *_misfits(source, types)]))
        types = {**of_kept, **types}
        yield from source.chunks([*dict.fromkeys((*needed, *keep))], types, progress)

    def _rows(self, data: Data | AppliedRows | TableRows) -> TableRows:
        """Rows that were read before, or those of a table, with a warning of what was noticed in it."""
        if isinstance(data, TableRows):
            return data
        rows = self.read(data)
        rows.warn()
        return rows

    # ---- predicting ----

    def predictions(self, data: Data | AppliedRows | TableRows) -> Predictions:
        """Return all that is predicted of rows, from one pass: classes or numbers, probabilities, what was noticed.

        What was noticed is in the result, so there is no warning of it.
        """
        rows = data if isinstance(data, TableRows) else self.read(data)
        if self.has_proba and self.classes is not None:
            proba = np.asarray(self.estimator.predict_proba(rows.x))
            return Predictions(decide(self.classes, proba, self.threshold), proba, rows)
        return Predictions(np.asarray(self.estimator.predict(rows.x, **rows.given)), None, rows, self.law)

    def _predictions(self, data: Data | AppliedRows | TableRows | Predictions) -> Predictions:
        """What was predicted before, or is now, with a warning of what was noticed in the rows of a table."""
        return data if isinstance(data, Predictions) else self.predictions(self._rows(data))

    def predict(self, data: Data | AppliedRows | TableRows | Predictions) -> Array:
        """Return the class, mean count or number of each row.

        Levels never seen in training and missing values where training had none are counted in a DataWarning.
        """
        return self._predictions(data).values

    def predict_proba(self, data: Data | AppliedRows | TableRows | Predictions) -> Array:
        """Return the probability of each class, rows x classes, in the order of `classes`."""
        if self.classes is None:
            raise ConfigError(f"{self.task!r} has no probabilities: the model predicts numbers")
        if not self.has_proba:
            kind = type(self.estimator).__name__
            raise ConfigError(
                f"{kind} has no probabilities: train with ",
                Parameter("model", "logistic"),
                ", or ",
                Parameter("model", "mlp"),
            )
        proba = self._predictions(data).proba
        assert proba is not None
        return proba

    def sample(self, data: Data | AppliedRows | TableRows | Predictions, random_state: Any = None) -> Array:
        """Return a target for each row, drawn from its predicted distribution.

        Parameters
        ----------
        data
            Rows of any kind, or what `predictions` returned of them.
        random_state : int, RandomState, Generator or None
            None draws from NumPy's own numbers.
        """
        if self.classes is not None:
            return np.asarray(self.classes[draw_class(self.predict_proba(data), check_random(random_state))])
        found = self._predictions(data)
        return _known(found.law).draw(found.values, check_random(random_state))

    def predict_interval(
        self, data: Data | AppliedRows | TableRows | Predictions, level: float = 0.95
    ) -> tuple[Array, Array]:
        """Return limits, low and high, between which a new value of each row lies with the given probability.

        Networks and models of counts have a distribution of their own. Around the numbers of others it is a normal one,
        whose variance is that of the residuals of the held-out rows.
        """
        if self.classes is not None:
            raise ConfigError(
                f"intervals are of numbers, and the task is {self.task!r}: ",
                Parameter("predict_proba"),
                " shows how certain a prediction is",
            )
        found = self._predictions(data)
        return _known(found.law).interval(found.values, level)

    @property
    def law(self) -> Law | None:
        """The distribution of a new value around its mean; None of classes, and where a file does not say."""
        own = getattr(self.estimator, "target_distribution", None)
        try:
            found = None if own is None or self.classes is not None else own()
        except ConfigError:  # of a network whose training did not end
            return None
        if found is not None:
            return Law(*found)
        return None if self.variance is None else Law(Normal(), np.array([self.variance]))

    def predict_chunks(
        self,
        data: Data,
        keep: Sequence[str] = (),
        *,
        as_written: bool = False,
        progress: "Progress | None" = None,
    ) -> "Iterator[tuple[pa.Table, Predictions]]":
        """Yield what is predicted of the rows of files of any size, chunk by chunk, in order.

        Parameters
        ----------
        data
            A path or a list of paths, or a source; other kinds of data are one chunk.
        keep : list of str
            Columns to pass on.
        as_written : bool
            Whether values of text files are passed on as text, so that 007 stays 007.
        progress : callable, optional
            Is told the share of the data that was read, from 0 to 1.

        Yields
        ------
        kept : table of pyarrow
            The columns to pass on.
        predictions : Predictions
            As `predictions` returns them.
        """
        if not np.iterable(keep) or isinstance(keep, str | bytes) or not all(isinstance(name, str) for name in keep):
            raise ConfigError(f"keep must be a list of the names of columns, got {keep!r}")
        source = as_source(data)
        if source is None:
            whole = as_arrow(data)
            if absent := [name for name in keep if name not in whole.column_names]:
                raise DataError(f"the table lacks {', '.join(map(repr, absent))}, which is to be kept")
            tables: Iterator[pa.Table] = iter([whole])
        else:
            others = [name for name in keep if name not in self.needed and name in source.names]
            of_kept = (source.types_as_written(others) if as_written else source.types()) if others else {}
            tables = self._chunks(source, keep, {name: of_kept[name] for name in others}, progress)
        for table in tables:
            if len(table):
                yield table.select(list(keep)), self.predictions(table)

    # ---- measuring ----

    def evaluate(self, data: Data, metrics: Sequence[str] = (), *, level: float = 0.95) -> "dict[str, Interval]":
        """Return the metrics that suit the task, by name, each with a confidence interval.

        Parameters
        ----------
        data
            Rows of any kind with the target, which the model should not have been trained on.
        metrics : list of str
            Others to compute as well, such as "f2".
        level : float
            The confidence that intervals have.

        Returns
        -------
        dict of Interval
            `.value`, `.low` and `.high` of each metric, that which chose the model first.
        """
        return {one.metric: one for one in Evaluation.of(self, data).intervals(metrics, level)}

    def score(self, data: Data) -> float:
        """Return the metric that chose the model, `metric`, on rows with a target; of a loss, less is better."""
        evaluation = Evaluation.of(self, data)
        return evaluation.chooser()(evaluation.compared)

    def report(self, path: str | os.PathLike[str], data: Data | None = None) -> None:
        """Write one HTML page about the model, which needs no network: how good it is, and what it has learned.

        Parameters
        ----------
        path : str or path
            The page, such as "report.html".
        data
            Rows of any kind with the target, which the model should not have been trained on; None: the rows held out
            of the training, which the object that `linnet.train` returned has, and one from a file has not.
        """
        from linnet.report import facts_of, write_report

        if data is None and self.run is None:
            raise ConfigError("a model from a file has no training rows: give data to report on")
        known: dict[str, Any] = {}
        if self.run is not None:
            known = {"training": self.run.training, "files": self.run.files, "notices": self.run.notices}
        write_report(path, facts_of(self, data, **known))

    def _to_graph(self, inputs: "Inputs") -> "Outputs":
        from linnet.export.onnx.columns import Inputs
        from linnet.export.onnx.file import outputs_of
        from linnet.export.onnx.network import above, if_yes, labels, one_column
        from linnet.tables.onnx import table_columns

        graph = inputs.graph
        answers = outputs_of(self.estimator, Inputs(graph, table_columns(graph, self.schema), self.roles.shifts))
        if self.classes is not None and self.threshold is not None:
            reached = above(graph, one_column(graph, answers["probabilities"], 1), self.threshold)
            answers["label"] = labels(graph, if_yes(graph, reached), self.classes)
        return answers


def _misfits(source: "Source", types: "Types") -> list[str]:
    """What else is wrong: the columns whose first rows do not have their types, in one sentence if there are any."""
    there = [name for name in types if name in source.names]
    try:
        next(source.chunks(there, {name: types[name] for name in there}), None)
    except DataError as error:
        return [str(error)]
    return []


def _known(law: Law | None) -> Law:
    if law is None:
        raise ConfigError(
            "the model file does not have the variance of the residuals, which intervals need: train it again"
        )
    return law
