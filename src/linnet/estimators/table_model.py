"""A model of a whole table: how its columns are read, an estimator, its threshold, and where it all came from."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linnet.checks import check_random
from linnet.data.kinds import text_numbers
from linnet.data.schema import Schema
from linnet.data.targets import Labelled
from linnet.errors import ConfigError, DataError, DataWarning, warn
from linnet.estimators.saved import Saved
from linnet.inference import intervals
from linnet.model.heads import Head, Normal, Poisson

if TYPE_CHECKING:
    import pyarrow as pa

    from linnet.data.encoder import Encoded
    from linnet.estimators.onnx_file import Answers
    from linnet.persist.onnx_columns import Inputs

Array = NDArray[Any]
Table = Any  # of pyarrow, or a data frame that narwhals knows

_LONGEST_CLASS = 10_000  # characters


@dataclass(frozen=True, slots=True)
class Roles:
    """Columns with a task of their own; none of them is learned from."""

    target: str
    exposure: str | None = None
    offset: str | None = None
    weights: str | None = None

    def __post_init__(self) -> None:
        given = [(role, name) for role in self.__slots__ if (name := getattr(self, role)) is not None]
        for place, (role, name) in enumerate(given):
            for other, same in given[:place]:
                if name == same:
                    raise ConfigError(f"column {name!r} is given as {other} and as {role}: it can be one of them")

    @property
    def names(self) -> tuple[str, ...]:
        """Those there are."""
        return tuple(name for name in (self.target, self.exposure, self.offset, self.weights) if name is not None)

    @property
    def shifts(self) -> dict[str, str]:
        """Exposure and offset, those there are: what is added to the linear output."""
        both = {"exposure": self.exposure, "offset": self.offset}
        return {name: column for name, column in both.items() if column is not None}


@dataclass(frozen=True, slots=True)
class Tried:
    """A candidate and how it did on the held-out rows."""

    name: str
    what: str  # in words
    scores: dict[str, float]  # by metric, of the held-out rows
    chosen: bool = False
    failed: str = ""  # why, if it did
    seconds: float | None = None  # that it took; not in model files, which are the same for the same run


@dataclass(frozen=True)
class Examples:
    """What an estimator is fitted to."""

    x: "pa.Table | Encoded"
    y: Array | Labelled
    given: dict[str, Array]  # weights, exposure and offset, those there are

    @classmethod
    def of(cls, table: "pa.Table", schema: Schema, roles: Roles, classes: Array | None = None) -> "Examples":
        """Rows that all have a target; `classes`, if they are known."""
        assert schema.task is not None
        return cls(schema.apply(table), target_of(table, schema, schema.task, classes), given_of(table, roles))

    def __len__(self) -> int:
        return len(self.y)


@dataclass(frozen=True)
class TableRows:
    """Rows as a table's model has read them, and what it noticed: `TableModel.read` makes it."""

    x: "pa.Table | Encoded"  # as the estimator takes them
    given: dict[str, Array]  # exposure and offset, those there are
    unseen: dict[str, int]  # rows with a level never seen in training, which has no effect, by column
    rare: dict[str, int]  # rows with a level never seen in training that counts as one of the rare ones, by column
    filled: dict[str, int]  # rows with a gap where training had none, by column

    def __len__(self) -> int:
        return len(self.x)

    def warn(self) -> None:
        """Warn of what was noticed, if anything."""
        for what, counts in (
            ("levels never seen in training, which have no effect", self.unseen),
            ("levels never seen in training, which count as rare ones", self.rare),
            ("gaps where training had none, filled with the median", self.filled),
        ):
            if counts:
                rows = ", ".join(f"{count} in column {name!r}" for name, count in counts.items())
                warn(f"the table has rows with {what}: {rows}", DataWarning)


