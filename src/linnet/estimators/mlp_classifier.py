"""MLPClassifier: scikit-learn's multilayer perceptron for classes on linnet's engine, with what it lacks."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from linnet.checks import check_number, check_random
from linnet.data.rows import Rows
from linnet.data.sparse import as_dense
from linnet.data.table import Array
from linnet.data.targets import as_values, class_weights
from linnet.errors import ConfigError, DataError
from linnet.estimators.base import Classifier, available_if, check_fitted
from linnet.estimators.linear_model import one_target, row_weights
from linnet.estimators.logistic import class_numbers, drawn
from linnet.estimators.mlp_base import Activations, MultilayerPerceptron, goes_by_batches
from linnet.estimators.mlp_prepare import Metrics
from linnet.fit.checkpoint import Checkpoint
from linnet.fit.optimizers import Optimizer
from linnet.fit.schedules import Schedule
from linnet.model.heads import Bernoulli, Categorical, Head, log_softmax

if TYPE_CHECKING:
    from linnet.estimators.onnx_file import Answers
    from linnet.persist.onnx_columns import Inputs


class MLPClassifier(Classifier, MultilayerPerceptron):
    """A multilayer perceptron for classes: softmax over several, the sigmoid for two or for yes/no labels.

    Minimises (1/n) (Σ_i w_i loss_i + ½ alpha Σ W² + l1 Σ|W|) with n = Σ_i w_i, the number of rows if they have no
    weights. The penalty is divided by n whatever the batch size; scikit-learn's solvers by batches divide it by the
    rows of a batch instead, so that the same alpha there is n / batch_size times as strong.

    Beyond scikit-learn's parameters: `activation` and `dropout` (the rate at which hidden units are dropped in
    training) for all hidden layers or one for each; `solver` also "adamw" (with `weight_decay`), "rmsprop", "adagrad"
    or an optimizer object; `learning_rate` also "cosine", "exponential", "step" or a schedule object; `l1`;
    `clip_norm`, the largest norm of a gradient; `label_smoothing` e, which trains towards (1 - e) t + e / classes (rows
    for validation keep their classes); `class_weight`; `checkpoint`, a path or Checkpoint(path, epochs= or seconds=),
    from which `linnet.resume` goes on after a crash; `threads`. Trained in float32, or in float64 where a step sees all
    rows; the same `random_state` gives the same bytes for any number of threads.

    `preset="tabular"` takes the place of parameters left at their defaults by what is best for most tables: robustly
    scaled columns with gaps filled in, an ensemble of small networks that hold out different rows, calibrated
    probabilities (see linnet.estimators.tabular). `members_` has its networks; `coefs_` are the first one's. With
    `preset=("tabular", "solver")` the parameters named stay as they are, at their defaults too.

    X may be an array, a sparse matrix or a data frame with numbers, categories, text, booleans and missing values.
    Learned: `coefs_`, `intercepts_`, `classes_`, `loss_curve_`, `validation_scores_`, `history_` (every number of every
    epoch) and `stop_reason_`.
    """

    classes_: NDArray[Any]
    _all_classes: NDArray[Any] | None = None  # given to partial_fit, while it runs

    def __init__(
        self,
        hidden_layer_sizes: int | Sequence[int] = (100,),
        activation: Activations = "relu",
        *,
        solver: str | Optimizer = "adam",
        alpha: float = 0.0001,
        batch_size: int | str = "auto",
        learning_rate: str | Schedule = "constant",
        learning_rate_init: float = 0.001,
        power_t: float = 0.5,
        max_iter: int = 200,
        shuffle: bool = True,
        random_state: Any = None,
        tol: float = 1e-4,
        verbose: int | bool = False,
        warm_start: bool = False,
        momentum: float = 0.9,
        nesterovs_momentum: bool = True,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-8,
        n_iter_no_change: float = 10,
        max_fun: int = 15000,
        dropout: float | Sequence[float] = 0.0,
        l1: float = 0.0,
        weight_decay: float = 0.004,
        clip_norm: float | None = None,
        label_smoothing: float = 0.0,
        class_weight: Mapping[Any, float] | str | None = None,
        checkpoint: str | os.PathLike[str] | Checkpoint | None = None,
        preset: str | Sequence[str] | None = None,
        threads: int | None = None,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.solver = solver
        self.alpha = alpha
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.learning_rate_init = learning_rate_init
        self.power_t = power_t
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state
        self.tol = tol
        self.verbose = verbose
        self.warm_start = warm_start
        self.momentum = momentum
        self.nesterovs_momentum = nesterovs_momentum
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon
        self.n_iter_no_change = n_iter_no_change
        self.max_fun = max_fun
        self.dropout = dropout
        self.l1 = l1
        self.weight_decay = weight_decay
        self.clip_norm = clip_norm
        self.label_smoothing = label_smoothing
        self.class_weight = class_weight
        self.checkpoint = checkpoint
        self.preset = preset
        self.threads = threads

    def fit(
        self,
        X: object,
        y: object,
        sample_weight: object = None,
        *,
        eval_set: object = None,
        eval_metric: Metrics = None,
    ) -> Self:
        """Train. `y`: one class a row, or a column of 0 and 1 for each label (multilabel).

        `eval_set`, (X, y) or (X, y, sample_weight), is evaluated after every epoch by `eval_metric`: one or several of
        accuracy, f1, f2, log_loss, roc_auc, ..., a NamedMetric or a function of the targets and probabilities. With
        early_stopping=True training ends when the first metric has not improved for `n_iter_no_change` epochs, and the
        best parameters are kept. Without eval_set, early_stopping holds out part of the rows.
        """
        return self._fit(X, y, sample_weight, eval_set=eval_set, eval_metric=eval_metric)

    @available_if(goes_by_batches)
    def partial_fit(self, X: object, y: object, sample_weight: object = None, classes: object = None) -> Self:
        """Go over these rows once, going on from where the model is. `classes`: all there will ever be."""
        known = None if classes is None else np.unique(np.asarray(classes))
        if known is not None and hasattr(self, "_theta") and not np.array_equal(known, self.classes_):
            raise DataError(f"classes are {known.tolist()}, but the model has {self.classes_.tolist()}")
        self._all_classes = known
        try:
            return self._fit(X, y, sample_weight, incremental=True)
        finally:
            self._all_classes = None

    def predict(self, X: object) -> NDArray[Any]:
        """Return the most probable class of each row, or 0 and 1 for each label."""
        mean = self._output(X)
        if self._multilabel:
            return (mean > 0.5).astype(int)
        return np.asarray(self.classes_[mean.argmax(axis=1) if mean.shape[1] > 1 else (mean[:, 0] > 0.5).astype(int)])

    def predict_proba(self, X: object) -> NDArray[np.float64]:
        """Return the probability of each class, or of "yes" for each label."""
        check_fitted(self)
        if not self._multilabel and len(self.classes_) == 2:  # z has the digits of both
            z = self._output(X, mean=False).astype(np.float64)
            return np.hstack([Bernoulli().mean(-z), Bernoulli().mean(z)])
        return self._output(X).astype(np.float64)

    def predict_log_proba(self, X: object) -> NDArray[np.float64]:
        """Return the logarithm of the probability of each class, with all its digits."""
        z = self._output(X, mean=False).astype(np.float64)
        if self._multilabel:
            return np.asarray(-np.logaddexp(0, -z))
        return log_softmax(np.hstack([np.zeros_like(z), z]) if z.shape[1] == 1 else z)

    def decision_function(self, X: object) -> NDArray[np.float64]:
        """Return the last layer's linear output z: one number a row for two classes, else one a class."""
        z = self._output(X, mean=False).astype(np.float64)
        return z[:, 0] if z.shape[1] == 1 else z

    def sample(self, X: object, random_state: Any = None) -> NDArray[Any]:
        """Return a class for each row, or 0 and 1 for each label, drawn from the predicted distribution.

        `random_state`: a whole number, a RandomState or Generator of numpy.random, or None for NumPy's own.
        """
        p = self.predict_proba(X)
        if self._multilabel:
            return np.asarray(check_random(random_state).random_sample(p.shape) < p, int)
        return drawn(p, self.classes_, random_state)

    # ---- inside ----

    def _to_graph(self, inputs: "Inputs") -> "Answers":
        from linnet.persist.onnx_network import above, by_z

        z, mean = self._output_graph(inputs)
        if self._multilabel:
            yes = inputs.graph.cast(above(inputs.graph, mean, 0.5, reached=False), "int64")
            return {"label": yes, "probabilities": mean, "scores": z}
        return by_z(inputs.graph, z, self.classes_)

    @property
    def _default_metric(self) -> str:
        return "accuracy"

    def _targets(self, y: object, rows: int, name: str, *, fresh: bool) -> tuple[Head, int, dict[str, Any]]:
        target = as_dense(y, name) if hasattr(y, "toarray") else one_target(y)
        if fresh:
            self._multilabel = target.ndim == 2
        if self._multilabel:
            return Bernoulli(), *self._yes_no(target, rows, name, fresh=fresh)
        classes, labels = self._class_numbers(target, rows, name, fresh=fresh)
        if len(classes) == 2:
            return Bernoulli(), 1, {"values": labels.astype(np.float64)[:, None], "given": target}
        return Categorical(), len(classes), {"labels": labels, "given": target}

    def _yes_no(self, target: Array, rows: int, name: str, *, fresh: bool) -> tuple[int, dict[str, Any]]:
        if target.ndim != 2:
            count = len(self.classes_)
            raise DataError(
                f"{name} has one class a row, but the model has {count} labels: give a column of 0 and 1 each"
            )
        if target.shape[1] == 0 or not np.isin(target, (0, 1)).all():
            raise DataError(f"{name} must have one class a row, or a column of 0 and 1 for each label")
        values = as_values(target, target.shape[1], np.float64, rows=rows, name=name)
        if fresh:
            self.classes_ = np.arange(values.shape[1])
        elif values.shape[1] != len(self.classes_):
            raise DataError(f"{name} has {values.shape[1]} labels, but the model has {len(self.classes_)}")
        return values.shape[1], {"values": values, "given": target}

    def _trained_on(self, rows: Rows) -> Rows:
        soft = check_number(self.label_smoothing, "label_smoothing", at_least=0, below=1)
        if not soft:
            return rows
        if rows.labels is None:  # yes or no: one of two
            assert rows.values is not None
            return replace(rows, values=rows.values * (1 - soft) + soft / 2)
        count = len(self.classes_)
        hot = (rows.labels[:, None] == np.arange(count)) * (1 - soft) + soft / count
        return replace(rows, labels=None, values=hot)

    def _class_numbers(
        self, target: Array, rows: int, name: str, *, fresh: bool
    ) -> tuple[NDArray[Any], NDArray[np.int32]]:
        known = self._all_classes if fresh else self.classes_
        if known is None:
            self.classes_, labels = class_numbers(target, rows)
            return self.classes_, labels
        if fresh:
            self.classes_ = known
        if target.ndim != 1 or len(target) != rows:
            raise DataError(f"{name} must have one class a row, {rows} in all, got shape {target.shape}")
        try:
            places = np.searchsorted(known, target).clip(max=len(known) - 1)
        except TypeError:
            raise DataError(f"{name} holds other things than the classes {known.tolist()}") from None
        wrong = known[places] != target
        if wrong.any():
            row = int(wrong.argmax())
            unknown = target[row : row + 1].tolist()[0]
            raise DataError(f"{name} has the class {unknown!r} in row {row}, but the model knows {known.tolist()}")
        return known, places.astype(np.int32)

    def _row_weights(self, rows: Rows, sample_weight: object) -> Array | None:
        weights = row_weights(sample_weight, len(rows))
        if self.class_weight is None:
            return weights
        if self._multilabel:
            raise ConfigError("class_weight needs one class a row")
        numbers = np.searchsorted(self.classes_, rows.targets()).astype(np.int32)
        of_rows = class_weights(self.class_weight, self.classes_, numbers, weights)[numbers]
        return np.asarray(of_rows if weights is None else weights * of_rows)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
