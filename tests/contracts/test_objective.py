"""The core's sums and predictions against the twin: every head, activation, shape, number of rows and memory layout."""

from collections.abc import Callable

import numpy as np
import pytest

from linnet.data.rows import Rows
from linnet.fit.objective import NetworkObjective
from linnet.heads.activations import ACTIVATIONS

from .agreement import assert_agrees
from .cases import (
    ABSOLUTE_OVER,
    DTYPES,
    HEADS,
    SHAPES,
    SQUARED_OVER,
    TOLERANCE,
    Array,
    HeadCase,
    assert_close,
    make_network,
    make_rows,
    make_theta,
    numbers,
    row_weights,
    seed_of,
    table,
)
from .twin import Twin, dense_targets


@pytest.mark.pairwise
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("case", HEADS, ids=str)
def test_every_head_over_every_shape(case: HeadCase, shape: str, dtype: str, weighted: bool) -> None:
    inputs, hidden = SHAPES[shape]
    seed = seed_of(case.name, shape)
    network = make_network(case, inputs, hidden, ("tanh", "relu"))
    rows = make_rows(case, inputs, 33, dtype, seed, weighted=weighted)
    assert_agrees(network, make_theta(network, seed), rows, dtype)


@pytest.mark.pairwise
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", ["no hidden", "thin, 37 inputs", "odd", "wide"])
@pytest.mark.parametrize("case", [*SQUARED_OVER, *ABSOLUTE_OVER], ids=str)
def test_squared_and_absolute_error_over_any_activation(case: HeadCase, shape: str, dtype: str) -> None:
    inputs, hidden = SHAPES[shape]
    seed = seed_of(case.name, shape)
    network = make_network(case, inputs, hidden)
    rows = make_rows(case, inputs, 33, dtype, seed, weighted=True)
    assert_agrees(network, make_theta(network, seed), rows, dtype)


@pytest.mark.pairwise
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [name for name, (_, hidden) in SHAPES.items() if hidden])
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_every_hidden_activation_in_every_shape(name: str, shape: str, dtype: str) -> None:
    inputs, hidden = SHAPES[shape]
    case, seed = HEADS[0], seed_of(name, shape)
    network = make_network(case, inputs, hidden, (name,))
    rows = make_rows(case, inputs, 21, dtype, seed)
    # three exponentials on top of each other leave the range of numbers that can be compared
    theta = make_theta(network, seed, scale=0.3 if name == "exponential" else 1.0)
    assert_agrees(network, theta, rows, dtype, threads=2)


@pytest.mark.pairwise
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 2, 5, 33, 512, 513, 1300])
@pytest.mark.parametrize("shape", ["thin, 901 inputs", "thin, hidden", "odd", "wide"])
def test_any_number_of_rows(shape: str, n: int, dtype: str) -> None:
    inputs, hidden = SHAPES[shape]
    case, seed = HEADS[4], seed_of(shape, n)
    network = make_network(case, inputs, hidden)
    rows = make_rows(case, inputs, n, dtype, seed, weighted=True)
    assert_agrees(network, make_theta(network, seed), rows, dtype)


LAYOUTS: dict[str, Callable[[Array], Array]] = {  # the same numbers in other memory layouts
    "in Fortran order": np.asfortranarray,
    "every second row": lambda x: np.repeat(x, 2, axis=0)[::2],
    "every second column": lambda x: np.repeat(x, 2, axis=1)[:, 1::2],
    "rows backwards": lambda x: x[::-1].copy()[::-1],
    "columns backwards": lambda x: x[:, ::-1].copy()[:, ::-1],
    "one byte past": lambda x: np.concatenate([np.zeros((len(x), 1), x.dtype), x], axis=1)[:, 1:],
    "read only": lambda x: np.frombuffer(x.tobytes(), x.dtype).reshape(x.shape),
}


@pytest.mark.pairwise
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", ["float32", "float64", "uint8"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", ["thin, 37 inputs", "odd"])
def test_any_table_in_memory(shape: str, layout: str, kind: str, dtype: str) -> None:
    inputs, hidden = SHAPES[shape]
    case, seed = HEADS[4], seed_of(layout)
    network = make_network(case, inputs, hidden)
    rows = make_rows(case, inputs, 19, dtype, seed)
    plain = np.random.default_rng(seed).integers(0, 256, (19, inputs)) if kind == "uint8" else table(rows)
    x = LAYOUTS[layout](plain.astype(kind))
    np.testing.assert_array_equal(x, plain)
    rows = Rows(x, labels=rows.labels)
    theta = make_theta(network, seed, scale=0.01 if kind == "uint8" else 1.0)
    assert_agrees(network, theta, rows, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", [*HEADS, *SQUARED_OVER], ids=str)
def test_what_the_head_takes(case: HeadCase, dtype: str) -> None:
    """predict(mean=False) is the linear output z, or what an activation other than the head's own makes of it."""
    network = make_network(case, 6, (4,))
    theta, x = make_theta(network, 5), numbers(6, 40, 6)
    actual = NetworkObjective(network, dtype).predict(theta, x, mean=False)
    assert_close(actual, Twin(network).forward(theta, x)[1][-1], TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", ["no hidden", "thin, 37 inputs", "odd"])
def test_a_layer_without_bias_has_no_gradient_there(shape: str, dtype: str) -> None:
    inputs, hidden = SHAPES[shape]
    network = make_network(HEADS[0], inputs, hidden, bias=False)
    rows = make_rows(HEADS[0], inputs, 20, dtype, 3)
    theta = make_theta(network, 4)
    gradient = NetworkObjective(network, dtype).sums(theta, rows, gradient=True).gradient
    assert gradient is not None
    biases = ~Twin(network).is_weight()
    assert not gradient[biases].any()
    expected = Twin(network).gradient(theta, table(rows), dense_targets(network, rows), row_weights(rows))
    assert_close(gradient, expected, TOLERANCE[dtype])