@dataclass
class TableModel(Saved):
    """A fitted model that takes tables as they come: columns in any order, with gaps, of files or frames."""

    schema: Schema
    roles: Roles
    task: str
    estimator: Any
    classes: Array | None = None  # in the order of probabilities; the second of two is the positive one
    threshold: float | None = None  # on the probability of the positive class
    tried: tuple[Tried, ...] = ()
    metric: str = ""  # that chose
    variance: float | None = None  # of numbers around what is predicted, on the held-out rows
    facts: dict[str, Any] = field(default_factory=dict)  # rows, seed, settings

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns that prediction reads."""
        return (*(column.name for column in self.schema.used), *self.roles.shifts.values())

    @property
    def has_proba(self) -> bool:
        """Whether there are probabilities of classes."""
        return self.classes is not None and hasattr(self.estimator, "predict_proba")

    def read(self, table: Table) -> TableRows:
        """Read rows once for any number of questions: predict, predict_proba, sample, predict_interval."""
        table = as_arrow(table)
        if len(table) == 0:
            raise DataError("the table has no rows")
        x = self.schema.apply(table)
        given = {name: numbers_of(table, role) for name, role in self.roles.shifts.items()}
        rare = self.schema.never_seen(table)
        encoder = getattr(self.estimator, "_encoder", None)
        if encoder is None:
            return TableRows(x, given, {}, rare, {})
        encoded = encoder.encode_table(x)
        return TableRows(encoded, given, dict(encoded.unseen), rare, dict(encoded.filled))

    def _rows(self, table: Table | TableRows) -> TableRows:
        """Rows that were read before, or those of a table, with a warning of what was noticed in it."""
        if isinstance(table, TableRows):
            return table
        rows = self.read(table)
        rows.warn()
        return rows

    def predict(self, table: Table | TableRows) -> Array:
        """The class, mean count or number of each row."""
        rows = self._rows(table)
        if self.threshold is not None and self.classes is not None:
            positive = self.predict_proba(rows)[:, 1] >= self.threshold
            return np.asarray(self.classes[positive.astype(np.intp)])
        return np.asarray(self.estimator.predict(rows.x, **rows.given))

    def predict_proba(self, table: Table | TableRows) -> Array:
        """The probability of each class, rows x classes."""
        if self.classes is None:
            raise ConfigError(f"{self.task!r} has no probabilities: the model predicts numbers")
        if not self.has_proba:
            raise ConfigError(f"{type(self.estimator).__name__} has no probabilities: train --model logistic or mlp")
        return np.asarray(self.estimator.predict_proba(self._rows(table).x))

    def sample(self, table: Table | TableRows, random_state: Any = None) -> Array:
        """Return a target for each row, drawn from its predicted distribution.

        `random_state`: a whole number, a RandomState or Generator of numpy.random, or None for NumPy's own.
        """
        rows = self._rows(table)
        if hasattr(self.estimator, "sample"):
            return np.asarray(self.estimator.sample(rows.x, random_state=random_state, **rows.given))
        if self.classes is not None:
            from linnet.estimators.logistic import drawn

            return np.asarray(drawn(self.predict_proba(rows), self.classes, random_state))
        return np.asarray(intervals.draw(*self._distribution(rows), check_random(random_state))[:, 0])

    def predict_interval(self, table: Table | TableRows, level: float = 0.95) -> tuple[Array, Array]:
        """Limits between which a new value of each row lies with the given probability.

        A network has a distribution of its own. Around other models' counts it is Poisson's, and around their numbers a
        normal one, whose variance is that of the residuals of the held-out rows.
        """
        if self.classes is not None:
            raise ConfigError(f"intervals are of numbers, and the task is {self.task!r}: --proba says how sure it is")
        rows = self._rows(table)
        if hasattr(self.estimator, "predict_interval"):
            low, high = self.estimator.predict_interval(rows.x, level, **rows.given)
            return np.asarray(low), np.asarray(high)
        low, high = intervals.interval(*self._distribution(rows), level)
        return low[:, 0], high[:, 0]

    def _distribution(self, rows: TableRows) -> tuple[Head, Array, Array]:
        """Of a new value of each row: the head, the mean, the dispersion."""
        mean = self.predict(rows)[:, None]
        if self.task == "counts" and (mean > 0).all():
            return Poisson(), mean, np.ones(1)
        if self.variance is None:
            raise ConfigError("the model file does not say how far numbers lie from what is predicted: train it again")
        return Normal(), mean, np.array([self.variance])

    def measure(self, said: Array, y: Array, weights: Array | None) -> None:
        """Note how far numbers lie from what was said of them."""
        if self.classes is None:
            with np.errstate(over="ignore"):
                self.variance = float(np.average((y - said) ** 2, weights=weights))

    def target_of(self, table: "pa.Table") -> Array:
        """The target of rows that all have one."""
        return target_of(table, self.schema, self.task, self.classes)

    def _to_graph(self, inputs: "Inputs") -> "Answers":
        from linnet.estimators.onnx_file import answers_of
        from linnet.persist.onnx_columns import Inputs, table_columns
        from linnet.persist.onnx_network import above, if_yes, labels, one_column

        graph = inputs.graph
        answers = answers_of(self.estimator, Inputs(graph, table_columns(graph, self.schema), self.roles.shifts))
        if self.classes is not None and self.threshold is not None:
            reached = above(graph, one_column(graph, answers["probabilities"], 1), self.threshold)
            answers["label"] = labels(graph, if_yes(graph, reached), self.classes)
        return answers


def as_arrow(table: Table) -> "pa.Table":
    """A table of pyarrow, or a data frame of any library as one."""
    import pyarrow as pa

    from linnet.data.frames import as_frame

    if isinstance(table, pa.Table):
        return table
    frame = None if table is None or isinstance(table, dict) else as_frame(table, "the table")
    if frame is None:
        raise DataError(f"a model of a table takes data frames, or tables of pyarrow, not {type(table).__name__}")
    try:
        return frame.to_arrow()
    except (pa.ArrowException, TypeError) as error:  # such as numbers and text in one column
        raise DataError(f"the data frame cannot be read as a table: {' '.join(map(str, error.args))}") from None


def numbers_of(table: "pa.Table", name: str) -> Array:
    """A column of finite numbers, or an error that names row and column."""
    import pyarrow as pa

    if name not in table.column_names:
        raise DataError(f"column {name!r} is missing: the table has {', '.join(table.column_names[:20])}")
    try:
        values = np.asarray(table[name].cast(pa.float64(), safe=False), np.float64)
    except pa.ArrowException:
        raise DataError(f"column {name!r} has type {table[name].type}, where numbers were expected") from None
    if not np.isfinite(values).all():
        raise DataError(f"column {name!r} has no value in row {int(np.argmin(np.isfinite(values)))}")
    return values


def given_of(table: "pa.Table", roles: Roles) -> dict[str, Array]:
    """Weights, exposure and offset of the rows, those there are, by the names that `fit` has for them."""
    columns = {**roles.shifts, **({} if roles.weights is None else {"sample_weight": roles.weights})}
    return {name: numbers_of(table, column) for name, column in columns.items()}


def check_given(table: "pa.Table", roles: Roles, numbers: NDArray[np.int64]) -> None:
    """Refuse weights and exposures that cannot be meant; `numbers` of the rows, as a user counts them."""
    for name, values in given_of(table, roles).items():
        wrong = {"sample_weight": values < 0, "exposure": values <= 0}.get(name)
        if wrong is not None and wrong.any():
            row, what = int(wrong.argmax()), "weights" if name == "sample_weight" else "exposure"
            least = "at least" if name == "sample_weight" else "above"
            raise DataError(
                f"column {getattr(roles, what)!r}, the {what}, has {values[row]:g} in row {numbers[row]:,}: it "
                f"must be {least} 0; put it right, or leave out such rows"
            )
        if name == "sample_weight" and not values.any():
            raise DataError(f"column {roles.weights!r}, the weights, is 0 in every row: no row counts")


def target_of(table: "pa.Table", schema: Schema, task: str, classes: Array | None = None) -> Array:
    """The target as estimators take it: classes as they are written, numbers as numbers."""
    assert schema.target is not None
    name = schema.target.name
    if name not in table.column_names:
        raise DataError(f"the target {name!r} is missing: the table has {', '.join(table.column_names[:20])}")
    if task in ("counts", "a number"):
        values = schema.target_numbers(table)
        row = int(np.argmin(np.isfinite(values)))
        if not np.isfinite(values[row]):
            raise DataError(f"the target {name!r} has no value in row {row}")
        if task == "counts" and (values < 0).any():
            raise DataError(f"the target {name!r} has {values.min():g} in row {int(values.argmin())}: no count")
        return values
    names, codes = _coded(table[name])
    if classes is not None and schema.target.kind == "number":
        style = schema.target.style
        names = _as_known(names, style if str(table[name].type) == "string" else "", classes.tolist(), style)
    found = np.asarray(np.array([*names, ""], dtype=object)[codes])
    row, longest = max(enumerate(map(len, found)), key=lambda one: one[1], default=(0, 0))
    if longest > _LONGEST_CLASS:
        raise DataError(f"the target {name!r} has {longest:,} characters in row {row}: no name of a class")
    if classes is not None:
        unknown = ~np.isin(found, classes)
        if unknown.any():
            row = int(unknown.argmax())
            raise DataError(f"the target {name!r} is {found[row]!r} in row {row}, a class the model has not seen")
    return found


def _as_known(names: list[str], style: str, classes: list[str], their_style: str) -> list[str]:
    """Numbers by the names that they have among the classes: a 0 is written 0.0 in a column with gaps."""
    import pyarrow as pa

    numbers, known = (
        text_numbers(pa.array(written, pa.string()), how or "1,234.5").to_pylist()
        for written, how in ((names, style), (classes, their_style))
    )
    called = {number: name for number, name in zip(known, classes, strict=True) if number is not None}
    pairs = zip(names, numbers, strict=True)
    return [name if name in classes else called.get(number, name) for name, number in pairs]


def class_codes(column: "pa.ChunkedArray", classes: Array) -> NDArray[np.int32]:
    """The places of rows' classes among those given, -1 where it is none of them."""
    names, codes = _coded(column)
    place = {name: code for code, name in enumerate(classes)}
    return np.array([*(place.get(name, -1) for name in names), -1], np.int32)[codes]


def _coded(column: "pa.ChunkedArray") -> tuple[list[str], NDArray[np.int32]]:
    """The different values of a column, as they are written, and every row's place among them."""
    coded = column.combine_chunks().dictionary_encode()
    return [str(value) for value in coded.dictionary.to_pylist()], coded.indices.to_numpy()


def with_target(table: "pa.Table", schema: Schema) -> "pa.Table":
    """The rows that have a target."""
    return table.filter(schema.has_target(table))
