"""The formulas in the guide's tables, read from the pages, agree with the core."""

import inspect
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linnet
from linnet import SGD, Adagrad, Adam, AdamW, Dense, MLPClassifier, MLPRegressor, RMSprop, Sequential, l1_l2
from linnet.data.rows import Rows
from linnet.evaluate import binary_rates, fbeta_score, precision_score, recall_score
from linnet.fit.loop.optimizers import OPTIMIZERS
from linnet.fit.objective import NetworkObjective
from linnet.heads import Bernoulli, Categorical, Normal, Poisson
from linnet.heads.activations import as_activation
from linnet.model.initialise import INITIALISERS, initial_theta
from linnet.model.network import Layer, Network
from linnet.playground.state import State
from linnet.tables.network import TableNetwork

from .formulas import assignments, evaluate, value

GUIDE = Path(__file__).parents[2] / "docs" / "guide"


def table(page: str, heading: str) -> list[list[str]]:
    """The rows below the heading of a table."""
    text = (GUIDE / page).read_text()
    assert f"\n| {heading}" in text
    rows = text[text.index(f"\n| {heading}") :].strip().split("\n\n")[0].split("\n")[2:]
    return [[cell.strip() for cell in row.strip("| ").split(" | ")] for row in rows]


def formulas(text: str) -> list[str]:
    return re.findall(r"\$([^$]+)\$", text)


# ---- optimizers.md ----

NAMES = {"alpha": 0.05, "mu": 0.8, "rho": 0.7, "beta_1": 0.6, "beta_2": 0.9, "epsilon": 0.4, "lambda": 0.3}
ADAM = 0.05, 0.6, 0.9, 0.4
RULES: dict[str, Any] = {
    "SGD": SGD(0.05),
    "momentum": SGD(0.05, momentum=0.8),
    "Nesterov": SGD(0.05, momentum=0.8, nesterov=True),
    "Adagrad": Adagrad(0.05, epsilon=0.4),
    "RMSprop": RMSprop(0.05, rho=0.7, epsilon=0.4),
    "Adam": Adam(*ADAM),
    "AMSGrad": Adam(*ADAM, amsgrad=True),
    "AdamW": AdamW(0.05, 0.3, *ADAM[1:]),
}
STEPS = {row[0]: row[1:] for row in table("optimizers.md", "name | remembers")}


def test_every_optimizer_is_on_the_page() -> None:
    assert {*STEPS} == {*RULES}
    assert {type(rule) for rule in RULES.values()} == {*OPTIMIZERS.values()}


@pytest.mark.parametrize("name", RULES)
def test_a_step_is_what_the_page_says(name: str) -> None:
    """Six steps of a linear model with three weights and a bias; epsilon is so large that its place shows."""
    rng = np.random.default_rng(0)
    x, t = rng.normal(size=(20, 3)), rng.normal(size=(20, 1))
    model = Sequential([Dense(1, input_dim=3)])
    model.compile(RULES[name], "mse")
    theta = np.append(model.get_weights()[0].astype(float), 0.0)
    rows = STEPS["Adam"] if name == "AdamW" else STEPS[name]
    lines = [
        line
        for cell in rows
        for formula in formulas(cell)
        if re.search(r"\\leftarrow|=", formula)
        for line in assignments(formula)
    ]
    before = (
        [line for formula in formulas(" ".join(STEPS[name])) for line in assignments(formula)]
        if name == "AdamW"
        else []
    )
    first = 0.0 if name != "Adagrad" else float(re.findall(r"from ([\d.]+) on", STEPS[name][0])[0])
    kept: dict[str, Any] = NAMES | {"v": 0.0, "m": 0.0, "u": 0.0, "s": first}
    inputs = np.hstack([x, np.ones((20, 1))])
    weights = np.array([True, True, True, False])
    for step in range(1, 7):
        kept |= {"g": 2 * inputs.T @ (inputs @ theta - t[:, 0]) / 20, "theta": theta, "t": step}
        for target, expression in before:
            kept[target.strip("()").removeprefix("v_")] = np.where(weights, evaluate(expression, kept), theta)
        for target, expression in lines:
            kept[target.strip("()").removeprefix("v_")] = evaluate(expression, kept)
        theta = kept["theta"]
        model.fit(x, t, batch_size=20, epochs=1, verbose=0)
        np.testing.assert_allclose(np.vstack([*model.get_weights()[0], model.get_weights()[1]])[:, 0], theta, atol=2e-6)


