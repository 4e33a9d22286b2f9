"""Backpropagation on one example: the numbers fit together and are those of the engine."""

import re
from typing import Any

import numpy as np
import pytest
import scipy

from linnet.errors import ConfigError
from linnet.heads import HEADS, NegativeBinomial
from linnet.heads.activations import ACTIVATIONS
from linnet.playground import explain as module
from linnet.playground.explain import explain
from linnet.playground.model import heads_of
from linnet.playground.session import Session
from linnet.playground.state import Hidden, State
from linnet.tables.task import Task


def loss_of_row(session: Session, theta: Any, row: int) -> float:
    model = session.model.with_head(session.head).sequential(theta)
    return float(model.evaluate(session.data.x[row : row + 1], session.data.y[row : row + 1]))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "state",
    [
        State(layers=(Hidden(4), Hidden(3, "sigmoid"))),
        State(data="pinwheels", layers=(Hidden(3, "softplus"),)),
        State(data="counts", layers=(Hidden(3, "elu"),)),
        State(data="bursts", layers=(Hidden(3, "elu"),), head="negative_binomial"),
        State(data="plane", layers=(Hidden(3, "gelu"),)),
        State(data="gaussians", layers=(), head="perceptron"),
    ],
    ids=lambda state: state.data,
)
def test_gradients_are_the_change_of_the_loss(state: State) -> None:
    session = Session(state)
    session.one_epoch()
    found = explain(session, 11)
    theta = session.theta.astype(np.float64)
    assert found["loss"] == pytest.approx(loss_of_row(session, theta, 11), rel=1e-4, abs=1e-6)
    blocks = session.model.network.blocks(theta)
    shift = 1e-2
    for layer, block in enumerate(blocks):
        for i, j in ((0, 0), (block.weights.shape[0] - 1, block.weights.shape[1] - 1)):
            before = block.weights[i, j]
            losses = []
            for value in (before - shift, before + shift):
                block.weights[i, j] = value
                losses.append(loss_of_row(session, theta, 11))
            block.weights[i, j] = before
            slope = (losses[1] - losses[0]) / (2 * shift)
            assert found["layers"][layer]["dw"][i][j] == pytest.approx(slope, rel=2e-2, abs=2e-3)


def test_every_step_follows_from_the_one_before() -> None:
    session = Session(State(layers=(Hidden(4), Hidden(3, "sigmoid"))))
    session.one_epoch()
    found = explain(session, 3)
    x = np.array(found["x"])
    layers = [{name: np.array(value) for name, value in layer.items() if name not in ("activation", "formula")}
              for layer in found["layers"]]  # fmt: skip
    for layer in layers:
        assert np.allclose(x @ layer["w"] + layer["b"], layer["z"], atol=1e-9)
        assert np.allclose(np.outer(x, layer["dz"]), layer["dw"], atol=1e-9)
        assert np.allclose(layer["w"] @ layer["dz"], layer["dx"], atol=1e-9)
        x = layer["h"]
    assert np.allclose(layers[0]["h"], np.tanh(layers[0]["z"]))
    assert np.allclose(layers[0]["dz"], (1 - layers[0]["h"] ** 2) * layers[1]["dx"])
    assert np.allclose(layers[1]["dz"], layers[1]["h"] * (1 - layers[1]["h"]) * layers[2]["dx"])
    assert layers[2]["dz"] == pytest.approx(layers[2]["h"] - session.data.y[3])


def test_every_head_and_activation_has_a_formula_to_show() -> None:
    assert all(all(HEADS[family].formulas) and HEADS[family].title for task in Task for family in heads_of(task))
    assert tuple(module.ACTIVATIONS) == ACTIVATIONS


@pytest.mark.parametrize("family", ["bernoulli", "normal", "poisson", "negative_binomial"])
def test_the_formulas_shown_give_loss_and_slope(family: str) -> None:
    head = HEADS[family]() if family != "negative_binomial" else NegativeBinomial(0.7, estimated=True)
    z, t = np.array([[-1.5], [0.25], [2.0]]), np.array([[0.0], [1.0], [1.0]])
    known = {"z": z[:, 0], "t": t[:, 0], "p": head.mean(z)[:, 0], "d": head.parameter, "log": np.log}
    known |= {"e": np.e, "Γ": scipy.special.gamma}
    signs = str.maketrans({"−": "-", "·": "*", "^": "**"})

    def shown(formula: str) -> Any:
        text = re.sub(r"(?<=\d)(?=\()", "*", formula.translate(signs).replace("²", "**2"))  # 2(z - t)
        return eval(re.sub(r"\) log", ")*log", text), {"__builtins__": {}}, known)

    factor, left_out = head.keras_factor(1), head.dropped_terms(t)
    loss = head.loss(z, t) + (0 if left_out is None else left_out)
    np.testing.assert_allclose(shown(head.formulas[0]), factor * loss, rtol=1e-12)
    np.testing.assert_allclose(shown(head.formulas[1]), factor * head.slope(z, t)[:, 0], rtol=1e-12)


@pytest.mark.parametrize("row", [-1, 500, 1.0, "3", None, True])
def test_rows_that_are_not_there_are_refused(row: object) -> None:
    with pytest.raises(ConfigError, match="row must be an integer from 0 to 499"):
        explain(Session(), row)
