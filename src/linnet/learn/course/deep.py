"""Networks of any depth: dropout and penalties, backpropagation, training."""

from typing import Any

import numpy as np

from linnet.learn.assignment import Assignment, Mistake, Part
from linnet.learn.course.samples import by_differences, normal, rows_of
from linnet.plain import activations, heads, mlp, optimizers

_DIGITS = rows_of("digits", 0, 32)
_TANH, _IDENTITY = activations.ACTIVATIONS["tanh"], activations.ACTIVATIONS["identity"]
_RELU = activations.ACTIVATIONS["relu"]
_ONE_HOT = np.eye(10)[_DIGITS[1]]
_EACH = np.full(32, 1 / 32)


def _network(program: Any, **more: Any) -> Any:
    """A network of three layers in a program."""
    return program.MLP([64, 8, 6, 10], [_TANH, _RELU, _IDENTITY], heads.Categorical(), **more)


_PLAIN = _network(mlp)
_THETA = _PLAIN.start(np.random.default_rng(4)) + 0.1 * normal(len(_PLAIN.start(np.random.default_rng(4))))

_WIDE = normal(650) / 8  # of one layer

_DROPOUT = Assignment(
    name="dropout-and-penalties",
    title="Dropout, L1 and L2",
    plain="mlp",
    write={"MLP.masks": (), "MLP.penalty": (), "MLP.penalty_gradient": ()},
    given=("MLP",),
    task="""Two remedies for overfitting. During training, dropout sets each input of a layer to 0 with probability p,
    separately for each row, and multiplies the others by 1 / (1 - p), so that sums keep their expected size. masks
    draws these factors, layer by layer, with rng.random((rows, M)); an input stays where the number is at least p.
    Penalties add l1 sum |W| + l2 sum W^2 / 2 to the loss, never for biases; their gradient is l1 sign(W) + l2 W.""",
    run="""
        from linnet.plain.activations import ACTIVATIONS
        from linnet.plain.heads import Categorical

        net = MLP([4, 3, 2], [ACTIVATIONS["relu"], ACTIVATIONS["identity"]], Categorical(), dropout=0.5, l2=0.1)
        print(net.masks(2, np.random.default_rng(0))[0])
        print("penalty:", net.penalty(net.start(np.random.default_rng(0))))
    """,
    parts=(
        Part(
            "MLP.masks",
            "masks of 5 rows, p = 0.5 in each layer",
            lambda program: _network(program, dropout=0.5).masks(5, np.random.default_rng(0)),
        ),
        Part(
            "MLP.masks",
            "a different p for each layer",
            lambda program: _network(program, dropout=[0.2, 0.5, 0.0]).masks(5, np.random.default_rng(0)),
        ),
        Part("MLP.penalty", "l2 = 0.1", lambda program: _network(program, l2=0.1).penalty(_THETA)),
        Part(
            "MLP.penalty",
            "l1 and l2, different ones for each layer",
            lambda program: _network(program, l1=[0.1, 0, 0.2], l2=[0, 0.3, 0.4]).penalty(_THETA),
        ),
        Part(
            "MLP.penalty_gradient",
            "l2 = 0.1, against finite differences",
            lambda program: _network(program, l2=0.1).penalty_gradient(_THETA),
            expected=lambda plain: by_differences(_network(plain, l2=0.1).penalty, _THETA)[0],
            tolerance=1e-6,
            by="by finite differences of the penalty",
        ),
        Part(
            "MLP.penalty_gradient",
            "l1 and l2, different ones for each layer",
            lambda program: _network(program, l1=[0.1, 0, 0.2], l2=[0, 0.3, 0.4]).penalty_gradient(_THETA),
        ),
    ),
    mistakes=(
        Mistake(
            {"(rng.random((rows, M)) >= p) / (1 - p)": "(rng.random((rows, M)) >= p) * 1.0"},
            "the inputs that stay are not scaled: multiply them by 1 / (1 - p), or sums are smaller in training "
            "than in prediction.",
        ),
        Mistake(
            {"(rng.random((rows, M)) >= p) / (1 - p)": "(rng.random((rows, M)) < p) / p"},
            "p is the probability that an input is dropped, not that it stays.",
        ),
        Mistake(
            {"(rng.random((rows, M)) >= p) / (1 - p)": "(rng.random(M) >= p) / (1 - p) * np.ones((rows, 1))"},
            "all rows lose the same inputs: draw a new mask for each row.",
        ),
        Mistake(
            {"l2 * (W**2).sum() / 2 for (W, _), l1, l2 in layers": "l2 * (W**2).sum() for (W, _), l1, l2 in layers"},
            "the factor 1/2 is missing: l2 sum W^2 / 2, so that its slope is l2 W.",
        ),
        Mistake(
            {
                "l2 * (W**2).sum() / 2 for (W, _), l1, l2 in layers": "l2 * ((W**2).sum() + (b**2).sum()) / 2 for (W, "
                "b), l1, l2 in layers"
            },
            "the biases are penalised, too: a penalty is for W only.",
        ),
        Mistake(
            {"l1 * np.abs(W).sum() + l2": "l1 * W.sum() + l2"},
            "weights below 0 make the l1 penalty smaller: take absolute values.",
        ),
        Mistake(
            {"dW[:] = l1 * np.sign(W) + l2 * W": "dW[:] = l1 * np.sign(W) + 2 * l2 * W"},
            "it is too large by a factor of 2: the slope of l2 W^2 / 2 is l2 W.",
        ),
        Mistake(
            {"dW[:] = l1 * np.sign(W) + l2 * W": "dW[:] = l1 + l2 * W"},
            "the slope of |W| is its sign: below 0 it is -l1.",
        ),
    ),
    hints=(
        "rng.random((rows, M)) >= p is True where an input stays; True / (1 - p) is a number.",
        "self.layers(theta) gives (W, b) of each layer; self.l1 and self.l2 have a number for each layer. zip goes "
        "through all three at once.",
        "self.layers(g) gives views of g: dW[:] = ... writes into g.",
    ),
    page="mlp",
)

