import doctest

import numpy as np
import pytest

import linnet.theory.depth as module
from linnet.errors import ConfigError
from linnet.fit.objective import NetworkObjective
from linnet.theory import shallow_vs_deep, square_network


@pytest.mark.parametrize("depth", range(1, 10))
def test_a_folding_network_is_within_a_quarter_more_with_every_layer(depth: int) -> None:
    network, theta = square_network(depth)
    x = np.linspace(0, 1, 2**13 + 1)
    y = NetworkObjective(network, np.float64).predict(theta, x[:, None])[:, 0]
    assert np.abs(y - x**2).max() == pytest.approx(4.0 ** -(depth + 1), rel=1e-6)
    ends = np.linspace(0, 1, 2**depth + 1)
    at_ends = NetworkObjective(network, np.float64).predict(theta, ends[:, None])[:, 0]
    np.testing.assert_allclose(at_ends, ends**2, atol=1e-12)
    assert sum(layer.units for layer in network.layers[:-1]) == 3 * depth - 1


def test_deep_and_shallow_side_by_side() -> None:
    table = shallow_vs_deep(units=(8, 16), depths=(1, 2, 3, 4), starts=1, max_iter=200)
    built = {row.depth: row for row in table.rows if row.made == "built" and row.depth > 1}
    shallow = {row.units: row for row in table.rows if row.made == "built" and row.depth == 1}
    assert built[4].error == pytest.approx(shallow[16].error, rel=1e-3)
    assert built[4].units < 16
    trained = [row for row in table.rows if row.made == "trained"]
    assert {(row.depth, row.units) for row in trained} == {(d, u) for d in (1, 2, 3, 4) for u in (8, 16)}
    one_layer = {row.units: row.error for row in trained if row.depth == 1}
    assert one_layer[16] < one_layer[8] < 0.02
    assert "hidden layers" in str(table)


def test_the_same_seed_gives_the_same_numbers() -> None:
    once, again, other = (shallow_vs_deep(np.cos, 0, 3, units=(6,), depths=(2,), starts=1, seed=s) for s in (1, 1, 2))
    assert once == again
    assert once.rows[-1].error != other.rows[-1].error


def test_of_another_function_only_one_layer_is_built() -> None:
    table = shallow_vs_deep(lambda x: abs(x - 1), 0, 3, units=(2,), depths=(1, 2), starts=1)
    assert [(row.made, row.depth) for row in table.rows] == [("built", 1), ("trained", 1), ("trained", 2)]
    assert table.rows[0].error < 1e-6
    with pytest.raises(ConfigError, match="pass f for the interval"):
        shallow_vs_deep(a=0.0, b=2.0)


def test_odd_arguments_are_named() -> None:
    lists: list[tuple[str, object]] = [("units", ()), ("depths", ()), ("units", 4), ("units", (0,))]
    for name, odd in [*lists, ("max_iter", 0), ("seed", -1), ("starts", 0)]:
        with pytest.raises(ConfigError, match=f"^{name} must be"):
            shallow_vs_deep(**{name: odd})  # type: ignore[arg-type]


def test_it_draws_a_line_a_kind() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    table = shallow_vs_deep(units=(2, 4), depths=(1, 2), starts=1, max_iter=20)
    axes = table.plot()
    assert [line.get_label() for line in axes.lines] == [
        "built, 1 layer",
        "built, 2 layers and more",
        "trained, 1 layer",
        "trained, 2 layers",
    ]
    assert axes.get_yscale() == "log"


def test_the_docstring_is_true() -> None:
    assert doctest.testmod(module).failed == 0
