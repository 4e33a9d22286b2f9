"""A comparison of the multiclass reductions and softmax regression on one split of the rows."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linnet.arrays import ArrayLike, Table, Targets
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

_MEASURES = {  # by attribute: the column's title and the format of its values
    "classifiers": ("classifiers", "d"),
    "fit_seconds": ("fit s", ".3g"),
    "predict_seconds": ("predict s", ".3g"),
    "accuracy": ("accuracy", ".4f"),
    "macro_f1": ("macro F1", ".4f"),
    "log_loss": ("log loss", ".4f"),
    "calibration_error": ("calibration", ".4f"),
}
_PLOTTED = ("fit_seconds", "predict_seconds", "accuracy", "log_loss")


@dataclass(frozen=True)
class Compared:
    """The times of one model, and its measures on the test rows.

    Parameters
    ----------
    name : str
        The name of the model.
    classifiers : int
        The number of binary classifiers; 1 for a model that is not a reduction.
    fit_seconds, predict_seconds : float
        Wall time of `fit` on the training rows and of `predict` on the test rows.
    accuracy, macro_f1, log_loss : float
        Measures on the test rows.
    calibration_error : float
        Expected calibration error of the predicted class' probability, over ten bins: Σ (share of rows in the bin)
        |accuracy in the bin - mean probability in the bin|.
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
    """Several models fitted to the same rows and measured on the same others; print it for a table.

    `comparison[name]` is the entry of one model.

    Parameters
    ----------
    rows : tuple of Compared
        One entry per model.
    classes : int
        The number of classes.
    train_rows, test_rows : int
        The numbers of rows that the models were fitted to and measured on.
    """

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
        title = f"{self.classes} classes, {self.train_rows} training rows, {self.test_rows} test rows"
        table = [
            "  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]) for line in (head, *lines)
        ]
        return "\n".join([title, *table])

    def plot(self, ax: Any = None) -> Any:
        """Plot fit time, prediction time, accuracy and log loss as bars, one panel each.

        Parameters
        ----------
        ax : four matplotlib axes, default=None
            The axes to draw on; a new figure if None.

        Returns
        -------
        array of four matplotlib axes
            The axes drawn on.
        """
        if ax is None:
            figure = new_axes(None, (11.0, 0.6 + 0.42 * len(self.rows))).figure
            figure.clear()
            ax = figure.subplots(1, len(_PLOTTED), sharey=True)
        axes = np.ravel(ax)
        if len(axes) != len(_PLOTTED):
            raise ConfigError(f"ax must be {len(_PLOTTED)} axes, got {len(axes)}")
        names = [row.name for row in self.rows]
        for axis, key in zip(axes, _PLOTTED, strict=True):
            title, form = _MEASURES[key]
            values = [getattr(row, key) for row in self.rows]
            bars = axis.barh(names, values, color="#4878a8")
            axis.bar_label(bars, [format(value, form) for value in values], padding=3, fontsize=8)
            axis.set_title(title, fontsize=10)
            axis.margins(x=0.25)
            axis.locator_params(axis="x", nbins=4)  # more labels would overlap where values are small
            axis.spines[["top", "right"]].set_visible(False)
        axes[0].invert_yaxis()
        return axes


def compare(
    X: Table,
    y: Targets,
    *,
    estimator: Any = None,
    models: Mapping[str, Any] | None = None,
    test_size: float = 0.25,
    sample_weight: ArrayLike | None = None,
    random_state: Any = 0,
) -> Comparison:
    """Compare the reductions over a binary classifier, and softmax regression, on a stratified split of the rows.

    Softmax regression has the parameters of the binary classifier if that is linnet's or scikit-learn's
    LogisticRegression (without a `class_weight` given as a dict, which weights the two binary classes), otherwise its
    defaults.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (rows, columns)
        The table.
    y : array of shape (rows,)
        The class of each row.
    estimator : classifier, default=None
        The binary classifier of the reductions; None for `LogisticRegression()`.
    models : dict of classifiers by name, default=None
        The models to compare in place of the reductions and softmax regression. Each needs `predict_proba`.
    test_size : float, default=0.25
        The share of test rows in each class, between 0 and 1.
    sample_weight : array of shape (rows,), default=None
        Row weights, in the fits and in all measures.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the split.

    Returns
    -------
    Comparison
        Times and measures of each model; print it for a table, plot it for bars.
    """
    from sklearn.base import clone
    from sklearn.utils import _safe_indexing

    table = as_rows(X)
    count = table.shape[0]
    classes, labels = class_numbers(y, count)
    target = np.asarray(one_target(y, quiet=True))
    weights = row_weights(sample_weight, count)
    share = check_number(test_size, "test_size", above=0, below=1)
    test = _stratified_sample(labels, share, check_random(random_state))
    train = np.setdiff1d(np.arange(count), test)
    if not len(test) or len({*labels[test].tolist()} - {*labels[train].tolist()}):
        raise DataError(f"test_size={test_size!r} leaves no test rows: increase it, or pass more rows per class")
    X_train, X_test = _safe_indexing(table, train), _safe_indexing(table, test)
    y_train, y_test = target[train], target[test]
    w_train, w_test = (None, None) if weights is None else (weights[train], weights[test])
    fit_params = {} if w_train is None else {"sample_weight": w_train}
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
        model.fit(X_train, y_train, **fit_params)
        fitted = time.perf_counter()
        predicted = model.predict(X_test)
        seconds = time.perf_counter() - fitted
        p = model.predict_proba(X_test)
        correct = (predicted == y_test).astype(np.int64)
        rows.append(
            Compared(
                name,
                model.learners_.count if isinstance(model, Reduction) else 1,
                fitted - start,
                seconds,
                accuracy_score(y_test, predicted, sample_weight=w_test),
                float(f1_score(y_test, predicted, average="macro", sample_weight=w_test, zero_division=0)),
                log_loss(y_test, p, labels=model.classes_, sample_weight=w_test),
                expected_calibration_error(correct, p.max(axis=1).clip(0, 1), pos_label=1, sample_weight=w_test),
            )
        )
    return Comparison(tuple(rows), len(classes), len(train), len(test))


def _stratified_sample(labels: NDArray[np.int32], share: float, rng: np.random.RandomState) -> NDArray[np.intp]:
    """Return the indices of a random share of the rows of each class, never of all of them."""
    order = rng.permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    counts = np.bincount(labels)
    rank = np.arange(len(labels)) - np.repeat(np.cumsum(counts) - counts, counts)  # within the class
    sizes = np.minimum(np.round(share * counts), counts - 1)
    return np.sort(order[rank < np.repeat(sizes, counts)])


def _softmax(binary: Any) -> Any:
    """Softmax regression with the parameters of a binary logistic regression, or with its defaults."""
    from sklearn.base import clone
    from sklearn.linear_model import LogisticRegression as SklearnLogisticRegression

    if type(binary) not in (LogisticRegression, SklearnLogisticRegression):
        return LogisticRegression()
    model = clone(binary)
    if isinstance(model.class_weight, Mapping):  # its keys are the two binary classes
        model.set_params(class_weight=None)
    if type(model) is LogisticRegression:
        model.set_params(reference=None)  # likewise one of the two binary classes
    if model.solver == "liblinear":  # which fits two classes only
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
