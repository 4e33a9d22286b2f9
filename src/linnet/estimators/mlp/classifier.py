"""MLPClassifier: scikit-learn's multilayer perceptron for classification, on linnet's engine and with extensions."""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from linnet._sklearn import Classifier, available_if, check_fitted
from linnet.arrays import ArrayLike, Table, Targets
from linnet.checks import check_number, check_random
from linnet.errors import DataError
from linnet.estimators.class_labels import class_numbers
from linnet.estimators.inputs import EvalSet
from linnet.estimators.mlp.base import NetworkEstimator
from linnet.estimators.mlp.preset import PresetEstimator, has_partial_fit
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
    """The base class of networks for classification."""

    label_smoothing: float
    class_weight: Mapping[Any, float] | str | None
    classes_: NDArray[Any]
    _multilabel: bool

    def fit(
        self,
        X: Table,
        y: Targets,
        sample_weight: ArrayLike | None = None,
        *,
        eval_set: EvalSet | None = None,
        eval_metric: Metrics = None,
    ) -> Self:
        """Train the model; if that fails, it stays as it was.

        With early_stopping=True, training ends when the first metric has not improved for `n_iter_no_change` epochs,
        and the best parameters are kept. Without `eval_set`, early stopping holds out a fraction of the rows.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, columns)
            The training table.
        y : array of shape (rows,) or (rows, labels)
            The class of each row, or a column of 0 and 1 for each label (multilabel).
        sample_weight : array of shape (rows,), default=None
            Row weights: a row of weight w counts as w rows.
        eval_set : (X, y) or (X, y, sample_weight), default=None
            Rows to evaluate after every epoch.
        eval_metric : str, NamedMetric, function, or a sequence of these, default=None
            The metrics of the evaluation: names such as "accuracy", "f1", "log_loss" or "roc_auc", or functions of the
            targets and the probabilities.

        Returns
        -------
        self
            The fitted model.
        """
        return self._fit(X, y, sample_weight, eval_set=eval_set, eval_metric=eval_metric)

    def predict(self, X: Table) -> NDArray[Any]:
        """Return the most probable class of each row, or 0 and 1 for each label.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, columns)
            The rows to classify.

        Returns
        -------
        array of shape (rows,) or (rows, labels)
            The predicted classes.
        """
        mean = self._output(X)
        if self._multilabel:
            return (mean > 0.5).astype(int)
        return np.asarray(self.classes_[mean.argmax(axis=1) if mean.shape[1] > 1 else (mean[:, 0] > 0.5).astype(int)])

    def predict_proba(self, X: Table) -> NDArray[np.float64]:
        """Return the probability of each class, or that of 1 for each label.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, columns)
            The rows to classify.

        Returns
        -------
        array of shape (rows, classes) or (rows, labels)
            The probabilities, in the order of `classes_`.
        """
        check_fitted(self)
        if not self._multilabel and len(self.classes_) == 2:  # from z, both are accurate near 0
            z = self._output(X, mean=False).astype(np.float64)
            return np.hstack([Bernoulli().mean(-z), Bernoulli().mean(z)])
        return self._output(X).astype(np.float64)

    def predict_log_proba(self, X: Table) -> NDArray[np.float64]:
        """Return the logarithm of the probability of each class, accurate even where the probability underflows to 0.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, columns)
            The rows to classify.

        Returns
        -------
        array of shape (rows, classes) or (rows, labels)
            The log-probabilities, in the order of `classes_`.
        """
        z = self._output(X, mean=False).astype(np.float64)
        if self._multilabel:
            return np.asarray(-np.logaddexp(0, -z))
        return log_softmax(np.hstack([np.zeros_like(z), z]) if z.shape[1] == 1 else z)

    def decision_function(self, X: Table) -> NDArray[np.float64]:
        """Return z, the output of the last layer before its activation.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, columns)
            The rows.

        Returns
        -------
        array of shape (rows,), (rows, classes) or (rows, labels)
            The log-odds of the second class for two classes, else one score per class or label.
        """
        z = self._output(X, mean=False).astype(np.float64)
        return z[:, 0] if z.shape[1] == 1 else z

    def sample(self, X: Table, random_state: Any = None) -> NDArray[Any]:
        """Return a class for each row, or 0 and 1 for each label, drawn from the predicted distribution.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, columns)
            The rows.
        random_state : int, RandomState, Generator or None, default=None
            Source of random numbers; None uses NumPy's global one.

        Returns
        -------
        array of shape (rows,) or (rows, labels)
            The drawn classes.
        """
        p = self.predict_proba(X)
        if self._multilabel:
            return Bernoulli().draw(p, np.ones(p.shape[1]), check_random(random_state)).astype(int)
        return np.asarray(self.classes_[draw_class(p, check_random(random_state))])

    # ---- internals ----

    def _to_graph(self, inputs: "Inputs") -> "Outputs":
        from linnet.export.onnx.network import above, by_z

        z, mean = self._current().graph(inputs)
        if self._multilabel:
            label = inputs.graph.cast(above(inputs.graph, mean, 0.5, reached=False), "int64")
            return {"label": label, "probabilities": mean, "scores": z}
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
class MLPClassifier(PresetEstimator, NetworkClassifier):
    """A multilayer perceptron for classification: softmax for several classes, sigmoid for two and for binary labels.

    Minimises (1/n) (Σ_i w_i loss_i + ½ alpha Σ W² + l1 Σ|W|) with n = Σ_i w_i, the number of rows if they have no
    weights. The penalty is divided by n whatever the batch size; scikit-learn's minibatch solvers divide it by the
    rows of a batch instead, so that the same alpha there is n / batch_size times as strong.

    Parameters are scikit-learn's, with some extensions. "auto" is scikit-learn's default, or with `preset="tabular"`
    the default of `TabularClassifier`, which suits most tables; any other value is used as it is:

    | parameter | "auto" | "auto" with preset="tabular" |
    |---|---|---|
    | hidden_layer_sizes, activation, dropout | (100,), "relu", 0.0 | (128, 128), "silu", 0.1 |
    | solver, weight_decay, alpha | "adam", 0.004, 0.0001 | "adamw", 0.02, 0.0 |
    | learning_rate, learning_rate_init | "constant", 0.001 | one epoch of warm-up, then cosine decay to zero; 0.012 |
    | batch_size, max_iter | 200 rows (or all, if fewer), 200 | 128 rows, 25 to 100 epochs by the number of rows |
    | tol, n_iter_no_change | 1e-4, 10 | 0.0, 8 to 25 epochs |
    | validation_fraction, clip_norm | 0.1, None | 0.125, None |

    Networks are trained in float32, or in float64 if a step sees all rows. X may be an array, a sparse matrix or a data
    frame with numbers, categories, text, booleans and missing values.

    Parameters
    ----------
    hidden_layer_sizes : int or sequence of int, default="auto"
        Units of each hidden layer.
    activation : str or Activation, or a sequence of one per hidden layer, default="auto"
        The activation of the hidden layers, such as "relu", "tanh", "silu" or "gelu".
    solver : str or Optimizer, default="auto"
        "adam", "adamw", "sgd", "rmsprop", "adagrad", "lbfgs" (full batch, no epochs), or an optimizer object such as
        `linnet.SGD(0.1, momentum=0.9)`.
    alpha : float, default="auto"
        Strength of the penalty ½ alpha Σ W².
    batch_size : int, default="auto"
        Rows per step.
    learning_rate : str or Schedule, default="auto"
        "constant", "invscaling", "adaptive", "cosine", "exponential", "step", or a schedule object.
    learning_rate_init : float, default="auto"
        The initial learning rate.
    power_t : float, default=0.5
        Exponent of learning_rate="invscaling".
    max_iter : int, default="auto"
        The largest number of epochs, or of iterations of "lbfgs".
    shuffle : bool, default=True
        Whether rows are shuffled in each epoch.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the initial weights and of shuffling. The same seed gives the same bytes for any number of threads.
    tol : float, default="auto"
        The smallest improvement of the loss or metric that counts; for "lbfgs", the largest entry of the gradient at
        the end.
    verbose : int, default=False
        1 shows a progress bar, 2 prints one line per epoch.
    warm_start : bool, default=False
        Whether a fit starts from the parameters of the previous one.
    momentum : float, default=0.9
        Momentum of "sgd".
    nesterovs_momentum : bool, default=True
        Whether "sgd" uses Nesterov's momentum.
    early_stopping : bool, default=False
        Whether training ends when a validation metric stops improving: see `fit`.
    validation_fraction : float, default="auto"
        Fraction of the rows that early stopping holds out.
    beta_1, beta_2 : float, default=0.9 and 0.999
        Decay rates of the moments of "adam" and "adamw".
    epsilon : float, default=1e-8
        Added to the denominator of "adam" and "adamw".
    n_iter_no_change : int or inf, default="auto"
        Epochs without an improvement after which training ends.
    max_fun : int, default=15000
        The largest number of evaluations of the objective by "lbfgs".
    dropout : float or sequence of float, default="auto"
        Rate at which hidden units are dropped in training, one for all hidden layers or one per layer.
    l1 : float, default=0.0
        Strength of the penalty l1 Σ|W|.
    weight_decay : float, default="auto"
        Weight decay of "adamw".
    clip_norm : float or None, default="auto"
        The largest norm of a gradient, which is scaled down to it; None is no limit.
    label_smoothing : float, default=0.0
        e trains towards (1 - e) t + e / classes; validation rows keep their classes.
    class_weight : dict, "balanced" or None, default=None
        The weight of each class, which multiplies the weights of its rows; "balanced" gives all classes the same total.
    checkpoint : path, Checkpoint or None, default=None
        The file from which `linnet.resume` continues after a crash: a path, or Checkpoint(path, epochs= or seconds=).
    preset : {"tabular"} or None, default=None
        Where the defaults and the training procedure come from: see above.
    threads : int or None, default=None
        The largest number of threads; None uses as many as pay off.
    initializer : str, or a sequence of one per layer, default="glorot_uniform"
        How the weights start: "uniform" (within ±1/sqrt(inputs)), "glorot_uniform", "glorot_normal", "he_uniform",
        "he_normal", or "zeros", with which hidden units stay equal. Biases start at 0.

    Attributes
    ----------
    classes_ : array of shape (classes,)
        The sorted classes.
    coefs_, intercepts_ : list of arrays
        The weights (inputs x units) and the biases of each layer of the first network.
    members_ : list of list of Block
        The weights and biases of each layer of each network of the ensemble.
    loss_curve_ : list of float
        The training loss of each epoch.
    validation_scores_ : list of float or None
        The metric that early stopping watches, by epoch.
    history_ : dict of list of float
        All losses and metrics by epoch.
    stop_reason_ : StopReason
        Why training ended.
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
        initializer: str | Sequence[str] = "glorot_uniform",
    ) -> None:
        self._keep(locals())

    @available_if(has_partial_fit)
    def partial_fit(
        self, X: Table, y: Targets, sample_weight: ArrayLike | None = None, classes: ArrayLike | None = None
    ) -> Self:
        """Train for one more epoch, on these rows; an unfitted model is initialised first.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, columns)
            The training rows.
        y : array of shape (rows,)
            Their classes, or a column of 0 and 1 for each label.
        sample_weight : array of shape (rows,), default=None
            Row weights: a row of weight w counts as w rows.
        classes : array, default=None
            All classes that rows of any call may have. Needed in the first call if its rows lack some.

        Returns
        -------
        self
            The fitted model.
        """
        declared = None if classes is None else distinct(as_column(classes, "classes"), "classes")
        if declared is not None and self.__sklearn_is_fitted__() and not np.array_equal(declared, self.classes_):
            raise DataError(f"classes are {declared.tolist()}, but the model has {self.classes_.tolist()}")
        return self._fit(X, y, sample_weight, incremental=True, classes=declared)

    @staticmethod
    def _behind() -> type[NetworkEstimator]:
        from linnet.estimators.tabular.classifier import TabularClassifier  # here, as it imports this module

        return TabularClassifier
