"""The libraries compared, each behind `setup(workload)` and `epoch(order) -> loss`.

All of them start from the same weights, visit the rows in the given order and
return the mean training loss over the batches of the epoch. Reordering the rows is
part of the epoch. Libraries are imported inside `setup`, because each side runs
in a process of its own that must not load the others.
"""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from harness import fastest
from workloads import Floats, Integers, Workload, initial_weights, load

BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-7
# Updates of a trial of one variant.
TRIAL_STEPS = 400
# Epochs whose losses are compared, before the timed ones.
CHECKED_EPOCHS = 2


class Peer(ABC):
    """One side of the comparison."""

    # How the side was configured, for the report.
    note: str = ""
    compile_seconds: float = 0.0
    # False where the library cannot train exactly this network.
    comparable: bool = True

    @abstractmethod
    def setup(self, workload: Workload) -> None:
        """Load the data and build the model with the common initial weights."""

    @abstractmethod
    def epoch(self, order: Integers) -> float:
        """Train once over the rows in this order and return the mean loss."""


class ScikitLearn(Peer):
    """MLPClassifier, one `partial_fit` call per epoch, with BLAS on one or two threads.

    With no hidden layer it is softmax regression. For two classes it has a single
    logistic output, started from the difference of the two softmax columns.
    """

    def setup(self, workload: Workload) -> None:
        """Choose the number of threads by a trial, then build the classifier."""
        from threadpoolctl import threadpool_limits

        self.workload = workload
        self.comparable = workload.layers[-1] > 2
        self.x, self.y = load(workload)
        few = np.arange(min(workload.rows, TRIAL_STEPS * workload.batch), dtype=np.int32)

        def trial(threads: int) -> Callable[[], float]:
            def run() -> float:
                threadpool_limits(threads)
                return self.epoch(few)

            return run

        self._build()
        threads = fastest((1, 2), trial)
        threadpool_limits(threads)
        self._build()
        self.note = f"{threads} thread(s)" + ("" if self.comparable else ", 1 logistic output")

    def _build(self) -> None:
        from sklearn.neural_network import MLPClassifier

        workload = self.workload
        self.model = MLPClassifier(
            hidden_layer_sizes=workload.layers[1:-1],
            activation=workload.activation,
            solver=workload.optimizer,
            learning_rate_init=workload.lr,
            batch_size=workload.batch,
            momentum=0.0,
            nesterovs_momentum=False,
            beta_1=BETA_1,
            beta_2=BETA_2,
            epsilon=EPSILON,
            alpha=0.0,
            shuffle=False,
        )
        size, classes = workload.batch, workload.layers[-1]
        self.model.partial_fit(self.x[:size], self.y[:size], classes=range(classes))
        weights = initial_weights(workload)
        if not self.comparable:
            kernel, bias = weights[-1]
            weights[-1] = (kernel[:, 1:] - kernel[:, :1], bias[1:] - bias[:1])
        for i, (kernel, bias) in enumerate(weights):
            self.model.coefs_[i][...] = kernel
            self.model.intercepts_[i][...] = bias
        # A fresh optimizer forgets the step that created the arrays.
        del self.model._optimizer

    def epoch(self, order: Integers) -> float:
        """Train one epoch."""
        self.model.partial_fit(self.x[order], self.y[order])
        return float(self.model.loss_)


class Torch(Peer):
    """Plain eager PyTorch on one or two threads, optimizer fused or parameter by parameter."""

    VARIANTS = ((1, "fused"), (1, "plain"), (2, "fused"), (2, "plain"))

    def setup(self, workload: Workload) -> None:
        """Choose threads and optimizer form by a trial, then build the model."""
        import torch

        self.torch = torch
        self.workload = workload
        x, y = load(workload)
        self.x, self.y = torch.from_numpy(x), torch.from_numpy(y).long()
        few = np.arange(min(workload.rows, TRIAL_STEPS * workload.batch), dtype=np.int32)

        def trial(variant: tuple[int, str]) -> Callable[[], float]:
            program = self._build(variant[1])

            def run() -> float:
                torch.set_num_threads(variant[0])
                self.program = program
                return self.epoch(few)

            return run

        threads, form = fastest(self.VARIANTS, trial)
        torch.set_num_threads(threads)
        self.program = self._build(form)
        self.note = f"{threads} thread(s), {form} optimizer"

    def _build(self, form: str) -> tuple[Any, Any]:
        nn, optim = self.torch.nn, self.torch.optim
        activation = {"relu": nn.ReLU, "tanh": nn.Tanh}[self.workload.activation]
        layers: list[Any] = []
        for kernel, bias in initial_weights(self.workload):
            linear = nn.Linear(*kernel.shape)
            with self.torch.no_grad():
                linear.weight.copy_(self.torch.from_numpy(kernel.T))
                linear.bias.copy_(self.torch.from_numpy(bias))
            layers += [linear, activation()]
        model = nn.Sequential(*layers[:-1])
        how: dict[str, Any] = {"fused": True} if form == "fused" else {"foreach": False}
        how["lr"] = self.workload.lr
        if self.workload.optimizer == "sgd":
            return model, optim.SGD(model.parameters(), **how)
        return model, optim.Adam(model.parameters(), betas=(BETA_1, BETA_2), eps=EPSILON, **how)

    def epoch(self, order: Integers) -> float:
        """Train one epoch."""
        torch, size = self.torch, self.workload.batch
        model, optimizer = self.program
        rows = torch.from_numpy(order)
        cross_entropy = torch.nn.functional.cross_entropy
        total = torch.zeros(())
        for x, y in zip(self.x[rows].split(size), self.y[rows].split(size), strict=True):
            optimizer.zero_grad()
            loss = cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.detach()
        return float(total) * size / len(order)