def test_the_defaults_of_epsilon() -> None:
    text = (GUIDE / "optimizers.md").read_text()
    keras, scikit_learn = re.findall(r"\$(?:\\epsilon = )?10\^\{-(\d)\}\$", text)
    defaults = {inspect.signature(rule).parameters["epsilon"].default for rule in (Adagrad, RMSprop, Adam, AdamW)}
    assert defaults == {10.0 ** -int(keras)}
    for model in (MLPClassifier, MLPRegressor):
        assert inspect.signature(model).parameters["epsilon"].default == 10.0 ** -int(scikit_learn)


# ---- initialisation.md ----

STARTS = {
    name: row
    for row in table("initialisation.md", "name | weights of a layer")
    for name in re.findall(r"`(\w+)`", row[0])
}


@pytest.mark.parametrize("name", INITIALISERS)
def test_first_weights_are_what_the_page_says(name: str) -> None:
    network = Network(200, (Layer(100),), Normal())
    weights = network.blocks(initial_theta(network, 3, "float64", [name]))[0].weights
    if name == "zeros":
        assert STARTS[name][1].startswith("0")
        assert not weights.any()
        return
    found = formulas(STARTS[name][1])
    if found[0].startswith(r"\pm"):
        bound = value(found[0].removeprefix(r"\pm"), M=200, K=100)
        assert 0.999 * bound < np.abs(weights).max() <= bound
    assert np.var(weights) == pytest.approx(value(found[-1], M=200, K=100), rel=0.03)


@pytest.mark.filterwarnings("ignore:Maximum iterations")
def test_whose_default_is_whose() -> None:
    stated = {
        model: name for name, row in STARTS.items() for model in re.findall(r"`(\w+)`", row[2]) if model not in STARTS
    }
    named = {name: re.findall(r"`(\w+)`:", row[2]) for name, row in STARTS.items()}
    assert (
        inspect.signature(Dense).parameters["kernel_initializer"].default
        == stated["Dense"]
        == stated["Sequential"]
        == "uniform"
    )
    assert named["glorot_normal"] == named["glorot_uniform"] == ["glorot_uniform"], "of the two in the row"
    assert re.search("playground and `linnet train --model sequential`", STARTS["glorot_uniform"][2])
    assert State().initialiser == TableNetwork.initialiser == "glorot_uniform"
    x = np.random.default_rng(0).normal(size=(30, 200))
    for model in (MLPClassifier, MLPRegressor):
        assert model.__name__ in STARTS["glorot_uniform"][2]
        for preset in (None, "tabular"):
            fitted = model(
                hidden_layer_sizes=(100,),
                random_state=0,
                max_iter=1,
                learning_rate_init=1e-12,
                preset=preset,
                dropout=0.0,
            )
            weights = fitted.set_params(weight_decay=1e-9).fit(x, np.arange(30) % 2).coefs_[0]
            inputs, outputs = weights.shape
            assert np.abs(weights).max() == pytest.approx((6 / (inputs + outputs)) ** 0.5, rel=1e-3)


PENALTIES = {
    name: row[2] for row in table("initialisation.md", "in | minimised is") for name in re.findall(r"`(\w+)", row[0])
}
X = np.random.default_rng(1).normal(size=(60, 3))
LINEAR = X @ [1.0, -0.5, 0.0]
COUNTS = np.random.default_rng(2).poisson(np.exp(LINEAR / 2)).astype(float) + 1
YES = (np.random.default_rng(3).random(60) < 1 / (1 + np.exp(-LINEAR))).astype(float)


def penalty(name: str, weights: Any, **names: float) -> float:
    (formula,) = formulas(PENALTIES[name])
    return float(np.sum(value(formula, w=np.ravel(weights), **names)))


