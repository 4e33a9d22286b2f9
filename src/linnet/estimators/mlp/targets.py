"""Specifications of the targets of a model, classes or numbers: their head, and how y is encoded for Rows."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linnet.data.rows import Rows
from linnet.data.sparse import as_dense
from linnet.data.table import Array
from linnet.data.targets import as_values, check_values, class_weights
from linnet.errors import ConfigError, DataError, Parameter
from linnet.estimators.inputs import one_target, row_weights
from linnet.heads import Bernoulli, Categorical, Head


class TargetSpec(ABC):
    """The specification of a model's targets: their head, and how y is encoded as numbers."""

    stratified: ClassVar[bool] = False  # whether validation rows are drawn with the shares of the classes
    has_spread: ClassVar[bool] = False  # whether the dispersion around predictions is measured after a fit

    @property
    @abstractmethod
    def head(self) -> Head:
        """The distribution of the targets."""

    @property
    @abstractmethod
    def outputs(self) -> int:
        """The number of outputs of the network."""

    @property
    @abstractmethod
    def default_metric(self) -> str:
        """The metric that early stopping watches by default."""

    @property
    def attributes(self) -> Mapping[str, Any]:
        """The attributes of a fitted estimator that belong to its targets, by name."""
        return {}

    @property
    def smoothing(self) -> float:
        """The label smoothing of training, from 0 to 1."""
        return 0.0

    @abstractmethod
    def encode(self, y: object, rows: int, name: str) -> Mapping[str, Any]:
        """Return the targets as arguments of Rows. `rows`: their required number; `name`: that of y in errors."""

    @abstractmethod
    def weights(self, rows: Rows, sample_weight: object) -> Array | None:
        """Return the weights of training rows."""

    def aimed_at(self, rows: Rows) -> Rows:
        """Return training rows with smoothed targets; validation and calibration rows keep their targets."""
        return rows


@dataclass(frozen=True, eq=False)
class ClassTargets(TargetSpec):
    """One class per row, or a column of 0 and 1 for each label."""

    stratified = True

    classes: NDArray[Any]  # sorted; for multilabel targets, the indices of the labels
    multilabel: bool
    label_smoothing: float
    class_weight: Mapping[Any, float] | str | None

    @property
    def head(self) -> Head:
        return Bernoulli() if self.multilabel or len(self.classes) == 2 else Categorical()

    @property
    def outputs(self) -> int:
        return 1 if len(self.classes) == 2 and not self.multilabel else len(self.classes)

    @property
    def default_metric(self) -> str:
        return "accuracy"

    @property
    def attributes(self) -> Mapping[str, Any]:
        return {"classes_": self.classes, "_multilabel": self.multilabel}

    @property
    def smoothing(self) -> float:
        return float(self.label_smoothing)

    def encode(self, y: object, rows: int, name: str) -> Mapping[str, Any]:
        return self.numbered(as_class_target(y, name), rows, name)

    def numbered(
        self, target: Array, rows: int, name: str, labels: NDArray[np.int32] | None = None
    ) -> Mapping[str, Any]:
        """Return the targets as arguments of Rows; `labels`: the index of each row's class, if known already."""
        if self.multilabel:
            return {"values": self._binary(target, rows, name), "user_targets": target}
        if labels is None:
            labels = self._numbers(target, rows, name)
        if len(self.classes) == 2:
            return {"values": labels.astype(np.float64)[:, None], "user_targets": target}
        return {"labels": labels, "user_targets": target}

    def _binary(self, target: Array, rows: int, name: str) -> Array:
        count = len(self.classes)
        if target.ndim != 2:
            raise DataError(
                f"{name} has one class per row, but the model has {count} labels: pass a column of 0 and 1 for each"
            )
        if target.shape[1] == 0 or not np.isin(target, (0, 1)).all():
            raise DataError(f"{name} must have one class per row, or a column of 0 and 1 for each label")
        values = as_values(target, target.shape[1], np.float64, rows=rows, name=name)
        if values.shape[1] != count:
            raise DataError(f"{name} has {values.shape[1]} labels, but the model has {count}")
        return values

    def _numbers(self, target: Array, rows: int, name: str) -> NDArray[np.int32]:
        classes = self.classes
        if target.ndim != 1 or len(target) != rows:
            raise DataError(f"{name} must have one class per row, {rows} in all, got shape {target.shape}")
        try:
            indices = np.searchsorted(classes, target).clip(max=len(classes) - 1)
        except TypeError:
            raise DataError(f"{name} holds values of another type than the classes {classes.tolist()}") from None
        wrong = classes[indices] != target
        if wrong.any():
            row = int(wrong.argmax())
            unknown = target[row : row + 1].tolist()[0]
            raise DataError(f"{name} has the class {unknown!r} in row {row}, but the model has {classes.tolist()}")
        return indices.astype(np.int32)

    def weights(self, rows: Rows, sample_weight: object) -> Array | None:
        weights = row_weights(sample_weight, len(rows))
        if self.class_weight is None:
            return weights
        if self.multilabel:
            raise ConfigError(Parameter("class_weight"), " needs one class per row")
        numbers = np.searchsorted(self.classes, rows.targets()).astype(np.int32)
        of_rows = class_weights(self.class_weight, self.classes, numbers, weights)[numbers]
        return np.asarray(of_rows if weights is None else weights * of_rows)

    def aimed_at(self, rows: Rows) -> Rows:
        soft = self.smoothing
        if not soft:
            return rows
        if rows.labels is None:  # binary targets: two classes
            assert rows.values is not None
            return replace(rows, values=rows.values * (1 - soft) + soft / 2)
        count = len(self.classes)
        hot = (rows.labels[:, None] == np.arange(count)) * (1 - soft) + soft / count
        return replace(rows, labels=None, values=hot)


def as_class_target(y: object, name: str) -> Array:
    """Return classes as a one-dimensional array, and multilabel targets as a dense table."""
    target: Array = as_dense(y, name) if hasattr(y, "toarray") else one_target(y)
    return target


@dataclass(frozen=True, eq=False)
class NumberTargets(TargetSpec):
    """One number per row, or several."""

    has_spread = True

    distribution: Head
    columns: int
    one_target: bool  # whether y is one-dimensional

    @property
    def head(self) -> Head:
        return self.distribution

    @property
    def outputs(self) -> int:
        return self.columns

    @property
    def default_metric(self) -> str:
        return self.head.default_metric

    @property
    def attributes(self) -> Mapping[str, Any]:
        return {"_one_target": self.one_target}

    def encode(self, y: object, rows: int, name: str) -> Mapping[str, Any]:
        return self.checked(one_target(y), rows, name)

    def checked(self, target: Array, rows: int, name: str) -> Mapping[str, Any]:
        """Return the targets as arguments of Rows, after checking that they are valid for the head."""
        outputs = 1 if target.ndim == 1 else target.shape[1]
        if outputs != self.outputs:
            raise ConfigError(f"{name} has {outputs} targets, but the model has {self.outputs}")
        values = as_values(target, outputs, np.float64, rows=rows, name=name)
        check_values(values, self.head.is_valid(values), name, self.head.target_requirement)
        return {"values": values, "user_targets": target}

    def weights(self, rows: Rows, sample_weight: object) -> Array | None:
        return row_weights(sample_weight, len(rows))