class Jax(Peer):
    """JAX with a whole epoch in one compiled scan and donated parameters.

    Variants: rows gathered before the scan or batch by batch inside it, labels as
    integers or one-hot rows, loop body unrolled or not. The fastest is used.
    """

    VARIANTS = (
        ("before", "int", 1),
        ("before", "one-hot", 1),
        ("inside", "int", 1),
        ("inside", "one-hot", 1),
        ("inside", "one-hot", 8),
    )

    def setup(self, workload: Workload) -> None:
        """Compile every variant, keep the fastest, and start it afresh."""
        import jax

        self.jax = jax
        self.workload = workload
        x, y = load(workload)
        self.x = jax.numpy.asarray(x)
        self.labels = {
            "int": jax.numpy.asarray(y),
            "one-hot": jax.nn.one_hot(y, workload.layers[-1]),
        }
        order = np.arange(workload.rows, dtype=np.int32)

        def trial(variant: tuple[str, str, int]) -> Callable[[], float]:
            program = self._build(variant)

            def run() -> float:
                self.program = program
                return self.epoch(order)

            return run

        best = fastest(self.VARIANTS, trial)
        start = time.perf_counter()
        # Without this the second build would be served from the cache.
        jax.clear_caches()
        self.program = self._build(best)
        self.compile_seconds = time.perf_counter() - start
        self.note = f"gather {best[0]}, {best[1]}, unroll {best[2]}"

    def _build(self, variant: tuple[str, str, int]) -> dict[str, Any]:
        jax = self.jax
        gather, encoding, unroll = variant
        y = self.labels[encoding]
        parameters = jax.tree.map(jax.numpy.array, initial_weights(self.workload))
        moments = ()
        if self.workload.optimizer == "adam":
            moments = tuple(jax.tree.map(jax.numpy.zeros_like, parameters) for _ in range(2))
        state = (parameters, moments, jax.numpy.float32(0.0))
        whole = self._epoch_function(gather, encoding, unroll)
        order = jax.numpy.zeros(self.workload.rows, dtype=np.int32)
        compiled = jax.jit(whole, donate_argnums=0).lower(state, self.x, y, order).compile()
        return {"compiled": compiled, "state": state, "y": y}

    def _step_function(self, encoding: str) -> Callable[..., Any]:
        jax, jnp, workload = self.jax, self.jax.numpy, self.workload
        activation = {"relu": jax.nn.relu, "tanh": jnp.tanh}[workload.activation]

        def mean_loss(parameters: Any, x: Any, y: Any) -> Any:
            for kernel, bias in parameters[:-1]:
                x = activation(x @ kernel + bias)
            kernel, bias = parameters[-1]
            logs = jax.nn.log_softmax(x @ kernel + bias)
            if encoding == "int":
                return -jnp.mean(jnp.take_along_axis(logs, y[:, None], axis=1))
            return -jnp.mean(jnp.sum(y * logs, axis=1))

        def step(state: Any, x: Any, y: Any) -> Any:
            parameters, moments, t = state
            loss, slope = jax.value_and_grad(mean_loss)(parameters, x, y)
            if workload.optimizer == "sgd":
                parameters = jax.tree.map(lambda p, g: p - workload.lr * g, parameters, slope)
                return (parameters, moments, t), loss
            t = t + 1
            rate = workload.lr * jnp.sqrt(1 - BETA_2**t) / (1 - BETA_1**t)
            first, second = moments
            first = jax.tree.map(lambda m, g: m + (1 - BETA_1) * (g - m), first, slope)
            second = jax.tree.map(lambda v, g: v + (1 - BETA_2) * (g * g - v), second, slope)
            parameters = jax.tree.map(
                lambda p, m, v: p - rate * m / (jnp.sqrt(v) + EPSILON),
                parameters,
                first,
                second,
            )
            return (parameters, (first, second), t), loss

        return step

    def _epoch_function(self, gather: str, encoding: str, unroll: int) -> Callable[..., Any]:
        step, scan = self._step_function(encoding), self.jax.lax.scan
        steps, size = self.workload.steps, self.workload.batch

        def whole(state: Any, x: Any, y: Any, order: Any) -> Any:
            if gather == "before":
                xs = x[order].reshape(steps, size, *x.shape[1:])
                ys = y[order].reshape(steps, size, *y.shape[1:])
                state, losses = scan(
                    lambda carry, batch: step(carry, *batch),
                    state,
                    (xs, ys),
                    unroll=unroll,
                )
            else:
                state, losses = scan(
                    lambda carry, rows: step(carry, x[rows], y[rows]),
                    state,
                    order.reshape(steps, size),
                    unroll=unroll,
                )
            return state, losses.mean()

        return whole

    def epoch(self, order: Integers) -> float:
        """Train one epoch."""
        program = self.program
        program["state"], loss = program["compiled"](program["state"], self.x, program["y"], order)
        return float(loss)


