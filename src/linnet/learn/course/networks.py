"""Networks with one hidden layer: numeric gradients, forward, backward, training."""

from typing import Any

import numpy as np

from linnet.learn.assignment import Assignment, Mistake, Part
from linnet.learn.course.samples import Array, by_differences, normal, rows_of, shapes

_A = normal(3, 4)

_NUMERIC = Assignment(
    name="numeric-gradient",
    title="The numeric gradient: a check on everything that follows",
    plain="numeric_gradient",
    write={"numeric_gradient": (), "largest_difference": ()},
    task="""Move one parameter a little up and a little down, and see how F changes: (F(theta + e) - F(theta - e)) / 2e.
    That takes two evaluations of F for each parameter, so it is not a way to train, but a check on a gradient that was
    derived by hand. theta may have any shape, and must be unchanged afterwards.""",
    run="""
        theta = np.array([1.0, 2.0])
        g = numeric_gradient(lambda u: float((u**3).sum()), theta)
        print("slopes of u^3:", g, "- by hand:", 3 * theta**2)
    """,
    parts=(
        Part(
            "numeric_gradient",
            "u^3 at three numbers",
            lambda program: program.numeric_gradient(lambda u: float((u**3).sum()), np.array([1.0, -2.0, 0.5])),
            tolerance=1e-9,
        ),
        Part(
            "numeric_gradient",
            "a function of a matrix",
            lambda program: program.numeric_gradient(lambda u: float(np.sin(u).sum() + u[0, 0] * u[2, 3]), _A),
            tolerance=1e-9,
        ),
        Part(
            "numeric_gradient",
            "a different e",
            lambda program: program.numeric_gradient(lambda u: float((u**3).sum()), np.array([1.0]), 0.1),
        ),
        Part(
            "largest_difference",
            "a right and a wrong gradient",
            lambda program: [
                program.largest_difference(3 * _A**2, lambda u: float((u**3).sum()), _A) < 1e-7,
                program.largest_difference(3 * _A**2 - 0.1 * (_A > 0), lambda u: float((u**3).sum()), _A),
            ],
            tolerance=1e-6,
        ),
    ),
    mistakes=(
        Mistake(
            {"g[j] = (F(theta + step) - F(theta - step)) / (2 * e)": "g[j] = (F(theta + step) - F(theta)) / e"},
            "this is the one-sided difference, whose error is e / 2 times the second derivative: take (F(theta + "
            "e) - F(theta - e)) / 2e.",
        ),
        Mistake({"/ (2 * e)": "/ e"}, "it is too large by a factor of 2: theta + e and theta - e are 2e apart."),
        Mistake(
            {"        step[j] = e\n": "        step[...] = e\n"},
            "all parameters move at once: move one at a time, to see the effect of that one.",
        ),
        Mistake(
            {"    g = np.zeros(theta.shape)\n": "    g = np.zeros(theta.shape, int)\n"},
            "the result is rounded to whole numbers: np.zeros(theta.shape) holds floats.",
        ),
        Mistake(
            {"np.abs(g - numeric).max() / np.abs(numeric).max()": "np.abs(g - numeric).max()"},
            "it depends on the unit of F: divide by the largest derivative.",
        ),
        Mistake(
            {"np.abs(g - numeric).max() / np.abs(numeric).max()": "(g - numeric).max() / np.abs(numeric).max()"},
            "differences below 0 are missed: take their absolute values.",
        ),
    ),
    hints=(
        "for j in np.ndindex(*theta.shape) goes through the indices of an array of any shape.",
        "Make an array of zeros with e at index j, and add it to theta: theta + step is a new array.",
    ),
    page="optimizers",
)

_WEIGHTS = [normal(64, 8) / 8, normal(8) / 3, normal(8, 10, seed=6) / 3, normal(10) / 3]
_DIGITS = rows_of("digits", 0, 32)