LINEAR_MODELS: dict[str, tuple[dict[str, float], Any, Any, Any]] = {  # parameters, targets, loss of a row, sum or mean
    "LogisticRegression": ({"C": 0.5, "l1_ratio": 0.3}, YES, lambda z, t: np.logaddexp(0, z) - t * z, np.sum),
    "PoissonRegressor": ({"alpha": 0.2, "l1_ratio": 0.3}, COUNTS, lambda z, t: np.exp(z) - t * z, np.mean),
    "GammaRegressor": ({"alpha": 0.2}, COUNTS, lambda z, t: t * np.exp(-z) + z, np.mean),
    "TweedieRegressor": ({"alpha": 0.2}, COUNTS, lambda z, t: (z - t) ** 2 / 2, np.mean),
    "Ridge": ({"alpha": 7.0}, LINEAR, lambda z, t: (z - t) ** 2, np.sum),
}


@pytest.mark.parametrize("name", LINEAR_MODELS)
def test_penalties_of_linear_models(name: str) -> None:
    """The fit is the minimum of the objective on the page: the slope of that formula is 0 there."""
    params, t, loss, total = LINEAR_MODELS[name]
    names = {("ratio" if key == "l1_ratio" else key): value for key, value in ({"l1_ratio": 0.0} | params).items()}
    fitted = getattr(linnet, name)(**params).fit(X, t)
    w, b = np.ravel(fitted.coef_), float(np.ravel(fitted.intercept_)[0])

    def objective(w: Any) -> float:
        return float(total(loss(X @ w + b, t))) + penalty(name, w, **names)

    for place in np.flatnonzero(w):
        step = 1e-4 * np.eye(3)[place]
        sizes = abs(penalty(name, w + step, **names) - penalty(name, w - step, **names))
        assert sizes > 0
        assert abs(objective(w + step) - objective(w - step)) < 1e-5 * sizes


@pytest.mark.filterwarnings("ignore:Maximum iterations")
@pytest.mark.parametrize("name", ["MLPClassifier", "MLPRegressor"])
def test_penalties_of_networks(name: str) -> None:
    model = getattr(linnet, name)(hidden_layer_sizes=(4,), alpha=3.0, l1=0.7, max_iter=3, random_state=0).fit(X, YES)
    problem, theta = model.objective(X, YES)
    bare = problem.sums(theta)  # the loss alone
    weights = np.concatenate([np.ravel(each) for each in model.coefs_])
    expected = bare.loss / bare.weight + penalty(name, weights, alpha=3.0, l1=0.7, n=60)
    assert problem.at(theta).value == pytest.approx(expected, rel=1e-6)


def test_penalties_of_layers() -> None:
    losses: list[Any] = []
    for given in (None, l1_l2(0.3, 0.2)):
        model = Sequential([Dense(4, "tanh", input_dim=3, kernel_regularizer=given), Dense(1)])
        model.compile("sgd", "mse")
        losses.append(model.evaluate(X, LINEAR))
    assert losses[1] - losses[0] == pytest.approx(penalty("Dense", model.get_weights()[0], l1=0.3, l2=0.2), rel=1e-4)


# ---- glm.md, perceptrons.md, metrics.md ----

Z = np.random.default_rng(4).normal(size=(50, 3)) * 2


