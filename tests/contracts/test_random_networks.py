"""Networks that nobody would think of: random shapes, heads, weights and plans against the twin."""

from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from linnet.fit.loop.training import Plan
from linnet.heads.activations import ACTIVATIONS, Activation
from linnet.model.network import Layer, Network

from .agreement import assert_agrees
from .cases import ALL_HEADS, HeadCase, make_rows, make_theta
from .test_training import OPTIMIZERS, assert_trains_as_the_twin

SEEDS = st.integers(0, 2**32 - 1)
DTYPE = st.sampled_from(["float32", "float64"])


@dataclass(frozen=True)
class Drawn:
    network: Network
    case: HeadCase


@st.composite
def networks(draw: st.DrawFn, dropout: float = 0.0) -> Drawn:
    case = draw(st.sampled_from(ALL_HEADS))
    hidden = draw(st.lists(st.tuples(st.integers(1, 40), st.sampled_from(ACTIVATIONS)), max_size=3))
    penalties = st.sampled_from([0.0, 0.01, 0.1])
    layers = [
        Layer(
            units,
            Activation(name, draw(st.sampled_from([0.0, 0.1, 0.3]))),
            dropout=draw(st.sampled_from([0.0, dropout])),
            l1=draw(penalties) / 10,
            l2=draw(penalties),
            bias=draw(st.booleans()),
        )
        for units, name in [*hidden, (case.outputs, "identity")]
    ]
    return Drawn(Network(draw(st.integers(1, 70)), tuple(layers), case.head), case)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    drawn=networks(), n=st.integers(1, 40), seed=SEEDS, dtype=DTYPE, weighted=st.booleans(), threads=st.integers(1, 3)
)
def test_sums_of_any_network(drawn: Drawn, n: int, seed: int, dtype: str, weighted: bool, threads: int) -> None:
    rows = make_rows(drawn.case, drawn.network.inputs, n, dtype, seed, weighted=weighted)
    assert_agrees(drawn.network, make_theta(drawn.network, seed, scale=0.5), rows, dtype, threads)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    drawn=networks(dropout=0.3),
    n=st.integers(2, 40),
    seed=SEEDS,
    weighted=st.booleans(),
    name=st.sampled_from(list(OPTIMIZERS)),
    clip=st.sampled_from([None, 0.5]),
    batch=st.integers(1, 45),
    shuffle=st.booleans(),
    threads=st.integers(1, 3),
)
def test_training_of_any_network(
    drawn: Drawn,
    n: int,
    seed: int,
    weighted: bool,
    name: str,
    clip: float | None,
    batch: int,
    shuffle: bool,
    threads: int,
) -> None:
    rows = make_rows(drawn.case, drawn.network.inputs, n, "float64", seed, weighted=weighted)
    plan = Plan(OPTIMIZERS[name](clip), epochs=2, batch_size=batch, shuffle=shuffle, seed=seed, threads=threads)
    theta = make_theta(drawn.network, seed, scale=0.5)
    assert_trains_as_the_twin(drawn.network, theta, rows, plan, "float64", moved=0)