_FORWARD = Assignment(
    name="network-forward",
    title="A network with one hidden layer: the first weights and the forward pass",
    plain="one_hidden_layer",
    write={"start": (), "forward": (), "loss": ()},
    task="""h = tanh(x W_h + b_h), p = softmax(h W_y + b_y). Weights start at random, uniform within +-1/sqrt(number
    of inputs of the layer): W_h first, then W_y, both by rng.uniform(-1, 1, shape) / sqrt(inputs). Biases start at 0.
    The loss is the mean of -log p of the true class. Subtract the largest z of each row before the exponential.""",
    run="""
        x, t = data.digits()
        weights = start(64, 16, 10, np.random.default_rng(0))
        h, p = forward(weights, x)
        print("hidden units", h.shape, "probabilities", p.shape, "loss before training", loss(weights, x, t))
    """,
    imports=("from linnet.learn import data",),
    parts=(
        Part(
            "start",
            "shapes: 5 inputs, 4 hidden units, 3 classes",
            lambda program: shapes("W_h b_h W_y b_y", program.start(5, 4, 3, np.random.default_rng(0))),
        ),
        Part("start", "the weights drawn", lambda program: program.start(5, 4, 3, np.random.default_rng(0))),
        Part(
            "forward",
            "hidden units and probabilities of 32 digits",
            lambda program: program.forward(_WEIGHTS, _DIGITS[0]),
        ),
        Part(
            "forward",
            "scores of 1000",
            lambda program: program.forward([*_WEIGHTS[:2], 1000 * _WEIGHTS[2], _WEIGHTS[3]], _DIGITS[0]),
        ),
        Part("loss", "the mean loss of 32 digits", lambda program: program.loss(_WEIGHTS, *_DIGITS)),
    ),
    mistakes=(
        Mistake(
            {
                "rng.uniform(-1, 1, (D, H)) / np.sqrt(D)": "np.zeros((D, H))",
                "rng.uniform(-1, 1, (H, K)) / np.sqrt(H)": "np.zeros((H, K))",
            },
            "all weights are 0: then all hidden units are the same, get the same gradient, and stay the same forever.",
        ),
        Mistake(
            {
                "rng.uniform(-1, 1, (D, H)) / np.sqrt(D)": "rng.uniform(-1, 1, (D, H)) / np.sqrt(H)",
                "rng.uniform(-1, 1, (H, K)) / np.sqrt(H)": "rng.uniform(-1, 1, (H, K)) / np.sqrt(K)",
            },
            "the bound is 1/sqrt(inputs), not outputs: z is a sum over the inputs.",
        ),
        Mistake(
            {
                "rng.uniform(-1, 1, (D, H)) / np.sqrt(D)": "rng.uniform(-1, 1, (D, H)) / D",
                "rng.uniform(-1, 1, (H, K)) / np.sqrt(H)": "rng.uniform(-1, 1, (H, K)) / H",
            },
            "the square root is missing: the bound is 1 / sqrt(inputs).",
        ),
        Mistake(
            {
                "rng.uniform(-1, 1, (D, H)) / np.sqrt(D)": "rng.uniform(0, 1, (D, H)) / np.sqrt(D)",
                "rng.uniform(-1, 1, (H, K)) / np.sqrt(H)": "rng.uniform(0, 1, (H, K)) / np.sqrt(H)",
            },
            "no weight is negative: draw from -1 to 1.",
        ),
        Mistake(
            {"h = np.tanh(x @ W_h + b_h)": "h = x @ W_h + b_h"},
            "tanh is missing: without it the two layers are one linear map.",
        ),
        Mistake({"h = np.tanh(x @ W_h + b_h)": "h = np.tanh(x @ W_h)"}, "b_h is missing in the hidden layer."),
        Mistake(
            {"z = h @ W_y + b_y": "z = np.tanh(h @ W_y + b_y)"},
            "there is one tanh too many: the scores z of the last layer go into the softmax as they are.",
        ),
        Mistake(
            {"e = np.exp(z - z.max(axis=1, keepdims=True))": "e = np.exp(z)"},
            "e^z is too large for large z: subtract the largest z of each row first.",
        ),
        Mistake(
            {"return h, e / e.sum(axis=1, keepdims=True)": "return h, e / e.sum()"},
            "the sum runs over all rows: each row has to sum to 1 on its own.",
        ),
        Mistake(
            {
                "return float(-np.log(p[np.arange(len(t)), t]).mean())": "return float(-np.log(p[np.arange(len(t)), "
                "t]).sum())"
            },
            "this is the sum over the rows: the loss is their mean.",
        ),
    ),
    hints=(
        "start returns a list of four: [W_h, np.zeros(H), W_y, np.zeros(K)]; W_h has shape (D, H).",
        "W_h, b_h, W_y, b_y = weights unpacks the list.",
        "p[np.arange(len(t)), t] is the probability of the true class of each row.",
    ),
    page="mlp",
)