@pytest.mark.parametrize("row", table("glm.md", "target | distribution"), ids=lambda row: row[1])
def test_the_table_of_heads(row: list[str]) -> None:
    head: Any = {"Normal": Normal(), "Bernoulli": Bernoulli(), "categorical": Categorical(), "Poisson": Poisson()}[
        row[1]
    ]
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 50).astype(np.int32)
    t: Any = {
        "Normal": rng.normal(size=(50, 3)),
        "Bernoulli": YES[:50, None].repeat(3, 1),
        "Poisson": rng.poisson(2, (50, 3)) * 1.0,
    }
    t = np.eye(3)[labels] if row[1] == "categorical" else t[row[1]]
    targets = labels if row[1] == "categorical" else t
    names = {"z": Z, "z_k": Z, "z_t": Z[np.arange(50), labels][:, None], "t": t}
    mean = value(formulas(row[2])[0], **names)
    np.testing.assert_allclose(head.mean(Z), mean, rtol=1e-12)
    np.testing.assert_allclose(head.loss(Z, targets), value(formulas(row[3])[0], **names).sum(axis=1), rtol=1e-10)
    np.testing.assert_allclose(head.slope(Z, targets), value(formulas(row[4])[0], y=mean, t=t), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("row", table("perceptrons.md", "name | $f(z)$"), ids=lambda row: row[0])
def test_the_table_of_activations(row: list[str]) -> None:
    z = np.array([-3.0, -1.0, -0.1, 0.1, 0.5, 2.0])
    network = Network(1, (Layer(1, as_activation(row[0].replace(" ", "_"))), Layer(1)), Normal())
    f = NetworkObjective(network.below(1), np.float64).predict(np.array([1.0, 0.0]), z[:, None])[:, 0]
    np.testing.assert_allclose(f, value(formulas(row[1])[0], z=z), rtol=1e-12)
    sums = NetworkObjective(
        network, np.float64
    )  # the slope, as backpropagation has it: of the loss (f(w z) - t)² / 2 at w = 1
    theta = np.zeros(network.size)
    network.blocks(theta)[0].weights[:] = network.blocks(theta)[1].weights[:] = 1.0
    for place, at in enumerate(z):
        one = sums.sums(theta, Rows(np.array([[at]]), values=np.array([[f[place] - 1.0]])), gradient=True)
        assert one.gradient is not None
        slope = network.blocks(one.gradient)[0].weights[0, 0] / at
        computed = [value(formula, f=f[place]) for formula in formulas(row[2])]
        stated = computed or [float(each) for each in re.findall(r"[\d.]+", row[2])]
        assert min(abs(slope - each) for each in stated) < 1e-9


TRUTH, SAID = np.random.default_rng(5).integers(0, 2, (2, 200))
COUNTED = {
    "TP": np.sum(TRUTH & SAID),
    "FP": np.sum(~TRUTH & SAID & 1),
    "FN": np.sum(TRUTH & ~SAID & 1),
    "TN": np.sum(~TRUTH & ~SAID & 1),
    "P": precision_score(TRUTH, SAID),
    "R": recall_score(TRUTH, SAID),
}


@pytest.mark.parametrize("row", table("evaluate.md", "rate | formula"), ids=lambda row: row[0])
def test_the_table_of_rates(row: list[str]) -> None:
    rates = binary_rates(TRUTH, SAID)
    by_name = {
        "accuracy": rates.accuracy,
        "precision P": rates.precision,
        "recall R": rates.recall,
        "false positive rate": rates.type_1_error_rate,
        "specificity": rates.specificity,
        "F-beta: recall counts b times as much": rates.f_beta(2),
        "balanced accuracy": rates.balanced_accuracy,
        "Matthews' correlation": rates.mcc,
    }
    wanted = by_name[row[0].partition(",")[0]]
    if row[1] == "mean recall of the classes":
        assert wanted == pytest.approx((rates.recall + rates.specificity) / 2)
        return
    plain = re.sub(r"([A-Z]{2}|all)", r"\\text{\1}", row[1].replace("²", "^2").replace("sqrt", r"\sqrt"))
    for formula in plain.split("="):
        assert value(formula, **COUNTED, all=200, b=2.0) == pytest.approx(wanted, rel=1e-12)


def test_the_formulas_of_f_scores() -> None:
    shown = re.findall(r"\$\$(F_.*?)\$\$", (GUIDE / "metrics.md").read_text())
    assert len(shown) == 2
    for formula, beta in zip(shown, (1.0, 2.0), strict=True):
        for _, expression in assignments(formula.replace(r"F_\beta", "F")):
            assert evaluate(expression, COUNTED | {"beta": beta}) == pytest.approx(fbeta_score(TRUTH, SAID, beta=beta))
