"""MLPClassifier: scikit-learn's multilayer perceptron for classes on linnet's engine, with what it lacks."""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from linnet._sklearn import Classifier, available_if, check_fitted
from linnet.checks import check_number, check_random
from linnet.errors import DataError
from linnet.estimators.class_labels import class_numbers
from linnet.estimators.mlp.base import NetworkEstimator
from linnet.estimators.mlp.preset import PresetDoor, goes_by_batches
from linnet.estimators.mlp.problem import Metrics
from linnet.estimators.mlp.settings import Activations, Settings
from linnet.estimators.mlp.targets import ClassTargets, as_class_target
from linnet.evaluate.inputs import as_column, distinct
from linnet.fit.checkpoint.checkpoint import Checkpoint
from linnet.fit.loop.optimizers import Optimizer
from linnet.fit.loop.schedules import Schedule
from linnet.heads import Bernoulli, draw_class, log_softmax
from linnet.registry import saved

if TYPE_CHECKING:
    from linnet.export.onnx.columns import Inputs
    from linnet.export.onnx.file import Outputs


class NetworkClassifier(Classifier, NetworkEstimator):
    """What a network for classes can do."""

    label_smoothing: float
    class_weight: Mapping[Any, float] | str | None
    classes_: NDArray[Any]
    _multilabel: bool

    def fit(
        self,
        X: object,
        y: object,
        sample_weight: object = None,
        *,
        eval_set: object = None,
        eval_metric: Metrics = None,
    ) -> Self:
        """Train. `y`: one class per row, or a column of 0 and 1 for each label (multilabel).

        `eval_set`, (X, y) or (X, y, sample_weight), is evaluated after every epoch by `eval_metric`: one or several of
        accuracy, f1, f2, log_loss, roc_auc, ..., a NamedMetric or a function of the targets and probabilities. With
        early_stopping=True training ends when the first metric has not improved for `n_iter_no_change` epochs, and the
        best parameters are kept. Without eval_set, early_stopping holds out part of the rows.
        """
        return self._fit(X, y, sample_weight, eval_set=eval_set, eval_metric=eval_metric)

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
        """Return the last layer's linear output z: one number per row for two classes, else one per class."""
        z = self._output(X, mean=False).astype(np.float64)
        return z[:, 0] if z.shape[1] == 1 else z

    def sample(self, X: object, random_state: Any = None) -> NDArray[Any]:
        """Return a class for each row, or 0 and 1 for each label, drawn from the predicted distribution.

        `random_state`: a whole number, a RandomState or Generator of numpy.random, or None for NumPy's own.
        """
        p = self.predict_proba(X)
        if self._multilabel:
            return Bernoulli().draw(p, np.ones(p.shape[1]), check_random(random_state)).astype(int)
        return np.asarray(self.classes_[draw_class(p, check_random(random_state))])

    # ---- inside ----

    def _to_graph(self, inputs: "Inputs") -> "Outputs":
        from linnet.export.onnx.network import above, by_z

        z, mean = self._current().graph(inputs)
        if self._multilabel:
            yes = inputs.graph.cast(above(inputs.graph, mean, 0.5, reached=False), "int64")
            return {"label": yes, "probabilities": mean, "scores": z}
        return by_z(inputs.graph, z, self.classes_)

    def _settings(self) -> Settings:
        check_number(self.label_smoothing, "label_smoothing", at_least=0, below=1)
        return super()._settings()

    def _learn_targets(self, y: object, rows: int, classes: Any = None) -> tuple[ClassTargets, Mapping[str, Any]]:
        target, labels = as_class_target(y, "y"), None
        if multilabel := target.ndim == 2:
            classes = np.arange(target.shape[1])
        elif classes is None:
            classes, labels = class_numbers(target, rows)
        targets = ClassTargets(classes, multilabel, self.label_smoothing, self.class_weight)
        return targets, targets.numbered(target, rows, "y", labels)

    @property
    def _targets(self) -> ClassTargets:
        return ClassTargets(self.classes_, self._multilabel, self.label_smoothing, self.class_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


@saved
class MLPClassifier(PresetDoor, NetworkClassifier):
    """A multilayer perceptron for classes: softmax over several, the sigmoid for two or for yes/no labels.

    Minimises (1/n) (Σ_i w_i loss_i + ½ alpha Σ W² + l1 Σ|W|) with n = Σ_i w_i, the number of rows if they have no
    weights. The penalty is divided by n whatever the batch size; scikit-learn's solvers by batches divide it by the
    rows of a batch instead, so that the same alpha there is n / batch_size times as strong.

    Parameters are scikit-learn's. "auto" is scikit-learn's default, or with `preset="tabular"` the default of
    `TabularClassifier`, which does what is best for most tables; any other value is used as it is written:

    | parameter | "auto" | "auto" with preset="tabular" |
    |---|---|---|
    | hidden_layer_sizes, activation, dropout | (100,), "relu", 0.0 | (128, 128), "silu", 0.1 |
    | solver, weight_decay, alpha | "adam", 0.004, 0.0001 | "adamw", 0.02, 0.0 |
    | learning_rate, learning_rate_init | "constant", 0.001 | one epoch of warm-up, then a cosine to zero; 0.012 |
    | batch_size, max_iter | 200 rows or all of fewer, 200 | 128 rows, 25 to 100 epochs by the number of rows |
    | tol, n_iter_no_change | 1e-4, 10 | 0.0, 8 to 25 epochs |
    | validation_fraction, clip_norm | 0.1, None | 0.125, None |

    Beyond scikit-learn's parameters: `activation` and `dropout` (the rate at which hidden units are dropped in
    training) for all hidden layers or one for each; `solver` also "adamw" (with `weight_decay`), "rmsprop", "adagrad"
    or an optimizer object; `learning_rate` also "cosine", "exponential", "step" or a schedule object; `l1`;
    `clip_norm`, the largest norm of a gradient; `label_smoothing` e, which trains towards (1 - e) t + e / classes (rows
    for validation keep their classes); `class_weight`; `checkpoint`, a path or Checkpoint(path, epochs= or seconds=),
    from which `linnet.resume` goes on after a crash; `threads`. Trained in float32, or in float64 where a step sees all
    rows; the same `random_state` gives the same bytes for any number of threads.

    X may be an array, a sparse matrix or a data frame with numbers, categories, text, booleans and missing values.
    Learned: `coefs_`, `intercepts_`, `classes_`, `loss_curve_`, `validation_scores_`, `history_` (every number of every
    epoch), `members_` (all networks; `coefs_` are the first one's) and `stop_reason_`.
    """

    def __init__(
        self,
        hidden_layer_sizes: int | Sequence[int] | str = "auto",
        activation: Activations = "auto",
        *,
        solver: str | Optimizer = "auto",
        alpha: float | str = "auto",
        batch_size: int | str = "auto",
        learning_rate: str | Schedule = "auto",
        learning_rate_init: float | str = "auto",
        power_t: float = 0.5,
        max_iter: int | str = "auto",
        shuffle: bool = True,
        random_state: Any = None,
        tol: float | str = "auto",
        verbose: int | bool = False,
        warm_start: bool = False,
        momentum: float = 0.9,
        nesterovs_momentum: bool = True,
        early_stopping: bool = False,
        validation_fraction: float | str = "auto",
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-8,
        n_iter_no_change: float | str = "auto",
        max_fun: int = 15000,
        dropout: float | Sequence[float] | str = "auto",
        l1: float = 0.0,
        weight_decay: float | str = "auto",
        clip_norm: float | str | None = "auto",
        label_smoothing: float = 0.0,
        class_weight: Mapping[Any, float] | str | None = None,
        checkpoint: str | os.PathLike[str] | Checkpoint | None = None,
        preset: str | Sequence[str] | None = None,
        threads: int | None = None,
    ) -> None:
        self._keep(locals())

    @available_if(goes_by_batches)
    def partial_fit(self, X: object, y: object, sample_weight: object = None, classes: object = None) -> Self:
        """Go over these rows once, going on from where the model is. `classes`: all there will ever be."""
        known = None if classes is None else distinct(as_column(classes, "classes"), "classes")
        if known is not None and self.__sklearn_is_fitted__() and not np.array_equal(known, self.classes_):
            raise DataError(f"classes are {known.tolist()}, but the model has {self.classes_.tolist()}")
        return self._fit(X, y, sample_weight, incremental=True, classes=known)

    @staticmethod
    def _behind() -> type[NetworkEstimator]:
        from linnet.estimators.tabular.classifier import TabularClassifier  # which is made of what is here

        return TabularClassifier
