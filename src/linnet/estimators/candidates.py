"""The models that a table's task may want, from the simplest on: a constant, linear, generalized linear, a network."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from linnet.errors import ConfigError, unknown_name

if TYPE_CHECKING:
    from linnet.estimators.onnx_file import Answers
    from linnet.persist.onnx_columns import Inputs

Array = NDArray[Any]

MODELS = ("auto", "constant", "linear", "logistic", "softmax", "perceptron", "poisson", "mlp", "sequential")


_OF_PERCEPTRON = ("max_iter",)  # of the parameters of the network
_OPTIONS = {  # by parameter of the network: what the command calls it, if not by the same name
    "hidden_layer_sizes": "hidden",
    "solver": "optimizer",
    "learning_rate_init": "learning-rate",
    "batch_size": "batch-size",
    "max_iter": "epochs",
    "n_iter_no_change": "patience",
}


class ConstantModel:
    """The same answer for every row: the shares of the classes, the mean, or the mean rate of an exposure."""

    def __init__(self, *, classes: bool = False) -> None:
        self.classes = classes

    def fit(self, X: Any, y: Array, sample_weight: Array | None = None, *, exposure: Array | None = None) -> Self:
        """Remember the mean."""
        weights = np.ones(len(y)) if sample_weight is None else sample_weight
        if self.classes:
            self.classes_, codes = np.unique(y, return_inverse=True)
            self.mean_ = np.bincount(codes, weights) / weights.sum()
        else:
            time = weights if exposure is None else weights * exposure
            self.mean_ = np.array([(weights * y).sum() / time.sum()])
        return self

    def predict(self, X: Any, *, exposure: Array | None = None, offset: Array | None = None) -> Array:
        """The most frequent class, or the mean; an offset is not known to it."""
        if self.classes:
            return np.repeat(self.classes_[[self.mean_.argmax()]], len(X))
        return np.full(len(X), self.mean_[0]) * (1.0 if exposure is None else exposure)

    def predict_proba(self, X: Any) -> Array:
        """The shares of the classes."""
        return np.tile(self.mean_, (len(X), 1))

    def _to_graph(self, inputs: "Inputs") -> "Answers":
        from linnet.persist.onnx_network import labels, largest

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
    make: Callable[[], Any]
    takes: tuple[str, ...] = ("sample_weight",)
    from_file: bool = False  # whether its rows may lie in a file, encoded
    proba: bool = True  # whether it has probabilities, if there are classes


def candidates(
    task: str,
    model: str,
    *,
    params: Mapping[str, Any],
    class_weight: Any,
    shifts: Collection[str],
    seed: int,
    threads: int | None,
    verbose: int,
    checkpoint: str | None = None,
) -> list[Candidate]:
    """What to try. `shifts`: which of exposure and offset there are; a model must know what to do with them.

    `checkpoint`: the file that the network, whose name is "mlp", keeps its run in. `params` are those of `TableNetwork`
    if the model is "sequential", else of the network.
    """
    from linnet.estimators.base import parameters
    from linnet.estimators.linear import PoissonRegressor, Ridge
    from linnet.estimators.logistic import LogisticRegression
    from linnet.estimators.mlp_classifier import MLPClassifier
    from linnet.estimators.mlp_regressor import MLPRegressor
    from linnet.estimators.perceptron import Perceptron
    from linnet.estimators.table_network import TableNetwork

    if model not in MODELS:
        raise unknown_name("model", model, MODELS)
    classes = task.endswith("classes")
    if shifts and (classes or (task != "counts" and "exposure" in shifts)):
        raise ConfigError(
            f"--{next(iter(shifts))} is for counts, and the task is {task!r}: set --task, or drop the column"
        )
    common: dict[str, Any] = {"threads": threads, "verbose": verbose}
    if model == "sequential":
        if shifts or class_weight is not None:
            raise ConfigError("--model sequential knows no exposure, offset or class weights: use --model mlp")
        made = TableNetwork(task, **params, seed=seed, **common)
        probabilities = made.loss != "perceptron"
        return [Candidate("sequential", "one network, as asked for", lambda: made, proba=probabilities)]
    exact: dict[str, Any] = {"gaps": "fill", **common}
    defaults = parameters(MLPClassifier)
    asked = [name for name in params if params[name] == defaults[name]]  # for what is the default: it stays
    net: dict[str, Any] = {**params, "preset": ("tabular", *asked) if asked else "tabular", **common}
    net |= {"random_state": seed, "checkpoint": checkpoint}
    everything = ("sample_weight", "exposure", "offset")
    found = []
    if not shifts or task == "counts":
        takes = ("sample_weight", "exposure")
        found.append(
            Candidate("constant", "the same answer for every row", lambda: ConstantModel(classes=classes), takes)
        )
    if classes:
        name = "logistic" if task == "two classes" else "softmax"
        weighted = {"class_weight": class_weight}
        rule: dict[str, Any] = {"random_state": seed, "gaps": "fill", "threads": threads}
        rule |= {name: params[name] for name in _OF_PERCEPTRON if name in params}
        found += [
            Candidate("perceptron", "the mistake-driven rule", lambda: Perceptron(**weighted, **rule), (), proba=False),
            Candidate(name, f"{name} regression", lambda: LogisticRegression(**weighted, **exact), from_file=True),
            Candidate("mlp", "a small ensemble of networks", lambda: MLPClassifier(**weighted, **net)),
        ]
    else:
        if class_weight is not None:
            raise ConfigError(f"--class-weight is for classes, and the task is {task!r}")
        if not shifts:
            linear = Candidate("linear", "linear regression", lambda: Ridge(alpha=1e-3, gaps="fill", threads=threads))
            found.append(replace(linear, from_file=True))
        loss = "squared_error"
        if task == "counts":
            loss, make = "poisson", lambda: PoissonRegressor(alpha=1e-4, **exact)
            found.append(Candidate("poisson", "Poisson regression", make, everything, from_file=True))
        found.append(Candidate("mlp", "a small ensemble of networks", lambda: MLPRegressor(loss, **net), everything))
    if model == "auto":
        return [candidate for candidate in found if candidate.name != "perceptron"]
    same = {"softmax": "logistic", "logistic": "softmax"}
    chosen = [each for each in found if each.name == model or each.name == same.get(model)]
    if not chosen:
        known = ", ".join(each.name for each in found)
        raise ConfigError(f"--model {model} does not suit the task {task!r}: choose from auto, {known}, or set --task")
    known_to = {"mlp": tuple(params), "perceptron": _OF_PERCEPTRON}.get(model, ())
    if unused := [name for name in params if name not in known_to]:
        option = f"--{_OPTIONS.get(unused[0], unused[0])}"
        raise ConfigError(f"{option} is for the network, and --model {model} has no such thing: use auto or mlp")
    return chosen
