"""Training against the twin: the same batches in the same order, the same steps, to rounding."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from linnet.data.rows import Rows
from linnet.fit.loop import optimizers
from linnet.fit.loop.optimizers import SGD, Adagrad, Adam, AdamW, Optimizer, RMSprop
from linnet.fit.loop.schedules import Cosine
from linnet.fit.loop.training import Plan, Training
from linnet.model.network import Network

from .cases import (
    ALL_HEADS,
    DTYPES,
    HEADS,
    SHAPES,
    Array,
    HeadCase,
    assert_close,
    make_network,
    make_rows,
    make_theta,
    seed_of,
    table,
)
from .twin import Twin
from .twin_training import train

# A large epsilon shows where it stands in a formula, and keeps float32's noise from deciding the sign of a step.
OPTIMIZERS: dict[str, Callable[[float | None], Optimizer]] = {
    "sgd": lambda clip: SGD(0.1, clip_norm=clip),
    "momentum": lambda clip: SGD(0.05, momentum=0.8, clip_norm=clip),
    "nesterov": lambda clip: SGD(0.05, momentum=0.8, nesterov=True, clip_norm=clip),
    "adagrad": lambda clip: Adagrad(0.05, initial_accumulator_value=0.2, epsilon=1e-3, clip_norm=clip),
    "rmsprop": lambda clip: RMSprop(0.01, rho=0.8, epsilon=1e-3, clip_norm=clip),
    "adam": lambda clip: Adam(0.02, beta_1=0.8, beta_2=0.95, epsilon=1e-3, clip_norm=clip),
    "adamw": lambda clip: AdamW(0.02, weight_decay=0.3, beta_1=0.8, beta_2=0.95, epsilon=1e-3, clip_norm=clip),
    "amsgrad": lambda clip: Adam(0.02, beta_1=0.8, beta_2=0.9, epsilon=1e-3, amsgrad=True, clip_norm=clip),
    "amsgrad, decay": lambda clip: AdamW(
        0.02, weight_decay=0.3, beta_1=0.8, beta_2=0.9, epsilon=1e-3, amsgrad=True, clip_norm=clip
    ),
}
# After up to a hundred steps; every step carries the rounding of all before it.
TOLERANCE = {"float32": 1e-5, "float64": 1e-13}


def run(network: Network, theta: Array, rows: Rows, plan: Plan, dtype: str) -> tuple[Array, list[float]]:
    training = Training(network, theta.astype(dtype), rows, plan)
    losses = [record.numbers["loss"] for record in training]
    assert training.theta.dtype == np.dtype(dtype)
    return training.theta, losses


def assert_trains_as_the_twin(
    network: Network, theta: Array, rows: Rows, plan: Plan, dtype: str, moved: float = 1e-3
) -> None:
    actual, losses = run(network, theta, rows, plan, dtype)
    expected, expected_losses = train(network, theta.astype(dtype), rows, plan)
    assert np.abs(expected - theta).max() >= moved
    assert_close(actual, expected, TOLERANCE[dtype], "theta")
    assert_close(losses, expected_losses, TOLERANCE[dtype], "loss")


@pytest.mark.pairwise
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("batch", [1, 7, 32, 45, 150])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_optimizer(name: str, batch: int, dtype: str, weighted: bool) -> None:
    case = HEADS[5]
    network = make_network(case, 17, (6,), l1=0.002, l2=0.03)
    rows = make_rows(case, 17, 320 if batch == 150 else 45, dtype, seed_of(name), weighted=weighted)
    plan = Plan(OPTIMIZERS[name](None), epochs=2, batch_size=batch, seed=batch)
    assert_trains_as_the_twin(network, make_theta(network, 1), rows, plan, dtype)


@pytest.mark.pairwise
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("clip", [0.05, 1.0])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_optimizer_with_clipping(name: str, clip: float, dtype: str) -> None:
    """At 0.05 every step is clipped, at 1 some are; the norm is that of the whole gradient with the penalty."""
    case = HEADS[0]
    network = make_network(case, 7, (9,), l1=0.002, l2=0.3)
    rows = make_rows(case, 7, 40, dtype, 8)
    plan = Plan(OPTIMIZERS[name](clip), epochs=2, batch_size=16, seed=3)
    assert_trains_as_the_twin(network, make_theta(network, 2), rows, plan, dtype)


@pytest.mark.pairwise
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("batch", [513, 700, 1300])
@pytest.mark.parametrize("name", ["sgd", "adam"])
@pytest.mark.parametrize("shape", ["thin, 37 inputs", "odd", "wide"])
def test_batches_larger_than_a_chunk(shape: str, name: str, batch: int, dtype: str) -> None:
    inputs, hidden = SHAPES[shape]
    case = HEADS[4]
    network = make_network(case, inputs, hidden, l2=0.01)
    rows = make_rows(case, inputs, 1300, dtype, 5, weighted=True)
    plan = Plan(OPTIMIZERS[name](None), epochs=2, batch_size=batch, seed=1)
    assert_trains_as_the_twin(network, make_theta(network, 6), rows, plan, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("names", [("sigmoid",), ("softplus",), ("tanh", "exponential", "tanh")], ids=str)
def test_what_is_not_zero_at_zero_stays_out_of_a_thin_layer(names: tuple[str, ...], dtype: str) -> None:
    """Lanes without a unit contain the activation of 0, which must not reach the weights of the layer above."""
    case = HEADS[0]
    network = make_network(case, 5, (21, 3, 19), names)
    rows = make_rows(case, 5, 60, dtype, 9)
    plan = Plan(OPTIMIZERS["adam"](None), epochs=6, batch_size=16, seed=2)
    assert_trains_as_the_twin(network, make_theta(network, 4), rows, plan, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape(shape: str, dtype: str) -> None:
    inputs, hidden = SHAPES[shape]
    case = HEADS[4]
    network = make_network(case, inputs, hidden, ("relu", "tanh"), l2=0.01)
    rows = make_rows(case, inputs, 50, dtype, 9)
    plan = Plan(OPTIMIZERS["nesterov"](None), epochs=1, batch_size=20, seed=2)
    assert_trains_as_the_twin(network, make_theta(network, 10), rows, plan, dtype)


@pytest.mark.pairwise
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", ["float32", "float64", "uint8", "every second column"])
@pytest.mark.parametrize("shape", ["thin, no hidden", "thin, 37 inputs", "thin, hidden", "odd"])
def test_plain_steps_on_single_rows(shape: str, kind: str, dtype: str) -> None:
    """As the perceptron learns: without a penalty, a narrow layer's step is a multiple of the row itself."""
    inputs, hidden = SHAPES[shape]
    case = HEADS[4]
    network = make_network(case, inputs, hidden)
    rows = make_rows(case, inputs, 40, dtype, 29, weighted=True)
    if kind == "uint8":
        rows = replace(rows, x=np.random.default_rng(30).integers(0, 4, table(rows).shape).astype(np.uint8))
    elif kind == "every second column":
        rows = replace(rows, x=np.repeat(table(rows), 2, axis=1)[:, ::2])
    else:
        rows = replace(rows, x=table(rows).astype(kind))
    plan = Plan(SGD(0.02), epochs=2, batch_size=1, seed=4)
    assert_trains_as_the_twin(network, make_theta(network, 31), rows, plan, dtype)