_DEEP = Assignment(
    name="deep-backpropagation",
    title="Backpropagation through any number of layers",
    plain="mlp",
    write={"MLP.forward": (), "MLP.gradient": ("masks, g", "layers, slopes", "return")},
    given=("MLP",),
    task="""Forward: o_0 = x; z_l = o_{l-1} W_l + b_l; o_l = a_l(z_l), keeping all z and o. Before a layer uses its
    inputs they are multiplied by its mask (1 without dropout). Backward: start with d = dE/do_L, which is w times
    head.slope(o_L, t); then from the last layer to the first: delta = back(z_l, d), dW = o_{l-1}' delta, db = the sum
    over rows of delta, and d = delta W' times the mask is what the layer below gets. One pass gives all slopes.
    activations[l] is the pair of a and back.""",
    run="""
        from linnet.plain.activations import ACTIVATIONS
        from linnet.plain.heads import Categorical
        from linnet.plain.numeric_gradient import largest_difference

        x, t = data.digits()
        x, t = x[:16], np.eye(10)[t[:16]]
        net = MLP([64, 5, 4, 10], [ACTIVATIONS["tanh"], ACTIVATIONS["tanh"], ACTIVATIONS["identity"]], Categorical())
        theta, w = net.start(np.random.default_rng(0)), np.full(16, 1 / 16)
        g = net.gradient(theta, x, t, w)
        print("off by", largest_difference(g, lambda theta: w @ net.losses(theta, x, t), theta))
    """,
    imports=("from linnet.learn import data",),
    parts=(
        Part("MLP.forward", "z and o of three layers", lambda program: _network(program).forward(_THETA, _DIGITS[0])),
        Part(
            "MLP.forward",
            "with dropout",
            lambda program: _network(program).forward(
                _THETA, _DIGITS[0], _network(mlp, dropout=0.5).masks(32, np.random.default_rng(0))
            ),
        ),
        Part(
            "MLP.gradient",
            "one layer, against finite differences",
            lambda program: program.MLP([64, 10], [_IDENTITY], heads.Categorical()).gradient(
                _WIDE, _DIGITS[0], _ONE_HOT, _EACH
            ),
            expected=lambda plain: by_differences(
                lambda theta: (
                    _EACH @ plain.MLP([64, 10], [_IDENTITY], heads.Categorical()).losses(theta, _DIGITS[0], _ONE_HOT)
                ),
                _WIDE,
            )[0],
            tolerance=1e-6,
            by="by finite differences of the loss",
        ),
        Part(
            "MLP.gradient",
            "three layers, against finite differences",
            lambda program: _network(program).gradient(_THETA, _DIGITS[0], _ONE_HOT, _EACH),
            expected=lambda plain: by_differences(
                lambda theta: _EACH @ _network(plain).losses(theta, _DIGITS[0], _ONE_HOT), _THETA
            )[0],
            tolerance=1e-5,
            by="by finite differences of the loss",
        ),
        Part(
            "MLP.gradient",
            "rows with weights",
            lambda program: _network(program).gradient(_THETA, _DIGITS[0], _ONE_HOT, np.arange(32.0)),
        ),
        Part(
            "MLP.gradient",
            "with dropout",
            lambda program: _network(program).gradient(
                _THETA, _DIGITS[0], _ONE_HOT, _EACH, _network(mlp, dropout=0.5).masks(32, np.random.default_rng(0))
            ),
        ),
    ),
    mistakes=(
        Mistake(
            {"            o[l] = o[l] * masks[l]\n": ""},
            "masks are not used: each layer's inputs are multiplied by its mask first.",
        ),
        Mistake({"z.append(o[l] @ W + b)": "z.append(o[l] @ W)"}, "b is missing: z_l = o_{l-1} W_l + b_l."),
        Mistake({"o.append(a(z[l]))": "o.append(z[l])"}, "the activation is missing: o_l = a_l(z_l)."),
        Mistake(
            {"delta = back(z[l], d)": "delta = d"}, "the slopes of the activations are missing: delta = back(z_l, d)."
        ),
        Mistake(
            {"delta = back(z[l], d)": "delta = back(o[l + 1], d)"},
            "back gets the output: it needs z, the input of the activation.",
        ),
        Mistake(
            {"d = w[:, None] * self.head.slope(o[-1], t)": "d = self.head.slope(o[-1], t)"},
            "the rows' weights w are missing: dE/do_L = w loss'.",
        ),
        Mistake(
            {"d = delta @ W.T * masks[l]": "d = delta @ W.T"},
            "the mask is missing on the way back: what was not used has no influence, its slope is 0.",
        ),
        Mistake(
            {"d = delta @ W.T * masks[l]": "d = d @ W.T * masks[l]"},
            "d is passed down without the slope of the activation: it is delta W'.",
        ),
    ),
    hints=(
        "for l, (W, b) in enumerate(self.layers(theta)) in forward; for l in reversed(range(len(layers))) in gradient.",
        "w[:, None] has shape (rows, 1): it multiplies each row.",
        "slopes[l] has views of g: dW[:] = o[l].T @ delta; db[:] = delta.sum(axis=0).",
    ),
    page="mlp",
)


