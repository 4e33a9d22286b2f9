"""Laws of the sums: weights count rows, parts add up to the whole, and no z is too large."""

from decimal import Decimal, localcontext

import numpy as np
import pytest

from linnet.data.rows import Rows
from linnet.fit.objective import NetworkObjective
from linnet.heads import Bernoulli, Categorical, Head, Normal, head_named
from linnet.model.network import Layer, Network

from .cases import DTYPES, HEADS, SHAPES, Array, HeadCase, assert_close, make_network, make_rows, make_theta, seed_of

ROUNDING = {"float32": 1e-6, "float64": 1e-14}  # of a few additions in another order


def pick(rows: Rows, index: Array, weights: Array | None = None) -> Rows:
    cut = {name: None if (v := getattr(rows, name)) is None else v[index] for name in ("labels", "values")}
    return Rows(rows.x[index], weights=weights, **cut)


@pytest.mark.pairwise
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", ["thin, 37 inputs", "odd"])
@pytest.mark.parametrize("case", HEADS, ids=str)
def test_a_whole_weight_is_a_repeated_row(case: HeadCase, shape: str, dtype: str) -> None:
    inputs, hidden = SHAPES[shape]
    seed = seed_of(case.name, shape)
    network = make_network(case, inputs, hidden)
    rows, theta = make_rows(case, inputs, 300, dtype, seed), make_theta(network, seed)
    times = np.random.default_rng(seed).integers(0, 5, len(rows))
    objective = NetworkObjective(network, dtype)
    weighted = objective.sums(theta, rows.weighted(times.astype(dtype)), gradient=True)
    repeated = objective.sums(theta, pick(rows, np.repeat(np.arange(len(rows)), times)), gradient=True)
    assert weighted.weight == repeated.weight == times.sum()
    assert_close(weighted.loss, repeated.loss, ROUNDING[dtype])
    assert_close(weighted.gradient, repeated.gradient, 10 * ROUNDING[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", ["thin, hidden", "odd", "wide"])
def test_parts_add_up_to_the_whole(shape: str, dtype: str) -> None:
    inputs, hidden = SHAPES[shape]
    case = HEADS[4]
    network = make_network(case, inputs, hidden)
    rows, theta = make_rows(case, inputs, 1300, dtype, 1, weighted=True), make_theta(network, 2)
    objective = NetworkObjective(network, dtype)
    whole = objective.sums(theta, rows, gradient=True)
    parts = [objective.sums(theta, rows[cut], gradient=True) for cut in (slice(0, 1), slice(1, 700), slice(700, None))]
    assert whole.weight == sum(part.weight for part in parts)
    assert_close(whole.loss, sum(part.loss for part in parts), 1e-14)  # a row's loss does not depend on the other rows
    gradient = np.sum([part.gradient for part in parts if part.gradient is not None], axis=0)
    assert_close(whole.gradient, gradient, 10 * ROUNDING[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", ["thin, hidden", "odd", "wide"])
def test_a_row_means_the_same_in_any_company(shape: str, dtype: str) -> None:
    inputs, hidden = SHAPES[shape]
    network = make_network(HEADS[4], inputs, hidden)
    rows, theta = make_rows(HEADS[4], inputs, 600, dtype, 3), make_theta(network, 4)
    objective = NetworkObjective(network, dtype)
    whole = objective.predict(theta, rows.x)
    for row in (0, 5, 511, 512, 599):
        np.testing.assert_array_equal(objective.predict(theta, rows.x[row : row + 1])[0], whole[row])


def at_z(head: Head, z: Array, t: Array, dtype: str) -> tuple[Array, Array]:
    """Losses and dloss/dz of single rows: a network that is the identity, whose bias gradient is dz."""
    k = z.shape[1]
    network = Network(k, (Layer(k),), head)
    theta = np.concatenate([np.eye(k).ravel(), np.zeros(k)])
    objective = NetworkObjective(network, dtype)
    sums = [
        objective.sums(theta, Rows(z[i : i + 1].astype(dtype), values=t[i : i + 1].astype(dtype)), gradient=True)
        for i in range(len(z))
    ]
    dz = np.array([s.gradient[-k:] for s in sums if s.gradient is not None])
    return np.array([s.loss for s in sums]), dz


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("family", "z", "t", "loss", "dz"),
    [
        ("normal", 1e3, 1, 999**2 / 2, 999),
        ("normal", -1e3, 1, 1001**2 / 2, -1001),
        ("laplace", 1e3, 1, 999, 1),
        ("laplace", -1e3, 1, 1001, -1),
        ("laplace", 1e3, 1e3, 0, 0),
        ("bernoulli", 1e3, 1, 0, 0),
        ("bernoulli", 1e3, 0, 1e3, 1),
        ("bernoulli", -1e3, 1, 1e3, -1),
        ("bernoulli", -1e3, 0, 0, 0),
        ("bernoulli", 1e3, 0.25, 750, 0.75),
        ("poisson", -1e3, 0, 0, 0),
        ("poisson", -1e3, 3, 3e3, -3),
        ("poisson", 80, 3, np.exp(80) - 240, np.exp(80) - 3),
        ("perceptron", 1e3, 1, 0, 0),
        ("perceptron", 1e3, -1, 1e3, 1),
        ("perceptron", -1e3, 1, 1e3, -1),
        ("perceptron", 0, 1, 0, -1),
        ("perceptron", 0, -1, 0, 1),
    ],
)
def test_far_out(family: str, z: float, t: float, loss: float, dz: float, dtype: str) -> None:
    losses, slopes = at_z(head_named(family), np.array([[z]]), np.array([[t]]), dtype)
    tolerance = 1e-6 if dtype == "float32" else 1e-14
    assert losses[0] == pytest.approx(loss, rel=tolerance, abs=0)
    assert slopes[0, 0] == pytest.approx(dz, rel=tolerance, abs=0)


@pytest.mark.parametrize("dtype", DTYPES)
def test_softmax_far_out(dtype: str) -> None:
    z = np.array([[1e3, 0, -1e3], [1e3, 0, -1e3], [1e3, 0, -1e3], [1e3, 1e3, 1e3], [-1e3, -1e3, -1e3]])
    t = np.eye(3)[[0, 1, 2, 0, 0]]
    losses, slopes = at_z(Categorical(), z, t, dtype)
    assert losses == pytest.approx([0, 1e3, 2e3, np.log(3), np.log(3)], rel=1e-6, abs=0)
    mean = np.array([[1, 0, 0]] * 3 + [[1 / 3] * 3] * 2)
    assert_close(slopes, mean - t, 1e-6 if dtype == "float32" else 1e-15)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("activation", ["sigmoid", "tanh", "softmax", "softplus", "gelu", "silu", "elu", "selu"])
def test_activations_far_out(activation: str, dtype: str) -> None:
    """Squared error over an activation whose slope dies out: finite, with a gradient of zero or one, never NaN."""
    z = np.array([[1e3, -1e3], [-1e3, 1e3], [1e3, 1e3]])
    losses, slopes = at_z(Normal(activation), z, np.zeros((3, 2)), dtype)
    assert np.isfinite(losses).all()
    limits = {"sigmoid": (1, 0), "tanh": (1, -1), "elu": (1e3, -1), "selu": (1050.700987, -1.758099), "softmax": (1, 0)}
    high, low = limits.get(activation, (1e3, 0))
    third = 0.5 if activation == "softmax" else high
    expected = [(high**2 + low**2) / 2] * 2 + [third**2]
    assert losses == pytest.approx(expected, rel=1e-6)
    slope = {"sigmoid": 0, "tanh": 0, "softmax": 0, "selu": 1.050700987}.get(activation, 1)
    expected_dz = np.where(z > 0, slope * high, 0.0)
    assert_close(slopes, expected_dz, 1e-6, scale=max(1.0, float(np.abs(expected_dz).max())))


def exact_loss(family: str, z: list[float], t: list[float]) -> float:
    with localcontext() as context:
        context.prec = 60
        zs, ts = [Decimal(v) for v in z], [Decimal(v) for v in t]
        if family == "bernoulli":
            return float(sum((1 + v.exp()).ln() - u * v for v, u in zip(zs, ts, strict=True)))
        if family == "poisson":
            return float(sum(v.exp() - u * v for v, u in zip(zs, ts, strict=True)))
        total = sum((v.exp() for v in zs), Decimal(0)).ln()
        return float(sum(u * (total - v) for v, u in zip(zs, ts, strict=True)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("family", "z", "t"),
    [
        *[("bernoulli", [z], [t]) for z in (50, -50, 30, -30, 12, -12, 1, 0) for t in (0, 1, 0.5)],
        *[("poisson", [z], [t]) for z in (50, -50, 3) for t in (0, 1, 7)],
        ("categorical", [50, 0], [0, 1]),
        ("categorical", [50, 0], [1, 0]),
        ("categorical", [0, 50, -50], [1, 0, 0]),
        ("categorical", [0, 50, -50], [0, 1, 0]),
        ("categorical", [0, 12, -50], [0, 1, 0]),
        ("categorical", [0, 50, -50], [0, 0, 1]),
        ("categorical", [-50, -50, -50], [0.25, 0.25, 0.5]),
    ],
    ids=str,
)
def test_losses_keep_their_digits(family: str, z: list[float], t: list[float], dtype: str) -> None:
    """A confident and correct prediction has a tiny loss, not zero: e^-50 for z = 50 and t = 1."""
    losses, _ = at_z(head_named(family), np.array([z], float), np.array([t], float), dtype)
    assert losses[0] == pytest.approx(exact_loss(family, z, t), rel=1e-6 if dtype == "float32" else 1e-14, abs=0)


@pytest.mark.parametrize("dtype", DTYPES)
def test_two_classes_are_yes_and_no(dtype: str) -> None:
    """Softmax over (0, z) is the sigmoid of z."""
    z = np.linspace(-60, 60, 41)[:, None]
    t = (np.arange(41) % 2)[:, None].astype(float)
    losses, slopes = at_z(Bernoulli(), z, t, dtype)
    both, both_slopes = at_z(Categorical(), np.hstack([0 * z, z]), np.hstack([1 - t, t]), dtype)
    np.testing.assert_allclose(both, losses, rtol=ROUNDING[dtype])
    assert_close(both_slopes[:, 1:], slopes, ROUNDING[dtype])
    assert_close(both_slopes[:, 0], -both_slopes[:, 1], ROUNDING[dtype])
