"""Rosenblatt's perceptron: the mistake-driven update, one row at a time."""

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, overload

import numpy as np
from numpy.typing import NDArray

from linnet._sklearn import Classifier, check_fitted, check_form
from linnet.arrays import Table, Targets
from linnet.checks import check_flag, check_number, check_random, check_whole
from linnet.data.encoder import Encoder
from linnet.data.rows import Rows
from linnet.data.targets import class_weights
from linnet.errors import DataError
from linnet.estimators.class_labels import class_numbers
from linnet.estimators.linear.coefficients import HasCoefficients, as_parameters, coefficient_shape
from linnet.estimators.linear.settings import check_gaps
from linnet.evaluate.metric import NamedMetric
from linnet.fit.loop.optimizers import SGD
from linnet.fit.loop.progress import Verbose, check_verbose, follow
from linnet.fit.loop.steps import Slice, Step, wants_steps
from linnet.fit.loop.training import Epoch, Plan, Training
from linnet.fit.solvers.products import linear_output
from linnet.heads import Perceptron as PerceptronHead
from linnet.model.network import Layer, Network
from linnet.registry import saved

if TYPE_CHECKING:
    from linnet.export.onnx.columns import Inputs
    from linnet.export.onnx.file import Outputs


def _mistakes(z: NDArray[Any], rows: Rows) -> float:
    """Return the number of rows that were misclassified, or on the boundary, when they were visited."""
    if rows.values is not None:
        return float((z * rows.values <= 0).sum())
    assert rows.labels is not None
    sign = np.where(rows.labels[:, None] == np.arange(z.shape[1]), 1, -1)
    return float((z * sign <= 0).any(axis=1).sum())