def _slopes(plain: Any) -> list[Array]:
    return by_differences(lambda *weights: plain.loss(list(weights), *_DIGITS), *_WEIGHTS)


def _slope(place: int, name: str) -> Part:
    return Part(
        "backward",
        f"{name}, against finite differences",
        lambda program: program.backward(_WEIGHTS, *_DIGITS)[place],
        expected=lambda plain: _slopes(plain)[place],
        tolerance=1e-6,
        by="by finite differences of the loss",
    )


_BACKWARD = Assignment(
    name="backpropagation",
    title="Backpropagation through one hidden layer",
    plain="one_hidden_layer",
    write={"backward": ()},
    given=("start", "forward", "loss"),
    task="""Go through the lines of the forward pass from the last to the first, each by the chain rule. The formulas
    are below. The result is four slopes, of the same shapes as W_h, b_h, W_y and b_y. They are compared with finite
    differences of the loss.""",
    run="""
        from linnet.plain.numeric_gradient import largest_difference

        x, t = data.digits()
        weights = start(64, 16, 10, np.random.default_rng(0))
        slopes = backward(weights, x[:32], t[:32])
        print("off by", largest_difference(slopes[3], lambda b: loss([*weights[:3], b], x[:32], t[:32]), weights[3]))
    """,
    imports=("from linnet.learn import data",),
    parts=(
        Part(
            "backward",
            "shapes",
            lambda program: shapes("dE/dW_h dE/db_h dE/dW_y dE/db_y", program.backward(_WEIGHTS, *_DIGITS)),
        ),
        _slope(3, "dE/db_y"),
        _slope(2, "dE/dW_y"),
        _slope(1, "dE/db_h"),
        _slope(0, "dE/dW_h"),
    ),
    mistakes=(
        Mistake(
            {"    dz[np.arange(len(t)), t] -= 1\n": ""}, "dE/dz is p alone: 1 is subtracted at the true class, p - 1_t."
        ),
        Mistake(
            {"    dz /= len(x)\n": ""},
            "dE/dz is not divided by N: E is the mean over the rows, so all slopes are too large by a factor of 32 "
            "on 32 rows.",
        ),
        Mistake(
            {
                "    dz = p.copy()\n    dz[np.arange(len(t)), t] -= 1\n": "    dz = -p\n    dz[np.arange(len(t)), t] "
                "+= 1\n"
            },
            "the sign is wrong: dE/dz = p - 1_t.",
        ),
        Mistake({"dz_h = dh * (1 - h**2)": "dz_h = dh"}, "the slope of tanh is missing: dE/dz_h = dE/dh (1 - h^2)."),
        Mistake(
            {"dz_h = dh * (1 - h**2)": "dz_h = dh * (1 - np.tanh(h) ** 2)"},
            "tanh is applied twice: h is tanh(z_h) already, so that its slope is 1 - h^2.",
        ),
        Mistake(
            {"dz_h = dh * (1 - h**2)": "dz_h = dh * h * (1 - h)"},
            "h (1 - h) is the slope of the sigmoid: that of tanh is 1 - h^2.",
        ),
        Mistake(
            {"dz_h = dh * (1 - h**2)": "dz_h = dh * (h > 0)"}, "this is the slope of ReLU: that of tanh is 1 - h^2."
        ),
        Mistake(
            {
                "return [x.T @ dz_h, dz_h.sum(axis=0), h.T @ dz, dz.sum(axis=0)]": "return [h.T @ dz, dz.sum(axis=0), "
                "x.T @ dz_h, dz_h.sum(axis=0)]"
            },
            "the order is wrong: return the slopes of W_h, b_h, W_y and b_y, the hidden layer first.",
        ),
        Mistake(
            {"h.T @ dz, dz.sum(axis=0)]": "dz.T @ h, dz.sum(axis=0)]"},
            "dE/dW_y is transposed: it has the shape of W_y, as h' dE/dz has.",
        ),
        Mistake(
            {"dz_h = dh * (1 - h**2)": "dz_h = dh * (1 - h)"}, "the square is missing: the slope of tanh is 1 - h^2."
        ),
        Mistake(
            {"dz_h.sum(axis=0), h.T @ dz, dz.sum(axis=0)]": "dz_h.sum(axis=0), h.T @ dz, dz.mean(axis=0)]"},
            "the slope of b_y is divided by N twice: dE/dz is divided by it already, so sum.",
        ),
        Mistake(
            {"return [x.T @ dz_h,": "return [x.T @ dh,"},
            "dE/dW_h uses dE/dh: it is x' dE/dz_h, which includes the slope of tanh.",
        ),
    ),
    hints=(
        "dz = p.copy(); dz[np.arange(len(t)), t] -= 1; dz /= len(x). Without .copy(), p itself would change.",
        "dh = dz @ W_y.T has the shape of h; dz_h = dh * (1 - h**2).",
        "The slope of each W is (its inputs)' (the slope of its outputs): h.T @ dz and x.T @ dz_h. That of each b "
        "is the sum over the rows.",
    ),
    page="mlp",
)

