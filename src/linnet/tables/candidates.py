"""The candidate models for a task, from the simplest on: a constant, (generalized) linear models, a network."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from linnet.errors import ConfigError, Parameter
from linnet.heads import HEADS, Head, NegativeBinomial
from linnet.registry import need, saved
from linnet.tables.options import Options
from linnet.tables.task import Task
from linnet.untrusted import fits

if TYPE_CHECKING:
    from linnet.export.onnx.columns import Inputs
    from linnet.export.onnx.file import Outputs

Array = NDArray[Any]

_NETWORKS = "a small ensemble of networks"
_OF_PERCEPTRON = ("max_iter",)  # of the parameters of the network


@saved
class ConstantModel:
    """The same prediction for every row: the shares of the classes, the mean, or the mean rate per unit of exposure.

    Of counts it also knows the dispersion around it: what any other model must predict better than.
    """

    def __init__(self, *, classes: bool = False, counts: bool = False) -> None:
        self.classes = classes
        self.counts = counts

    def fit(self, X: Any, y: Array, sample_weight: Array | None = None, *, exposure: Array | None = None) -> Self:
        """Store the mean."""
        weights = np.ones(len(y)) if sample_weight is None else sample_weight
        if self.classes:
            self.classes_, codes = np.unique(y, return_inverse=True)
            self.mean_ = np.bincount(codes, weights) / weights.sum()
        else:
            time = weights if exposure is None else weights * exposure
            self.mean_ = np.array([(weights * y).sum() / time.sum()])
            if self.counts:
                mean = self.predict(y, exposure=exposure)[:, None]
                (spread,) = NegativeBinomial(estimated=True).dispersion(mean, y[:, None], weights)
                self.dispersion_ = float(spread)
        return self

    def target_distribution(self) -> tuple[Head, Array] | None:
        """The distribution of counts around the mean."""
        if "dispersion_" not in self.__dict__:  # numbers, and files of before
            return None
        return NegativeBinomial(self.dispersion_, estimated=True), np.array([self.dispersion_])

    def predict(self, X: Any, *, exposure: Array | None = None, offset: Array | None = None) -> Array:
        """The most frequent class, or the mean; it ignores offsets."""
        if self.classes:
            return np.repeat(self.classes_[[self.mean_.argmax()]], len(X))
        return np.full(len(X), self.mean_[0]) * (1.0 if exposure is None else exposure)

    def predict_proba(self, X: Any) -> Array:
        """The shares of the classes."""
        return np.tile(self.mean_, (len(X), 1))

    def _check_file(self) -> None:
        if "mean_" in self.__dict__:
            need(fits(self.mean_, NDArray[np.float64]) and self.mean_.ndim == 1 and len(self.mean_), self, "mean_")
            need(not self.classes or self.classes_.shape == self.mean_.shape, self, "classes_")
            need(0 < self.__dict__.get("dispersion_", 1.0) < np.inf, self, "dispersion_")

    def _to_graph(self, inputs: "Inputs") -> "Outputs":
        from linnet.export.onnx.network import labels, largest

        graph = inputs.graph
        mean = graph.repeat(self.mean_)
        if self.classes:
            return {"label": labels(graph, largest(graph, mean), self.classes_), "probabilities": mean}
        exposure = inputs.role("exposure", ())
        return {"variable": mean if exposure is None else graph.add("Mul", mean, exposure)}


@dataclass(frozen=True)
class Candidate:
    """A model to try: how to make it, and which of weights, exposure and offset its fit takes."""

    name: str
    what: str
    make: Callable[..., Any]
    takes: tuple[str, ...] = ("sample_weight",)
    from_file: bool = False  # whether its rows may lie in a file, encoded
    head: str = ""  # the family of the counts that it fits
    heads: tuple[str, ...] = ()  # of which `make` takes one: that of the best model of counts so far, or the first
    proba: bool = True  # whether it has probabilities, if there are classes
    in_auto: bool = True  # whether it is tried unless another model is asked for
    settings: tuple[str, ...] = ()  # of a network, those that it has
    by_epochs: bool = False  # whether its run can be kept in a checkpoint
    also: str = ""  # another name that users may have for it

    def under(self, head: str) -> "Candidate":
        """This candidate with another of the `heads` that suit it."""
        if head == self.heads[0]:
            return self
        what = f"{self.what}, {HEADS[head].title} loss"
        return replace(self, what=what, make=partial(self.make, head), heads=())


def candidates(task: Task, options: Options) -> list[Candidate]:
    """The models to try: each must support the exposure or offset, and everything else that was requested."""
    from linnet.estimators.linear import Ridge
    from linnet.estimators.linear.counts import count_regressors
    from linnet.estimators.logistic import LogisticRegression
    from linnet.estimators.mlp.classifier import MLPClassifier
    from linnet.estimators.mlp.regressor import MLPRegressor
    from linnet.estimators.perceptron import Perceptron
    from linnet.tables.network import TableNetwork

    classes, model, params, class_weight = task.has_classes, options.model, options.network, options.class_weight
    seed, threads = options.seed, options.threads
    shifts = [name for name in ("exposure", "offset") if getattr(options, name) is not None]
    if shifts and (classes or (task is not Task.COUNTS and "exposure" in shifts)):
        raise ConfigError(
            Parameter(shifts[0]),
            f" is for counts, and the task is {task!r}: set ",
            Parameter("task"),
            ", or drop the column",
        )
    common: dict[str, Any] = {"threads": threads, "verbose": options.verbose}
    if model == "sequential":
        if shifts or class_weight is not None:
            raise ConfigError(
                Parameter("model", "sequential"),
                " does not support ",
                "exposures or offsets" if shifts else Parameter("class_weight"),
                ": use ",
                Parameter("model", "mlp"),
            )
        made = TableNetwork(task, **options.sequential, seed=seed, **common)
        return [Candidate("sequential", "one network, as requested", lambda: made, proba=made.has_proba)]
    exact: dict[str, Any] = {"missing": "fill", **common}
    net: dict[str, Any] = {**params, "preset": "tabular", **common}
    net |= {"random_state": seed, "checkpoint": options.checkpoint}
    of_networks: dict[str, Any] = {"settings": tuple(params), "by_epochs": True}
    everything = ("sample_weight", "exposure", "offset")
    found = []
    if not shifts or task is Task.COUNTS:
        takes = ("sample_weight", "exposure")
        constant: dict[str, Any] = {"classes": classes, "counts": task is Task.COUNTS}
        found.append(
            Candidate("constant", "the same prediction for every row", lambda: ConstantModel(**constant), takes)
        )
    if classes:
        name, other = ("logistic", "softmax") if task is Task.TWO_CLASSES else ("softmax", "logistic")
        weighted: dict[str, Any] = {"class_weight": class_weight}
        rule: dict[str, Any] = {"random_state": seed, "missing": "fill", "threads": threads}
        rule |= {name: params[name] for name in _OF_PERCEPTRON if name in params}
        found += [
            Candidate(
                "perceptron",
                "the mistake-driven rule",
                lambda: Perceptron(**weighted, **rule),
                (),
                proba=False,
                in_auto=False,
                settings=_OF_PERCEPTRON,
            ),
            Candidate(
                name, f"{name} regression", lambda: LogisticRegression(**weighted, **exact), from_file=True, also=other
            ),
            Candidate("mlp", _NETWORKS, lambda: MLPClassifier(**weighted, **net), **of_networks),
        ]
    else:
        if class_weight is not None:
            raise ConfigError(Parameter("class_weight"), f" is for classes, and the task is {task!r}")
        if not shifts:
            linear = Candidate(
                "linear", "linear regression", lambda: Ridge(alpha=1e-3, missing="fill", threads=threads)
            )
            found.append(replace(linear, from_file=True))
        heads: tuple[str, ...] = ()
        if task is Task.COUNTS:
            for head, regressor in count_regressors().items():
                make, words = partial(regressor, alpha=1e-4, **exact), f"{HEADS[head].title} regression"
                found.append(Candidate(head, words, make, everything, from_file=True, head=head))
            heads = tuple(count_regressors())

        def network(head: str = heads[0] if heads else "normal") -> MLPRegressor:
            return MLPRegressor(HEADS[head].losses[0], **net)

        found.append(Candidate("mlp", _NETWORKS, network, everything, heads=heads, **of_networks))
    if model == "auto":
        return [candidate for candidate in found if candidate.in_auto]
    chosen = [each for each in found if model in (each.name, each.also)]
    if not chosen:
        known = ", ".join(each.name for each in found)
        raise ConfigError(
            Parameter("model", model),
            f" does not suit the task {task!r}: choose from auto, {known}, or set ",
            Parameter("task"),
        )
    if unused := [name for name in params if name not in chosen[0].settings]:
        raise ConfigError(
            Parameter(unused[0]),
            " is for the network, and ",
            Parameter("model", model),
            " is not one: use auto or mlp",
        )
    return chosen