@pytest.mark.pairwise(apart="case name")
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("case", ALL_HEADS, ids=str)
def test_every_head_with_every_optimizer(case: HeadCase, name: str, dtype: str, weighted: bool) -> None:
    network = make_network(case, 5, (6,))
    rows = make_rows(case, 5, 22, dtype, seed_of(case.name), weighted=weighted)
    plan = Plan(OPTIMIZERS[name](None), epochs=1, batch_size=8)
    assert_trains_as_the_twin(network, make_theta(network, 11, scale=0.5), rows, plan, dtype)


def test_every_optimizer_is_here() -> None:
    assert {type(make(None)) for make in OPTIMIZERS.values()} == set(optimizers.OPTIMIZERS.values())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", ["no hidden", "odd", "wide"])
def test_dropout(shape: str, dtype: str) -> None:
    """With the masks of the documented hash: on the inputs and on every hidden layer, in batches and in chunks."""
    inputs, hidden = SHAPES[shape]
    case = HEADS[4]
    rates = [0.2, 0.5, 0.35]
    plain = make_network(case, inputs, hidden)
    layers = [replace(layer, dropout=rate) for layer, rate in zip(plain.layers, rates, strict=False)]
    network = replace(plain, layers=tuple(layers))
    for n, batch in ((40, 7), (600, 600)):
        rows = make_rows(case, inputs, n, dtype, 12)
        plan = Plan(SGD(0.05), epochs=2, batch_size=batch, seed=2**63 + 5)
        assert_trains_as_the_twin(network, make_theta(network, 13), rows, plan, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_schedule_factor_and_absolute_weights(dtype: str) -> None:
    case = HEADS[0]
    network = make_network(case, 5, (6,))
    rows = make_rows(case, 5, 30, dtype, 14, weighted=True)
    optimizer = SGD(Cosine(0.02, warmup=1.5, epochs=3.0, final=0.1))
    for relative in (True, False):
        plan = Plan(optimizer, epochs=4, batch_size=8, loss_factor=2.5, relative_weights=relative, shuffle=False)
        assert_trains_as_the_twin(network, make_theta(network, 15), rows, plan, dtype)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_penalty_is_as_strong_at_any_batch_size(name: str) -> None:
    """Eight copies of the same six rows: every batch has the same mean loss, so only its size differs."""
    case = HEADS[0]
    network = make_network(case, 4, (5,), l1=0.02, l2=0.3)
    rows = make_rows(case, 4, 6, "float64", 16, weighted=True)
    assert rows.values is not None
    assert rows.weights is not None
    rows = Rows(np.tile(table(rows), (8, 1)), values=np.tile(rows.values, (8, 1)), weights=np.tile(rows.weights, 8))
    results = []
    for copies in (1, 2, 4, 8):
        plan = Plan(OPTIMIZERS[name](None), epochs=copies, batch_size=6 * copies, shuffle=False)
        results.append(run(network, make_theta(network, 17), rows, plan, "float64"))
    for theta, _ in results[1:]:
        assert_close(theta, results[0][0], 1e-12)
    per_update = np.array([record for _, losses in results[3:] for record in losses])  # one update per epoch
    assert results[0][1][0] == pytest.approx(per_update.mean(), rel=1e-12)


@pytest.mark.pairwise
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", ["thin, 37 inputs", "no hidden"])
@pytest.mark.parametrize("way", ["fused", "clipped", "chunked"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_biases_are_never_penalised_or_decayed(name: str, way: str, shape: str, dtype: str) -> None:
    """All inputs zero and every target equal to the bias: only the penalty moves anything."""
    inputs, _ = SHAPES[shape]
    network = make_network(HEADS[0], inputs, (), l1=0.01, l2=0.5)
    theta = make_theta(network, 18).astype(dtype)
    bias = theta[-3:].copy()
    n = 600 if way == "chunked" else 20
    rows = Rows(np.zeros((n, inputs), dtype), values=np.tile(bias, (n, 1)))
    plan = Plan(OPTIMIZERS[name](0.1 if way == "clipped" else None), epochs=3, batch_size=n)
    trained, _ = run(network, theta, rows, plan, dtype)
    np.testing.assert_array_equal(trained[-3:], bias)
    large = np.abs(theta[:-3]) > 0.1
    assert (np.abs(trained[:-3]) < np.abs(theta[:-3]))[large].all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_weight_decay_is_apart_from_the_gradient(dtype: str) -> None:
    """AdamW without any gradient: weights shrink by (1 - rate x decay) per step, biases stay."""
    network = make_network(HEADS[0], 5, ())
    theta = make_theta(network, 19).astype(dtype)
    rows = Rows(np.zeros((4, 5), dtype), values=np.tile(theta[-3:], (4, 1)))
    trained, _ = run(network, theta, rows, Plan(AdamW(0.1, weight_decay=0.2), epochs=5), dtype)
    assert_close(trained[:-3], theta[:-3] * 0.98**5, 1e-6 if dtype == "float32" else 1e-15)
    np.testing.assert_array_equal(trained[-3:], theta[-3:])


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_largest_mean_square_is_kept(dtype: str) -> None:
    """AMSGrad's third array only rises, which makes its steps differ from Adam's, or from AdamW's without decay."""
    network = make_network(HEADS[0], 5, (6,))
    rows, theta = make_rows(HEADS[0], 5, 40, dtype, 32), make_theta(network, 33)
    ends, squares = [], []
    for optimizer in (
        Adam(0.1, beta_2=0.8),
        Adam(0.1, beta_2=0.8, amsgrad=True),
        AdamW(0.1, 0, beta_2=0.8, amsgrad=True),
    ):
        training = Training(network, theta.astype(dtype), rows, Plan(optimizer, epochs=20, batch_size=10, seed=1))
        largest = np.zeros(network.size)
        for _ in training:
            _, v, *u = training.state().arrays
            assert len(u) == optimizer.amsgrad
            for array in u:
                assert (array >= v).all()
                assert (array >= largest).all()
                largest = array.copy()
                squares.append((array > v).any())
        ends.append(training.theta)
    assert any(squares)
    assert np.abs(ends[1] - ends[0]).max() > 1e-3
    np.testing.assert_array_equal(ends[1], ends[2])


@pytest.mark.pairwise
@pytest.mark.parametrize("batch", [8, 600])
@pytest.mark.parametrize("clip", [None, 0.1])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_layer_without_bias_never_gets_one(name: str, clip: float | None, batch: int) -> None:
    for inputs, hidden in SHAPES["thin, hidden"], SHAPES["odd"]:
        network = make_network(HEADS[0], inputs, hidden, bias=False)
        rows = make_rows(HEADS[0], inputs, 8 if batch == 8 else 600, "float64", 20)
        plan = Plan(OPTIMIZERS[name](clip), epochs=2, batch_size=batch)
        theta = make_theta(network, 21)
        trained, _ = run(network, theta, rows, plan, "float64")
        assert not trained[~Twin(network).is_weight()].any()
        assert_close(trained, train(network, theta, rows, plan)[0], 1e-12)


class Capture:
    """A metric that records its arguments."""

    name = "capture"
    greater_is_better = True

    def __init__(self) -> None:
        self.means: list[Array] = []

    def __call__(self, mean: Array, rows: Rows) -> float:
        self.means.append(mean.copy())
        return float(len(rows))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", ALL_HEADS, ids=str)
def test_metrics_see_the_means_each_row_was_trained_with(case: HeadCase, dtype: str) -> None:
    network = make_network(case, 5, (6,))
    rows, theta = make_rows(case, 5, 30, dtype, 22), make_theta(network, 23, scale=0.5)
    capture = Capture()
    plan = Plan(SGD(0.01), batch_size=30, metrics=[capture])
    training = Training(network, theta.astype(dtype), rows, plan, validation=rows[:10])
    records = list(training)
    assert (records[0].numbers["capture"], records[0].numbers["val_capture"]) == (30, 10)
    tolerance = 1e-5 if dtype == "float32" else 1e-12
    assert_close(capture.means[0], Twin(network).predict(theta, table(rows)), tolerance, "in training")
    assert_close(capture.means[1], Twin(network).predict(training.theta, table(rows)[:10]), tolerance, "in validation")


def test_validation_is_at_the_parameters_the_epoch_ended_with() -> None:
    case = HEADS[0]
    network = make_network(case, 5, (6,), l2=0.1, dropout=0.3)
    rows, held = (make_rows(case, 5, 30, "float64", seed, weighted=True) for seed in (24, 25))
    training = Training(network, make_theta(network, 26), rows, Plan(SGD(0.05), epochs=2, batch_size=7), held)
    twin = Twin(network)
    for record in training:
        w, t = held.weights, held.values
        assert w is not None
        assert t is not None
        loss = (w * twin.losses(training.theta, table(held), t)).sum() / w.sum() + twin.penalty(training.theta)
        assert record.numbers["val_loss"] == pytest.approx(loss, rel=1e-12)


def test_one_step_of_gradient_descent_by_hand() -> None:
    """x = 2, t = 3, w = 0.5, b = 0.25: z = 1.25, dz = -1.75, so w += r 3.5 and b += r 1.75."""
    network = make_network(HeadCase("normal", HEADS[0].head, 1, "values"), 1, ())
    rows = Rows(np.array([[2.0]]), values=np.array([[3.0]]))
    trained, losses = run(network, np.array([0.5, 0.25]), rows, Plan(SGD(0.1)), "float64")
    assert trained == pytest.approx([0.85, 0.425], rel=1e-15)
    assert losses == [1.75**2 / 2]


def test_the_given_theta_is_left_alone() -> None:
    network = make_network(HEADS[0], 5, ())
    theta = make_theta(network, 27)
    before = theta.copy()
    rows = make_rows(HEADS[0], 5, 10, "float64", 28)
    run(network, theta, rows, Plan(SGD(0.1)), "float64")
    np.testing.assert_array_equal(theta, before)