_TRAIN = Assignment(
    name="train-a-network",
    title="Train a network by stochastic gradient descent",
    plain="one_hidden_layer",
    write={"train": ("rng", "weights, history = ", "return")},
    given=("start", "forward", "loss", "backward"),
    task="""The goal of the course: a network that learns. For each epoch draw an order of the rows by
    rng.permutation(len(x)). For each batch of it, compute the slopes with backward and move every weight against its
    slope, by eta times the slope. After each epoch, append the loss on all rows to the history.""",
    run="""
        x, t, new_x, new_t = data.split(*data.digits())
        weights, history = train(x, t, 32, 10, epochs=50)
        right = (forward(weights, new_x)[1].argmax(axis=1) == new_t).mean()
        print(f"loss {history[0]:.3f} after one epoch, {history[-1]:.3f} after the last; {right:.1%} of new digits "
            f"are classified correctly")
    """,
    imports=("from linnet.learn import data",),
    parts=(
        Part("train", "one step on all 32 rows", lambda program: program.train(*_DIGITS, 8, 10, epochs=1)),
        Part(
            "train",
            "an epoch in batches of 32, the last one of 4 rows",
            lambda program: program.train(*rows_of("digits", 0, 100), 8, 10, epochs=1),
        ),
        Part(
            "train",
            "the losses of three epochs",
            lambda program: program.train(*rows_of("digits", 0, 100), 8, 10, epochs=3)[1],
        ),
        Part(
            "train",
            "new digits classified correctly after 30 epochs",
            lambda program: float(
                (
                    program.forward(
                        program.train(*rows_of("digits", 0, 1300), 16, 10, epochs=30)[0], rows_of("digits", 1300)[0]
                    )[1].argmax(axis=1)
                    == rows_of("digits", 1300)[1]
                ).mean()
            ),
            tolerance=0.02,
        ),
    ),
    mistakes=(
        Mistake(
            {
                "[w - eta * dw for w, dw in zip(weights, slopes, strict=True)]": "[w + eta * dw for w, dw in "
                "zip(weights, slopes, strict=True)]"
            },
            "the step goes uphill: w - eta dw.",
        ),
        Mistake(
            {
                "            slopes = backward(weights, x[rows], t[rows])": "            slopes = backward(weights, "
                "x, t)"
            },
            "each step uses all rows: take the slopes of this batch only.",
        ),
        Mistake(
            {
                "[w - eta * dw for w, dw in zip(weights, slopes, strict=True)]": "[w - eta * dw / batch_size for w, "
                "dw in zip(weights, slopes, "
                "strict=True)]"
            },
            "the mean is taken twice: backward divides by the number of rows already.",
        ),
        Mistake(
            {
                "[w - eta * dw for w, dw in zip(weights, slopes, strict=True)]": "[*weights[:2], *(w - eta * dw for "
                "w, dw in zip(weights[2:], "
                "slopes[2:], strict=True))]"
            },
            "the hidden layer does not learn: W_h and b_h take a step, too.",
        ),
        Mistake(
            {"[w - eta * dw for w, dw in zip(weights, slopes, strict=True)]": "list(weights)"},
            "no weight changes: `w = w - ...` in a loop gives the name w a new value, and the list keeps the old one. "
            "Make a new list: weights = [w - eta * dw for w, dw in zip(weights, slopes)].",
        ),
        Mistake(
            {"[w - eta * dw for": "[w - dw for"},
            "eta is not used: the step is eta times the slope.",
        ),
        Mistake(
            {"t[rows])\n            weights": "t[first : first + batch_size])\n            weights"},
            "the rows of x and t do not match: x[rows] goes with t[rows].",
        ),
        Mistake(
            {"        order = rng.permutation(len(x))\n": "        order = rng.choice(len(x), len(x))\n"},
            "rows are drawn with replacement, so that some come up twice and others never: rng.permutation(len(x)) "
            "has each exactly once.",
        ),
        Mistake(
            {
                "        order = rng.permutation(len(x))\n": "",
                "            rows = order": "            order = rng.permutation(len(x))\n            rows = order",
            },
            "there is a new order for each batch, so that a row may come twice in an epoch, or never: draw one per "
            "epoch, before the loop over batches.",
        ),
        Mistake(
            {"        history.append(loss(weights, x, t))\n": "            history.append(loss(weights, x, t))\n"},
            "the history has an entry per batch: append once per epoch, after the loop over batches.",
        ),
        Mistake(
            {
                "        history.append(loss(weights, x, t))\n": "",
                "        order = rng": "        history.append(loss(weights, x, t))\n        order = rng",
            },
            "the history has the loss before each epoch: append the loss after it.",
        ),
        Mistake(
            {"        order = rng": "        weights = start(x.shape[1], H, K, rng)\n        order = rng"},
            "the weights start over in each epoch and lose all they have learned: call start once, before the loop.",
        ),
        Mistake(
            {"        order = rng.permutation(len(x))\n": "        order = np.arange(len(x))\n"},
            "the rows come in the same order each time: rng.permutation(len(x)) draws one.",
        ),
        Mistake(
            {
                "        order = rng.permutation(len(x))\n": "",
                "    for _ in range(epochs):\n": "    order = rng.permutation(len(x))\n    for _ in range(epochs):\n",
            },
            "the rows are shuffled once: draw a new order in each epoch.",
        ),
        Mistake(
            {
                "            rows = order[first : first + batch_size]\n": "            rows = order[first : first + "
                "batch_size]\n            if len(rows) < "
                "batch_size:\n                continue\n"
            },
            "the last batch, which has fewer rows, is left out.",
        ),
        Mistake(
            {"history.append(loss(weights, x, t))": "history.append(loss(weights, x[rows], t[rows]))"},
            "the history has the loss of the last batch: take the loss on all rows.",
        ),
    ),
    hints=(
        "Two loops: over the epochs, and over range(0, len(x), batch_size); rows = order[first : first + batch_size].",
        "weights = [w - eta * dw for w, dw in zip(weights, slopes)] is one step for all four.",
    ),
    page="mlp",
)


NETWORKS = (_NUMERIC, _FORWARD, _BACKWARD, _TRAIN)