def _trained(program: Any, epochs: int, rows: int, **more: Any) -> Any:
    x, t = rows_of("digits", 0, rows)
    return program.train(_network(program, **more), x, np.eye(10)[t], optimizers.SGD(0.1), epochs=epochs, seed=3)


def _accuracy(program: Any) -> float:
    theta, _ = _trained(program, 12, 1300, dropout=[0.0, 0.1, 0.1])
    x, t = rows_of("digits", 1300)
    return float((_network(program).predict(theta, x).argmax(axis=1) == t).mean())


_TRAIN_MLP = Assignment(
    name="train-mlp",
    title="Train a multilayer perceptron with SGD, dropout and L2",
    plain="mlp",
    write={"epoch": ("total", "return"), "train": ("rng", "return")},
    given=("MLP",),
    task="""Put it all together. epoch goes through batches, each a pair of rows and masks. For each it takes the
    gradient of the mean loss of the batch (row weights w[rows] / B) plus that of the penalty, and a step of the
    optimizer. It returns theta and the mean of the losses as they were before each step: the sum of w loss over the
    rows plus B times the penalty, divided by N. train draws the first theta by mlp.start(rng), then in each epoch an
    order by rng.permutation(len(x)), cut into batches, and masks for each batch by mlp.masks.""",
    run="""
        from linnet.plain.activations import ACTIVATIONS
        from linnet.plain.heads import Categorical
        from linnet.plain.optimizers import Adam

        x, t, new_x, new_t = data.split(*data.digits())
        relu, identity = ACTIVATIONS["relu"], ACTIVATIONS["identity"]
        net = MLP([64, 64, 10], [relu, identity], Categorical(), dropout=[0, 0.3], l2=1e-4)
        theta, history = train(net, x, np.eye(10)[t], Adam(0.003), epochs=30)
        right = (net.predict(theta, new_x).argmax(axis=1) == new_t).mean()
        print(f"loss {history[0]:.3f} in the first epoch, {history[-1]:.3f} in the last; {right:.1%} of new digits "
            f"are classified correctly")
    """,
    imports=("from linnet.learn import data",),
    parts=(
        Part(
            "epoch",
            "one step",
            lambda program: program.epoch(
                _network(program),
                _THETA,
                _DIGITS[0],
                _ONE_HOT,
                np.ones(32),
                optimizers.SGD(0.1),
                [(np.arange(32), None)],
            ),
        ),
        Part(
            "epoch",
            "two steps with a penalty",
            lambda program: program.epoch(
                _network(program, l2=0.1),
                _THETA,
                _DIGITS[0],
                _ONE_HOT,
                np.ones(32),
                optimizers.SGD(0.1),
                [(np.arange(20), None), (np.arange(20, 32), None)],
            ),
        ),
        Part(
            "epoch",
            "rows with weights, and dropout",
            lambda program: program.epoch(
                _network(program),
                _THETA,
                _DIGITS[0],
                _ONE_HOT,
                np.arange(32.0) / 16,
                optimizers.SGD(0.1),
                [(np.arange(32), _network(mlp, dropout=0.5).masks(32, np.random.default_rng(0)))],
            ),
        ),
        Part(
            "train",
            "an epoch in batches of 32, the last one of 4 rows",
            lambda program: _trained(program, 1, 100),
        ),
        Part(
            "train", "three epochs with dropout and L2", lambda program: _trained(program, 3, 100, dropout=0.2, l2=0.01)
        ),
        Part("train", "new digits classified correctly after 12 epochs with dropout", _accuracy, tolerance=0.03),
    ),
    mistakes=(
        Mistake(
            {
                "mlp.gradient(theta, x[rows], t[rows], w[rows] / B, masks)": "mlp.gradient(theta, x[rows], t[rows], "
                "w[rows], masks)"
            },
            "this is the sum over the batch: the row weights are w[rows] / B.",
        ),
        Mistake(
            {"w[rows] / B, masks) + mlp.penalty_gradient(theta)": "w[rows] / B, masks)"},
            "the gradient of the penalty is missing.",
        ),
        Mistake(
            {
                "w[rows] / B, masks) + mlp.penalty_gradient(theta)": "w[rows] / B, masks) + "
                "mlp.penalty_gradient(theta) / B"
            },
            "the penalty is divided by the batch size, so its strength depends on that: add it undivided.",
        ),
        Mistake(
            {"        theta = optimizer.step(theta, g)\n": "        optimizer.step(theta, g)\n"},
            "theta never changes: step returns the next one, so assign it.",
        ),
        Mistake(
            {
                "mlp.losses(theta, x[rows], t[rows], masks)) + B * mlp.penalty(theta)": "mlp.losses(theta, x[rows], "
                "t[rows], masks)) + mlp.penalty(theta)"
            },
            "the penalty is added once per batch: add it B times, since the sum is divided by the number of rows.",
        ),
        Mistake(
            {
                "mlp.gradient(theta, x[rows], t[rows], w[rows] / B, masks)": "mlp.gradient(theta, x[rows], t[rows], "
                "w[rows] / B)",
                "mlp.losses(theta, x[rows], t[rows], masks)": "mlp.losses(theta, x[rows], t[rows])",
            },
            "dropout's masks are not used.",
        ),
        Mistake(
            {
                "    for _ in range(epochs):\n        order = np.split(rng.permutation(len(x)), range(batch_size, "
                "len(x), batch_size))\n": "    order = np.split(rng.permutation(len(x)), range(batch_size, len(x), "
                "batch_size))\n    for _ in range(epochs):\n"
            },
            "the rows are shuffled once: draw a new order in each epoch.",
        ),
        Mistake(
            {"[(rows, mlp.masks(len(rows), rng)) for rows in order]": "[(rows, mlp.no_masks) for rows in order]"},
            "there is no dropout: draw masks for each batch by mlp.masks(len(rows), rng).",
        ),
    ),
    hints=(
        "B = len(rows); w[rows] @ mlp.losses(...) is the weighted sum of the batch's losses.",
        "np.split(rng.permutation(len(x)), range(batch_size, len(x), batch_size)) cuts an order into batches.",
        "Draw the masks of all batches of an epoch before its first step: [(rows, mlp.masks(len(rows), rng)) for "
        "rows in order].",
    ),
    page="mlp",
)


DEEP_NETWORKS = (_DROPOUT, _DEEP, _TRAIN_MLP)
