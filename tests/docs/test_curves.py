"""The saved pictures of learning on digits show what the networks and the saved numbers contain."""

import re

import numpy as np
import pytest
from extensions import gallery

from linnet import SGD, Dense, Sequential
from linnet.plain import activations, heads, mlp

LAYERS = {  # of the example, whose numbers are kept
    "One layer": [Dense(10, "softmax", kernel_initializer="zeros")],
    "Two layers": [Dense(10, "relu"), Dense(10, "softmax")],
}


@pytest.mark.parametrize("scheme", gallery.SCHEMES)
@pytest.mark.parametrize("name", ["learning", "optimizers"])
def test_the_pictures_are_those_of_the_numbers(name: str, scheme: str) -> None:
    """`make pictures` makes them again; coordinates may differ between releases of matplotlib."""
    kept, drawn = (gallery.KEPT / f"{name}-{scheme}.svg").read_text(), gallery.DRAWN[name](scheme)
    texts, curves = (
        [re.findall(pattern, svg, re.DOTALL) for svg in (kept, drawn)]
        for pattern in (r"<text[^>]*>([^<]*)</text>", r'<path d="M[^"]*" clip-path')
    )
    assert texts[0] == texts[1]
    assert len(curves[0]) == len(curves[1]) > 0
    assert set(re.findall(r"#\w{6}\b", kept)) <= set(gallery.palette(scheme).values())


def test_the_picture_has_the_numbers_of_parameters() -> None:
    text = (gallery.KEPT / "learning-light.svg").read_text()
    for label in ("784-10 (7,850 parameters)", "784-10-10 (7,960 parameters)"):
        for batch in (1, 32):
            assert f"{label}, batch {batch}" in text


def test_five_optimizers_on_one_layer_for_50_epochs() -> None:
    kept = gallery.curves()
    assert kept["inputs"] == 784
    assert kept["rows"] == [5000, 1000]
    rules = [name for name in kept["curves"] if "rate" in name]
    assert len(rules) == 5
    assert {kept["parameters"][name] for name in rules} == {7_850}
    assert {len(curve) for history in kept["curves"].values() for curve in history.values()} == {50}


def test_what_the_page_says_of_the_curves() -> None:
    curves = gallery.curves()["curves"]
    rules = {
        name.partition(",")[0].partition(" with")[2] or name.partition(",")[0]: name
        for name in curves
        if "rate" in name
    }
    momentum, adam, rmsprop, adagrad, sgd = (
        curves[rules[name]] for name in (" momentum 0.9", "Adam", "RMSprop", "Adagrad", "SGD")
    )
    assert all(momentum["loss"][1] < other["loss"][1] for other in (adam, rmsprop, adagrad, sgd))
    assert all(adam["loss"][epoch] < other["loss"][epoch] for other in (momentum, rmsprop) for epoch in range(19, 50))
    assert all(
        sgd["loss"][epoch] > other["loss"][epoch] for other in (adam, rmsprop, adagrad, momentum) for epoch in range(50)
    )
    lowest = [1 + int(np.argmin(each["val_loss"])) for each in (momentum, rmsprop, adam, sgd, adagrad)]
    assert min(lowest[:3]) == 16
    assert max(lowest[:3]) == 25
    assert lowest[3:] == [50, 50]
    one, two = ({batch: curves[f"{name}, batch size {batch}"] for batch in (1, 32)} for name in LAYERS)
    assert np.argmin(one[1]["val_loss"]) == 0
    assert one[1]["accuracy"][-1] > 0.999
    assert two[32]["loss"][-1] < one[32]["loss"][-1]
    assert two[32]["val_loss"][-1] > one[32]["val_loss"][-1]
    assert two[1]["accuracy"][-1] < 0.5


@pytest.mark.parametrize(("name", "count"), [("One layer", 7_850), ("Two layers", 7_960)])
def test_one_layer_and_two_on_images_of_28_by_28(name: str, count: int) -> None:
    """An epoch in batches of 32, of the engine and in plain NumPy."""
    rng = np.random.default_rng(0)
    x, t = rng.random((96, 784)), np.arange(96) % 10
    model = Sequential(LAYERS[name], seed=1)
    model.build(784)
    model.compile(SGD(0.1), "sparse_categorical_crossentropy", ["accuracy"])
    assert model.count_params() == count == gallery.curves()["parameters"][f"{name}, batch size 32"]
    start = np.concatenate([np.ravel(each) for each in model.get_weights()]).astype(float)
    model.fit(x, t, batch_size=32, epochs=1, shuffle=False, verbose=0)
    relu, identity = activations.ACTIVATIONS["relu"], activations.ACTIVATIONS["identity"]
    widths, used = ([784, 10], [identity]) if name == "One layer" else ([784, 10, 10], [relu, identity])
    plain = mlp.MLP(widths, used, heads.Categorical())
    theta = start
    for rows in np.split(np.arange(96), 3):
        theta = theta - 0.1 * plain.gradient(theta, x[rows], np.eye(10)[t[rows]], np.full(32, 1 / 32))
    found = np.concatenate([np.ravel(each) for each in model.get_weights()])
    np.testing.assert_allclose(found, theta, atol=2e-5)