@saved
class Perceptron(HasCoefficients, Classifier):
    """Rosenblatt's perceptron: z = x w + b, and where t z <= 0 (t = ±1), w changes by eta0 t x and b by eta0 t.

    Several classes are separated one-vs-rest. Training ends after an epoch without mistakes (a hyperplane separates the
    classes) or after `max_iter` epochs. There are no row weights: a row of weight two would be two updates at different
    times, so repeat the row. X may be an array, a sparse matrix or a data frame, whose texts and categories have one
    weight per level.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether the model has an intercept, b.
    max_iter : int, default=1000
        The largest number of epochs.
    shuffle : bool, default=True
        Whether rows are shuffled in each epoch.
    eta0 : float, default=1.0
        The learning rate.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the shuffling; None is 0.
    class_weight : dict, "balanced" or None, default=None
        The weight of each class, which multiplies the updates of its rows.
    warm_start : bool, default=False
        Whether a fit starts from the weights of the previous one.
    verbose : int or "auto", default=0
        1 shows a progress bar, 2 prints one line per epoch, "auto" shows a bar on a terminal.
    threads : int or None, default=None
        The largest number of threads; None uses as many as pay off. The result has the same bytes for any
        number.
    gaps : {"refuse", "fill"}, default="refuse"
        Missing values in data frames: refuse them, or fill them in (numeric columns with the median, and an
        indicator column; text and categories with a level of their own).

    Attributes
    ----------
    classes_ : array of shape (classes,)
        The sorted classes.
    coef_ : array of shape (1, coefficients) or (classes, coefficients)
        The weights w.
    intercept_ : array of shape (1,) or (classes,)
        The intercepts b.
    mistakes_ : list of int
        The number of mistakes of each epoch.
    n_iter_ : int
        The number of epochs.
    """

    classes_: NDArray[Any]
    mistakes_: list[int]
    n_iter_: int
    _file_types: ClassVar[Mapping[str, Any]] = {"mistakes_": list[int], "n_iter_": int, "_encoder": Encoder}

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        shuffle: bool = True,
        eta0: float = 1.0,
        random_state: Any = 0,
        class_weight: Mapping[Any, float] | str | None = None,
        warm_start: bool = False,
        verbose: Verbose = 0,
        threads: int | None = None,
        gaps: str = "refuse",
    ) -> None:
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.eta0 = eta0
        self.random_state = random_state
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.verbose = verbose
        self.threads = threads
        self.gaps = gaps

    def fit(self, X: Table, y: Targets) -> Self:
        """Fit the model; if that fails, it stays as it was.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, columns)
            The training table.
        y : array of shape (rows,)
            The class of each row.

        Returns
        -------
        self
            The fitted model.
        """
        made, training = self._prepared(X, y)
        for _ in follow(self._records(made, training), training.plan.epochs, self.verbose):
            pass
        return self

    @overload
    def fit_stream(self, X: Table, y: Targets, *, every: Literal["epoch"] = "epoch") -> Iterator[Epoch]: ...

    @overload
    def fit_stream(self, X: Table, y: Targets, *, every: Literal["step"]) -> Iterator[Step | Epoch]: ...

    def fit_stream(self, X: Table, y: Targets, *, every: str = "epoch") -> Iterator[Step | Epoch]:
        """Fit, yielding each epoch's record as it comes, and with `every="step"` that of each row, too.

        Leaving the loop ends the training; the model keeps what it learned in whole epochs.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, columns)
            The training table.
        y : array of shape (rows,)
            The class of each row.
        every : {"epoch", "step"}, default="epoch"
            With "step", each row has a record, too.

        Yields
        ------
        Step
            The row of a step, its loss and gradient, and the parameters before and after it.
        Epoch
            The mistakes of an epoch.
        """
        every_step = wants_steps(every)
        made, training = self._prepared(X, y)  # now, so that errors come before the first record
        training.every_step = every_step
        return (record for record in self._records(made, training) if isinstance(record, Epoch | Step))

    def _prepared(self, X: object, y: object) -> tuple[Self, Training]:
        """Return a copy of the model that knows the table and its classes, and the run that is to train it."""
        shuffle, _ = (check_flag(getattr(self, name), name) for name in ("shuffle", "warm_start"))
        with_bias = check_flag(self.fit_intercept, "fit_intercept")
        epochs = check_whole(self.max_iter, "max_iter", at_least=1)
        check_verbose(self.verbose)
        check_number(self.eta0, "eta0", above=0)
        if y is None:
            raise DataError("Perceptron requires y to be passed, but the target y is None")
        check_gaps(self.gaps)
        made = copy(self)
        made._encoder, columns = Encoder.learn(X, gaps="fill" if self.gaps == "fill" else "refuse")
        check_form(made, X, reset=True)
        made.classes_, labels = class_numbers(y, len(columns))
        made.mistakes_ = []
        count = len(made.classes_)
        weights = None
        if self.class_weight is not None:
            weights = class_weights(self.class_weight, made.classes_, labels)[labels]
        if count == 2:
            rows = Rows(columns, values=np.where(labels == 1, 1.0, -1.0)[:, None], weights=weights)
        else:
            rows = Rows(columns, labels=labels, weights=weights)
        top = Layer(1 if count == 2 else count, bias=with_bias)
        network = Network(columns.count, (top,), PerceptronHead())
        plan = Plan(
            SGD(self.eta0),
            epochs=epochs,
            batch_size=1,
            shuffle=shuffle,
            seed=self._seed(),
            threads=self.threads,
            metrics=[NamedMetric("mistakes", _mistakes, greater_is_better=False)],
            relative_weights=False,
            rate_name="eta0",
        )
        theta = np.zeros(network.size)
        block = network.blocks(theta)[0]  # views
        if self.warm_start and hasattr(self, "coef_") and coefficient_shape(self.coef_)[::-1] == block.weights.shape:
            block.weights[:], biases = self._parameters()
            if self.fit_intercept:
                block.biases[:] = biases
        return made, Training(network, theta, rows.computed_in("float64"), plan)

    def _records(self, made: Self, training: Training) -> Iterator[Slice | Epoch]:
        """The run's records; the model becomes the one that was made with each epoch, and what it was if that fails."""
        before = self.__dict__
        try:
            for record in training.records():
                if isinstance(record, Epoch):
                    made.mistakes_.append(int(record.numbers["mistakes"]))
                    block = training.network.blocks(training.theta)[0]
                    made.coef_ = np.ascontiguousarray(block.weights[made._encoder.order()].T)
                    made.intercept_ = block.biases.copy()
                    made.n_iter_ = len(made.mistakes_)
                    self.__dict__ = dict(made.__dict__)
                yield record
                if made.mistakes_ and made.mistakes_[-1] == 0:
                    return
        except GeneratorExit:
            raise
        except BaseException:
            self.__dict__ = before
            raise
        if training.interrupted:
            self.__dict__ = before
            raise KeyboardInterrupt

    def _seed(self) -> int:
        seed = 0 if self.random_state is None else self.random_state
        random = check_random(seed)
        return int(seed) if isinstance(seed, Integral) else int(random.randint(2**31))

    def decision_function(self, X: Table) -> NDArray[np.float64]:
        """Return the scores z.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, columns)
            The rows.

        Returns
        -------
        array of shape (rows,) or (rows, classes)
            For two classes one score per row, positive for the second class; else one score per class.
        """
        check_fitted(self)
        check_form(self, X, reset=False)
        z = linear_output(self._encoder.encode(X), *self._parameters(), self.threads)
        return np.asarray(z[:, 0] if len(self.classes_) == 2 else z)

    def predict(self, X: Table) -> NDArray[Any]:
        """Return the predicted class of each row.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (rows, columns)
            The rows to classify.

        Returns
        -------
        array of shape (rows,)
            The predicted classes.
        """
        z = self.decision_function(X)
        return np.asarray(self.classes_[(z > 0).astype(np.intp) if z.ndim == 1 else z.argmax(axis=1)])

    def _parameters(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return weights, columns x outputs in the core's order, and biases, from `coef_` and `intercept_`."""
        count = len(self.classes_)
        return as_parameters(self.coef_, self.intercept_, self._encoder, 1 if count == 2 else count)

    def _check_file(self) -> None:
        super()._check_file()
        if "coef_" in self.__dict__:
            _, biases = self._parameters()
            self._check_outputs(len(biases))

    def _by_epoch(self) -> Mapping[str, Sequence[float]]:
        return {"mistakes": self.mistakes_}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _to_graph(self, inputs: "Inputs") -> "Outputs":
        from linnet.export.onnx.columns import features
        from linnet.export.onnx.network import by_z, linear

        x = features(inputs, self._encoder, "float64")
        outputs = by_z(inputs.graph, linear(inputs.graph, x, *self._parameters()), self.classes_)
        return {name: outputs[name] for name in ("label", "scores")}