class Keras(Peer):
    """Keras `fit` on the JAX backend."""

    def setup(self, workload: Workload) -> None:
        """Build and compile the model."""
        os.environ["KERAS_BACKEND"] = "jax"
        import keras

        self.x, self.y = load(workload)
        self.batch = workload.batch
        keras.backend.clear_session()
        self.model = keras.Sequential([keras.layers.Input(workload.layers[:1])])
        for units in workload.layers[1:-1]:
            self.model.add(keras.layers.Dense(units, workload.activation))
        self.model.add(keras.layers.Dense(workload.layers[-1], "softmax"))
        flat: list[Floats] = []
        for pair in initial_weights(workload):
            flat += pair
        self.model.set_weights(flat)
        if workload.optimizer == "sgd":
            optimizer = keras.optimizers.SGD(workload.lr)
        else:
            optimizer = keras.optimizers.Adam(workload.lr, BETA_1, BETA_2, EPSILON)
        self.model.compile(optimizer, "sparse_categorical_crossentropy")

    def epoch(self, order: Integers) -> float:
        """Train one epoch."""
        history = self.model.fit(
            self.x[order],
            self.y[order],
            batch_size=self.batch,
            shuffle=False,
            verbose=0,
        )
        return float(history.history["loss"][0])


class Linnet(Peer):
    """The package of this repository.

    It shuffles by itself. To compare losses, the checked epochs get their rows in the common order; the timed ones
    read the table in place, in orders of their own.
    """

    def setup(self, workload: Workload) -> None:
        """Build the model with the common initial weights."""
        from linnet.fit.loop.optimizers import SGD, Adam
        from linnet.fit.loop.training import OptimizerState
        from linnet.heads import Categorical
        from linnet.heads.activations import Activation
        from linnet.model.network import Layer, Network

        self.x, self.y = load(workload)
        self.batch = workload.batch
        self.optimizer = SGD(workload.lr) if workload.optimizer == "sgd" else Adam(workload.lr, BETA_1, BETA_2, EPSILON)
        layers = tuple(Layer(units, Activation(workload.activation)) for units in workload.layers[1:])
        self.network = Network(workload.layers[0], layers, Categorical())
        self.theta = np.concatenate([array.ravel() for pair in initial_weights(workload) for array in pair])
        self.state = OptimizerState()
        self.records: Any = None
        self.epochs = 0

    def epoch(self, order: Integers) -> float:
        """Train one epoch."""
        from linnet.data.rows import Rows
        from linnet.fit.loop.training import Plan, Training

        self.epochs += 1
        if self.epochs <= CHECKED_EPOCHS:
            plan = Plan(self.optimizer, batch_size=self.batch, shuffle=False)
            training = Training(
                self.network, self.theta, Rows(self.x[order], labels=self.y[order]), plan, None, self.state
            )
            (record,) = training
            self.theta, self.state = training.theta, training.state()
            return record.numbers["loss"]
        if self.records is None:
            plan = Plan(self.optimizer, epochs=1_000_000, batch_size=self.batch)
            self.records = iter(Training(self.network, self.theta, Rows(self.x, labels=self.y), plan, None, self.state))
        return float(next(self.records).numbers["loss"])


PEERS: dict[str, type[Peer]] = {
    "sklearn": ScikitLearn,
    "torch": Torch,
    "jax": Jax,
    "keras": Keras,
}
SIDES: dict[str, type[Peer]] = {**PEERS, "linnet": Linnet}
