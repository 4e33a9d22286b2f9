"""The reductions and softmax regression side by side, on the same rows."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from linnet.checks import check_number, check_random
from linnet.errors import ConfigError, DataError
from linnet.estimators.class_labels import class_numbers
from linnet.estimators.inputs import one_target, row_weights
from linnet.estimators.logistic import LogisticRegression
from linnet.evaluate import accuracy_score, expected_calibration_error, f1_score, log_loss
from linnet.multiclass.base import Reduction, as_rows
from linnet.multiclass.label_tree import LabelTreeClassifier
from linnet.multiclass.one_vs_one import OneVsOneClassifier
from linnet.multiclass.one_vs_rest import OneVsRestClassifier
from linnet.multiclass.output_code import OutputCodeClassifier
from linnet.pictures import new_axes

_MEASURES = {  # by attribute: the column's title, and how a number is written
    "classifiers": ("classifiers", "d"),
    "fit_seconds": ("fit s", ".3g"),
    "predict_seconds": ("predict s", ".3g"),
    "accuracy": ("accuracy", ".4f"),
    "macro_f1": ("macro F1", ".4f"),
    "log_loss": ("log loss", ".4f"),
    "calibration_error": ("calibration", ".4f"),
}
_DRAWN = ("fit_seconds", "predict_seconds", "accuracy", "log_loss")


@dataclass(frozen=True)
class Compared:
    """What one model did: seconds of the fit and of predict, and its answers on rows it has not seen.

    `calibration_error`: of the probability of the class said, over ten bins, Σ (share of the bin) |right - said|.
    """

    name: str
    classifiers: int
    fit_seconds: float
    predict_seconds: float
    accuracy: float
    macro_f1: float
    log_loss: float
    calibration_error: float


@dataclass(frozen=True)
class Comparison:
    """A table, by `print`, and a picture, by `plot`, of models on the same rows."""

    rows: tuple[Compared, ...]
    classes: int
    train_rows: int
    test_rows: int

    def __getitem__(self, name: str) -> Compared:
        for row in self.rows:
            if row.name == name:
                return row
        raise KeyError(name)

    def __str__(self) -> str:
        head = ["", *(title for title, _ in _MEASURES.values())]
        lines = [
            [row.name, *(format(getattr(row, key), form) for key, (_, form) in _MEASURES.items())] for row in self.rows
        ]
        widths = [max(len(line[i]) for line in (head, *lines)) for i in range(len(head))]
        said = f"{self.classes} classes, fitted to {self.train_rows} rows, asked about {self.test_rows} others"
        table = [
            "  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]) for line in (head, *lines)
        ]
        return "\n".join([said, *table])

    def plot(self, ax: Any = None) -> Any:
        """Draw bars of seconds, accuracy and log loss; return the four axes. `ax`: four axes to draw on."""
        if ax is None:
            figure = new_axes(None, (11.0, 0.6 + 0.42 * len(self.rows))).figure
            figure.clear()
            ax = figure.subplots(1, len(_DRAWN), sharey=True)
        axes = np.ravel(ax)
        if len(axes) != len(_DRAWN):
            raise ConfigError(f"ax must be {len(_DRAWN)} axes, got {len(axes)}")
        names = [row.name for row in self.rows]
        for axis, key in zip(axes, _DRAWN, strict=True):
            title, form = _MEASURES[key]
            values = [getattr(row, key) for row in self.rows]
            bars = axis.barh(names, values, color="#4878a8")
            axis.bar_label(bars, [format(value, form) for value in values], padding=3, fontsize=8)
            axis.set_title(title, fontsize=10)
            axis.margins(x=0.25)
            axis.locator_params(axis="x", nbins=4)  # so that labels of small numbers do not meet
            axis.spines[["top", "right"]].set_visible(False)
        axes[0].invert_yaxis()
        return axes


def compare(
    X: Any,
    y: Any,
    *,
    estimator: Any = None,
    models: Mapping[str, Any] | None = None,
    test_size: float = 0.25,
    sample_weight: Any = None,
    random_state: Any = 0,
) -> Comparison:
    """Fit the reductions over a binary classifier (by default LogisticRegression()), and softmax regression, to a part
    of the rows, drawn class by class, and compare their answers on the others.

    Softmax regression has the parameters of the binary classifier if that is linnet's or scikit-learn's
    LogisticRegression, but for its weights of two answers (`class_weight={0: ..., 1: ...}`), and its own if it is not.
    `models`: others to compare, by name. Row weights count in the fits and in all measures.
    """
    from sklearn.base import clone
    from sklearn.utils import _safe_indexing

    X = as_rows(X)
    count = X.shape[0]
    classes, labels = class_numbers(y, count)
    y = np.asarray(one_target(y, quiet=True))
    weights = row_weights(sample_weight, count)
    part = check_number(test_size, "test_size", above=0, below=1)
    test = _drawn(labels, part, check_random(random_state))
    train = np.setdiff1d(np.arange(count), test)
    if not len(test) or len({*labels[test].tolist()} - {*labels[train].tolist()}):
        raise DataError(f"test_size={test_size!r} leaves no row to ask about: give more rows of a class, or raise it")
    X_train, X_test = _safe_indexing(X, train), _safe_indexing(X, test)
    w_train, w_test = (None, None) if weights is None else (weights[train], weights[test])
    given = {} if w_train is None else {"sample_weight": w_train}
    rows = []
    models = _models(estimator) if models is None else models
    if not isinstance(models, Mapping):
        raise ConfigError(f"models must be a dict of classifiers by name, got {type(models).__name__}")
    for name, model in models.items():
        if not hasattr(model, "predict_proba"):
            raise ConfigError(f"models[{name!r}], a {type(model).__name__}, has no predict_proba, which log loss needs")
    for name, model in models.items():
        model = clone(model)
        start = time.perf_counter()
        model.fit(X_train, y[train], **given)
        fitted = time.perf_counter()
        said = model.predict(X_test)
        seconds = time.perf_counter() - fitted
        p = model.predict_proba(X_test)
        right = (said == y[test]).astype(np.int64)
        rows.append(
            Compared(
                name,
                model.learners_.count if isinstance(model, Reduction) else 1,
                fitted - start,
                seconds,
                accuracy_score(y[test], said, sample_weight=w_test),
                float(f1_score(y[test], said, average="macro", sample_weight=w_test, zero_division=0)),
                log_loss(y[test], p, labels=model.classes_, sample_weight=w_test),
                expected_calibration_error(right, p.max(axis=1).clip(0, 1), pos_label=1, sample_weight=w_test),
            )
        )
    return Comparison(tuple(rows), len(classes), len(train), len(test))


def _drawn(labels: np.ndarray[Any, np.dtype[np.int32]], part: float, rng: np.random.RandomState) -> Any:
    """A part of the rows of each class, but never all of them."""
    order = rng.permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    counts = np.bincount(labels)
    nth = np.arange(len(labels)) - np.repeat(np.cumsum(counts) - counts, counts)
    wanted = np.minimum(np.round(part * counts), counts - 1)
    return np.sort(order[nth < np.repeat(wanted, counts)])


def _softmax(binary: Any) -> Any:
    """Softmax regression with the parameters of a binary logistic regression, or with its own."""
    from sklearn.base import clone
    from sklearn.linear_model import LogisticRegression as Theirs

    if type(binary) not in (LogisticRegression, Theirs):
        return LogisticRegression()
    model = clone(binary)
    if isinstance(model.class_weight, Mapping):  # of no and yes
        model.set_params(class_weight=None)
    if type(model) is LogisticRegression:
        model.set_params(reference=None)  # is one of two, too
    if model.solver == "liblinear":  # which tells two classes apart alone
        model.set_params(solver="saga")
    return model


def _models(estimator: Any) -> dict[str, Any]:
    estimator = LogisticRegression() if estimator is None else estimator
    return {
        "softmax": _softmax(estimator),
        "one-vs-rest": OneVsRestClassifier(estimator),
        "one-vs-one": OneVsOneClassifier(estimator),
        "output codes": OutputCodeClassifier(estimator, random_state=0),
        "label tree": LabelTreeClassifier(estimator, tree="confusion"),
    }
