"""Two classes and many: the perceptron, logistic and softmax regression."""

import numpy as np

from linnet.learn.assignment import Assignment, Mistake, Part
from linnet.learn.course.samples import by_differences, normal, rows_of

_SIGNS = rows_of("tumours", 0, 120)[0], 2 * rows_of("tumours", 0, 120)[1] - 1
_W30, _W64, _B10 = normal(30), normal(64, 10), normal(10)
_Z = 3 * normal(6, 4)

_PERCEPTRON = Assignment(
    name="perceptron",
    title="The perceptron: learn from mistakes",
    plain="perceptron",
    write={
        "perceptron": (
            "rng",
            "w, b = np",
            "mistakes = []",
            "for _",
            "drawn",
            "order",
            "mistakes.append",
            "for i",
            "return",
        ),
        "predict": (),
    },
    task="""Rosenblatt's rule. Go through the rows one by one, in the order given. Where the sign of z = x w + b is not
    that of t (+1 or -1), count a mistake, and move w by eta t x and b by eta t. Stop after an epoch without
    mistakes.""",
    run="""
        x, t = data.tumours()
        x, t, new_x, new_t = data.split(x, 2 * t - 1)
        w, b, mistakes = perceptron(x, t, epochs=50)
        print("mistakes per epoch:", mistakes)
        print(f"{(predict(w, b, new_x) == new_t).mean():.1%} of new tumours are classified correctly")
    """,
    imports=("from linnet.learn import data",),
    parts=(
        Part("perceptron", "one row", lambda program: program.perceptron(_SIGNS[0][:1], _SIGNS[1][:1])),
        Part("perceptron", "one epoch on 120 tumours", lambda program: program.perceptron(*_SIGNS, epochs=1)),
        Part("perceptron", "one epoch with eta = 0.5", lambda program: program.perceptron(*_SIGNS, eta=0.5, epochs=1)),
        Part("perceptron", "until an epoch without mistakes", lambda program: program.perceptron(*_SIGNS)),
        Part("predict", "classes of 120 tumours", lambda program: program.predict(_W30, 2.0, _SIGNS[0])),
    ),
    mistakes=(
        Mistake(
            {"if t[i] * (x[i] @ w + b) <= 0:": "if t[i] * (x[i] @ w + b) < 0:"},
            "z = 0 counts as right. With w = 0 all z are 0, and nothing is ever learned: a mistake is t z <= 0.",
        ),
        Mistake(
            {"if t[i] * (x[i] @ w + b) <= 0:": "if True:"}, "w moves for every row: it should move only for mistakes."
        ),
        Mistake(
            {"w = w + eta * t[i] * x[i]": "w = w + eta * x[i]"},
            "the step leaves out t: for a row with t = -1, w must move away from x.",
        ),
        Mistake(
            {"                b = b + eta * t[i]\n": ""}, "the bias never moves: b changes by eta t with each mistake."
        ),
        Mistake(
            {"w = w + eta * t[i] * x[i]": "w = w + t[i] * x[i]", "b = b + eta * t[i]": "b = b + t[i]"},
            "eta is not used: the steps are eta t x and eta t.",
        ),
        Mistake(
            {"        if mistakes[-1] == 0:\n            break\n": ""},
            "it goes on after an epoch without mistakes: there is nothing left to learn, so stop.",
        ),
        Mistake(
            {"w = w + eta * t[i] * x[i]": "w = w - eta * t[i] * x[i]", "b = b + eta * t[i]": "b = b - eta * t[i]"},
            "the steps go the wrong way: w + eta t x makes t z larger, until it is above 0.",
        ),
        Mistake(
            {"if t[i] * (x[i] @ w + b) <= 0:": "if (1 if x[i] @ w + b > 0 else -1) != t[i]:"},
            "z = 0 is taken as -1, so that a row with t = -1 counts as right there: z = 0 is a mistake for both "
            "classes.",
        ),
        Mistake(
            {
                "w = w + eta * t[i] * x[i]": "z = x[i] @ w + b\n                w = w + eta * (t[i] - z) * x[i]",
                "b = b + eta * t[i]": "b = b + eta * (t[i] - z)",
            },
            "the steps are eta (t - z) x, as in linear regression row by row: the perceptron's are eta t x.",
        ),
        Mistake(
            {"                mistakes[-1] += 1\n": ""},
            "no mistake is counted, so that it stops after one epoch: mistakes[-1] += 1 with each.",
        ),
        Mistake(
            {"if mistakes[-1] == 0:": "if mistakes[-1] > 0:"},
            "it stops after an epoch with mistakes: stop after one without.",
        ),
        Mistake(
            {"return np.where(x @ w + b > 0, 1, -1)": "return np.where(x @ w > 0, 1, -1)"},
            "the bias is missing: z = x w + b.",
        ),
        Mistake(
            {"return np.where(x @ w + b > 0, 1, -1)": "return np.where(x @ w + b > 0, 1, 0)"},
            "the classes are +1 and -1, not 1 and 0.",
        ),
    ),
    hints=(
        "A mistake: t[i] * (x[i] @ w + b) <= 0, which is true where the signs differ.",
        "After the rows: if mistakes[-1] == 0, break out of the loop over epochs.",
        "np.where(condition, 1, -1) gives 1 where the condition is true and -1 elsewhere.",
    ),
    page="perceptrons",
)

_LOGISTIC_LOSS = Assignment(
    name="logistic-loss",
    title="Logistic regression: the sigmoid and its loss",
    plain="logistic_regression",
    write={"sigma": (), "loss": ()},
    task="""The probability of class 1 is y = 1 / (1 + e^-z). The loss is the mean of -log y for rows with t = 1 and of
    -log(1 - y) for rows with t = 0, which is log(1 + e^z) - t z. Both functions must work for z = 1000 and z = -1000,
    too, where e^1000 is too large for a computer, and log 0 has no value.""",
    run="""
        x, t = data.tumours()
        print("sigma(0) =", sigma(np.array([0.0])), "loss of w = 0:", loss(np.zeros(30), 0.0, x, t), "= log 2")
    """,
    imports=("from linnet.learn import data",),
    parts=(
        Part("sigma", "six numbers from -3 to 3", lambda program: program.sigma(np.linspace(-3, 3, 6))),
        Part("sigma", "-1000 and 1000", lambda program: program.sigma(np.array([-1000.0, 1000.0]))),
        Part("loss", "the loss on 50 tumours", lambda program: program.loss(_W30 / 9, 0.1, *rows_of("tumours", 0, 50))),
        Part(
            "loss",
            "the loss with z above 1000",
            lambda program: program.loss(300 * _W30, 0.0, *rows_of("tumours", 0, 50)),
        ),
    ),
    mistakes=(
        Mistake(
            {
                "    e = np.exp(-np.abs(z))\n    return np.where(z >= 0, 1, e) / (1 + e)": "    return np.exp(z) / "
                "(1 + np.exp(z))"
            },
            "e^1000 is infinite, and infinite / infinite is nan. Use e^-|z|, which is at most 1: "
            "1 / (1 + e^-|z|) for z >= 0, and e^-|z| / (1 + e^-|z|) below.",
        ),
        Mistake(
            {"np.where(z >= 0, 1, e)": "np.where(z >= 0, e, 1)"}, "the sign of z is wrong: sigma grows from 0 to 1."
        ),
        Mistake(
            {"np.logaddexp(0, z) - t * z": "np.log(1 + np.exp(z)) - t * z"},
            "e^z is infinite for large z. np.logaddexp(0, z) is log(e^0 + e^z) = log(1 + e^z), computed without e^z.",
        ),
        Mistake(
            {"np.logaddexp(0, z) - t * z": "-t * np.log(sigma(z)) - (1 - t) * np.log(1 - sigma(z))"},
            "sigma(z) is rounded to 1 for z above 37, and log(1 - 1) is -inf. Write the loss in terms of z: "
            "log(1 + e^z) - t z.",
        ),
        Mistake(
            {"np.logaddexp(0, z) - t * z).mean()": "np.logaddexp(0, z) - t * z).sum()"},
            "this is the sum over the rows: the loss is their mean.",
        ),
        Mistake(
            {"np.logaddexp(0, z) - t * z": "(1 - t) * np.logaddexp(0, z)"},
            "rows with t = 1 are missing: their loss is log(1 + e^z) - z.",
        ),
    ),
    hints=(
        "For z >= 0 the usual formula is fine: 1 / (1 + np.exp(-z)). For z < 0 multiply numerator and denominator by "
        "e^z.",
        "np.where(z >= 0, 1, e) / (1 + e) with e = np.exp(-np.abs(z)) is both at once.",
        "log(1 + e^z) is np.logaddexp(0, z).",
    ),
    page="logistic",
)

_LOGISTIC_REGRESSION = Assignment(
    name="logistic-regression",
    title="Logistic regression: gradient and training with patience",
    plain="logistic_regression",
    write={
        "gradient": (),
        "fit": ("N, D", "rng", "w, b = np", "best", "for", "order", "rows", "return"),
    },
    given=("sigma", "loss"),
    task="""The gradient is that of linear regression with another y: the mean of (y - t) x. Training is by minibatches.
    After each epoch look at the loss on the development rows (or the training rows, if there are none): keep w and b
    where it is the lowest so far, and stop once it has not fallen by tolerance for patience epochs.""",
    run="""
        x, t, new_x, new_t = data.split(*data.tumours())
        w, b = fit(x, t, (new_x, new_t))
        print(f"{((sigma(new_x @ w + b) > 0.5) == new_t).mean():.1%} of new tumours are classified correctly")
    """,
    imports=("from linnet.learn import data",),
    parts=(
        Part(
            "gradient",
            "the gradient on 32 tumours, against finite differences",
            lambda program: program.gradient(_W30 / 9, 0.1, *rows_of("tumours", 0, 32)),
            expected=lambda plain: by_differences(
                lambda w, b: plain.loss(w, b, *rows_of("tumours", 0, 32)), _W30 / 9, 0.1
            ),
            tolerance=1e-6,
            by="by finite differences of the loss",
        ),
        Part("fit", "one epoch", lambda program: program.fit(*rows_of("tumours", 0, 100), epochs=1)),
        Part(
            "fit",
            "the best of 11 epochs with a learning rate that is too large",
            lambda program: program.fit(
                *rows_of("tumours", 0, 60), rows_of("tumours", 60, 100), eta=30.0, epochs=11, patience=100
            ),
        ),
        Part(
            "fit",
            "until patience runs out",
            lambda program: program.fit(
                *rows_of("tumours", 0, 60), rows_of("tumours", 60, 100), eta=1.0, patience=3, tolerance=1e-3
            ),
        ),
    ),
    mistakes=(
        Mistake(
            {"delta = sigma(x @ w + b) - t\n": "delta = t - sigma(x @ w + b)\n"},
            "the sign is wrong: the slope is y - t, not t - y.",
        ),
        Mistake(
            {"delta = sigma(x @ w + b) - t\n": "delta = x @ w + b - t\n"},
            "the sigmoid is missing: the prediction is y = sigma(x w + b).",
        ),
        Mistake(
            {"delta = sigma(x @ w + b) - t\n": "y = sigma(x @ w + b)\n    delta = (y - t) * y * (1 - y)\n"},
            "this is the gradient of squared errors. Of the log loss dE/dy = (y - t) / (y (1 - y)), "
            "so that the slope y (1 - y) of the sigmoid cancels and y - t is left.",
        ),
        Mistake(
            {"return x.T @ delta / len(x), float(delta.mean())": "return x.T @ delta, float(delta.sum())"},
            "this is the sum over the rows: the gradient of the mean loss is the mean.",
        ),
        Mistake(
            {"now = loss(w, b, *(dev or (x, t)))": "now = loss(w, b, x, t)"},
            "the loss on the training rows decides when to stop. That keeps falling; the loss on development rows "
            "shows when the model stops getting better on new rows.",
        ),
        Mistake(
            {
                "        if now < best:\n            best, kept = now, (w, b)\n": "        kept = w, b\n"
                "        best = min(best, now)\n"
            },
            "the last w and b are returned: keep those with the lowest loss, which may come from an earlier epoch.",
        ),
        Mistake(
            {"waited = 0 if now < best - tolerance else waited + 1": "waited = 0 if now < best else waited + 1"},
            "tolerance is not used: an epoch counts as progress only if the loss falls by more than it.",
        ),
        Mistake(
            {
                "waited = 0 if now < best - tolerance else waited + 1": "waited = waited if now < best - tolerance "
                "else waited + 1"
            },
            "the count of epochs waited is never reset to 0: patience is for consecutive epochs.",
        ),
    ),
    hints=(
        "The gradient is the one of linear regression, with sigma(x @ w + b) in place of x @ w + b.",
        "loss(w, b, *(dev or (x, t))) takes the development rows if there are any.",
        "First compare with best - tolerance (is the epoch progress?), then, if now < best, keep best and (w, b).",
    ),
    page="logistic",
)

_SOFTMAX = Assignment(
    name="softmax",
    title="From scores to probabilities: softmax and its loss",
    plain="softmax_regression",
    write={"softmax": (), "loss": (), "predict": ()},
    task="""softmax turns the scores z of each row into probabilities. loss is the mean over the rows of -log p of the
    true class, which is log sum_k e^z_k - z_t. predict is the most probable class. Scores may be as large as 1000:
    e^1000 is too large for a computer, the results are not.""",
    run="""
        x, t = data.digits()
        W, b = np.zeros((64, 10)), np.zeros(10)
        print("loss of W = 0:", loss(W, b, x, t), "= log 10 =", np.log(10))
    """,
    imports=("from linnet.learn import data",),
    parts=(
        Part("softmax", "probabilities of 6 rows of 4 scores", lambda program: program.softmax(_Z)),
        Part("softmax", "scores of 1000", lambda program: program.softmax(_Z * 300)),
        Part("loss", "the mean loss of 32 digits", lambda program: program.loss(_W64, _B10, *rows_of("digits", 0, 32))),
        Part(
            "loss",
            "the loss with scores down to -9000",
            lambda program: program.loss(0 * _W64, -1000.0 * np.arange(10), *rows_of("digits", 0, 32)),
        ),
        Part(
            "loss",
            "the loss with large scores",
            lambda program: program.loss(_W64 * 300, _B10, *rows_of("digits", 0, 32)),
        ),
        Part(
            "predict", "classes of 32 digits", lambda program: program.predict(_W64, _B10, rows_of("digits", 0, 32)[0])
        ),
    ),
    mistakes=(
        Mistake(
            {"e = np.exp(z - z.max(axis=-1, keepdims=True))\n": "e = np.exp(z)\n"},
            "e^z is too large for large z. Subtract the largest z of each row first: it cancels, so the result is "
            "the same.",
        ),
        Mistake(
            {"return e / e.sum(axis=-1, keepdims=True)": "return e / e.sum()"},
            "the sum runs over all rows: each row has to sum to 1 on its own. Sum along the last axis, with "
            "keepdims=True.",
        ),
        Mistake(
            {"return e / e.sum(axis=-1, keepdims=True)": "return e / e.sum(axis=0, keepdims=True)"},
            "the columns sum to 1: the classes of a row are its last axis, axis=-1.",
        ),
        Mistake(
            {"    z = z - z.max(axis=1, keepdims=True)\n": ""},
            "e^z is too large for large z in the loss, too: subtract the largest z of each row first.",
        ),
        Mistake(
            {"np.log(np.exp(z).sum(axis=1)) - z[np.arange(len(t)), t]": "-np.log(softmax(z)[np.arange(len(t)), t])"},
            "p may be so small that it is 0, and log 0 has no value. Write the loss in terms of z: log sum_k e^z_k - "
            "z_t.",
        ),
        Mistake(
            {
                "np.log(np.exp(z).sum(axis=1)) - z[np.arange(len(t)), t]).mean()": "np.log(np.exp(z).sum(axis=1)) - "
                "z[np.arange(len(t)), t]).sum()"
            },
            "this is the sum over the rows: the loss is their mean.",
        ),
        Mistake(
            {
                "np.log(np.exp(z).sum(axis=1)) - z[np.arange(len(t)), t]": "np.log(np.exp(z).sum(axis=1, "
                "keepdims=True)) - z"
            },
            "this is the mean over all classes: only the z of the true class counts, z[np.arange(len(t)), t].",
        ),
        Mistake(
            {
                "    return float((np.log(np.exp(z).sum(axis=1)) - z[np.arange(len(t)), t]).mean())": "    return "
                "float(-np.log(softmax(z)[t]).mean())"
            },
            "p[t] picks whole rows, those with the numbers t: p[np.arange(len(t)), t] is the probability of the true "
            "class of each row.",
        ),
        Mistake(
            {
                "    return float((np.log(np.exp(z).sum(axis=1)) - z[np.arange(len(t)), t]).mean())": "    return "
                "float(-np.log(softmax(z)[:, t]).mean())"
            },
            "p[:, t] has the probabilities of all N true classes for each of N rows: p[np.arange(len(t)), t] pairs "
            "them.",
        ),
        Mistake(
            {
                "np.log(np.exp(z).sum(axis=1)) - z[np.arange(len(t)), t]).mean()": "(np.log(np.exp(z).sum(axis=1)) - "
                "z[np.arange(len(t)), t]) / z.shape[1]).mean()"
            },
            "this is also divided by the number of classes, as .mean() over an array of one-hot rows would be: sum "
            "over the classes, and take the mean over the rows.",
        ),
        Mistake(
            {"return (x @ W + b).argmax(axis=1)": "return (x @ W + b).max(axis=1)"},
            "this is the highest score: argmax gives its index, which is the class.",
        ),
        Mistake({"return (x @ W + b).argmax(axis=1)": "return (x @ W).argmax(axis=1)"}, "b is missing."),
        Mistake(
            {"return (x @ W + b).argmax(axis=1)": "return (x @ W + b).argmax(axis=0)"},
            "this is the row with the highest score per class: the classes of a row are axis 1.",
        ),
    ),
    hints=(
        "For 2 rows of 3 scores, z.max(axis=-1) has shape (2,), which cannot be subtracted from (2, 3); "
        "keepdims=True makes it (2, 1).",
        "z[np.arange(len(t)), t] picks the score of the true class from each row.",
        "After subtracting the largest z of a row from all of them, log sum_k e^z_k - z_t is the same as before.",
    ),
    page="softmax",
)

_SOFTMAX_REGRESSION = Assignment(
    name="softmax-regression",
    title="Softmax regression: gradient and training",
    plain="softmax_regression",
    write={
        "gradient": (),
        "fit": ("N, D", "rng", "W, b = np", "best, kept", "now =", "waited", "if ", "best", "return"),
    },
    given=("softmax", "loss", "predict"),
    task="""The gradient of the loss with respect to W is the mean over the rows of x'(p - 1_t), where 1_t has a 1 at
    the true class and 0 elsewhere: the weights of the true class move towards x by 1 - p_t, those of any other class k
    away from it by p_k. Then train by minibatches: for each epoch draw an order of the rows with rng.choice(N, N,
    replace=with_replacement), and take a step per batch.""",
    run="""
        x, t, new_x, new_t = data.split(*data.digits())
        W, b = fit(x, t, 10, (new_x, new_t), epochs=30)
        print(f"{(predict(W, b, new_x) == new_t).mean():.1%} of new digits are classified correctly")
    """,
    imports=("from linnet.learn import data",),
    parts=(
        Part(
            "gradient",
            "the gradient on 32 digits, against finite differences",
            lambda program: program.gradient(_W64 / 9, _B10, *rows_of("digits", 0, 32)),
            expected=lambda plain: by_differences(
                lambda W, b: plain.loss(W, b, *rows_of("digits", 0, 32)), _W64 / 9, _B10
            ),
            tolerance=1e-6,
            by="by finite differences of the loss",
        ),
        Part("fit", "one step on all 32 rows", lambda program: program.fit(*rows_of("digits", 0, 32), 10, epochs=1)),
        Part(
            "fit",
            "an epoch in batches of 32, the last one of 4 rows",
            lambda program: program.fit(*rows_of("digits", 0, 100), 10, epochs=1),
        ),
        Part("fit", "three epochs", lambda program: program.fit(*rows_of("digits", 0, 100), 10, epochs=3)),
        Part(
            "fit",
            "rows drawn with replacement",
            lambda program: program.fit(*rows_of("digits", 0, 100), 10, epochs=2, with_replacement=True),
        ),
    ),
    mistakes=(
        Mistake(
            {
                "delta = softmax(x @ W + b) - np.eye(W.shape[1])[t]\n": "delta = np.eye(W.shape[1])[t] - softmax(x @ "
                "W + b)\n"
            },
            "the sign is wrong: the slope is p - 1_t. For the true class it is p - 1, below 0, so that its weights "
            "grow.",
        ),
        Mistake(
            {
                "delta = softmax(x @ W + b) - np.eye(W.shape[1])[t]\n": "delta = softmax(x @ W + b) * (1 - "
                "np.eye(W.shape[1])[t])\n"
            },
            "the true class is missing: its slope is p - 1, not 0.",
        ),
        Mistake(
            {
                "delta = softmax(x @ W + b) - np.eye(W.shape[1])[t]\n": "delta = (softmax(x @ W + b) - 1) * "
                "np.eye(W.shape[1])[t]\n"
            },
            "the other classes are missing: their slope is p_k, not 0.",
        ),
        Mistake(
            {"return x.T @ delta / len(x), delta.mean(axis=0)": "return x.T @ delta, delta.sum(axis=0)"},
            "this is the sum over the rows: the gradient of the mean loss is the mean, 1/32 of the sum on 32 rows.",
        ),
        Mistake(
            {
                "return x.T @ delta / len(x), delta.mean(axis=0)": "return x.T @ delta / delta.size, "
                "delta.mean(axis=0) / W.shape[1]"
            },
            "this is also divided by the number of classes: the mean runs over the rows only.",
        ),
        Mistake(
            {"return x.T @ delta / len(x), delta.mean(axis=0)": "return x.T @ delta / len(x), delta.mean()"},
            "the slope of b is one number: b has an entry per class, so take the mean over the rows only, axis=0.",
        ),
        Mistake(
            {"W, b = W - eta * dW, b - eta * db": "W, b = W + eta * dW, b + eta * db"},
            "the step goes uphill: subtract eta times the gradient.",
        ),
        Mistake({"W, b = W - eta * dW, b - eta * db": "W = W - eta * dW"}, "b never moves: it takes a step, too."),
        Mistake(
            {"for start in range(0, N, batch_size)": "for start in range(0, N - batch_size + 1, batch_size)"},
            "the last batch, which has fewer rows, is left out: range(0, N, batch_size) includes its start.",
        ),
        Mistake(
            {
                "        order = rng.choice(N, N, replace=with_replacement)\n": "",
                "    W, b = np.zeros((D, K)), np.zeros(K)\n": "    W, b = np.zeros((D, K)), np.zeros(K)\n"
                "    order = rng.choice(N, N, "
                "replace=with_replacement)\n",
            },
            "the rows are shuffled once: draw a new order in each epoch.",
        ),
    ),
    hints=(
        "np.eye(K)[t] is the array of one-hot rows 1_t. x.T @ (p - 1_t) is the sum over the rows of their outer "
        "products.",
        "for _ in range(epochs): order = ...; for start in range(0, N, batch_size): rows = order[start : start + "
        "batch_size] and a step.",
        "The lines about now, waited and best come after the loop over batches, inside the loop over epochs.",
    ),
    page="softmax",
)

_STOCHASTIC = Assignment(
    name="stochastic-softmax",
    title="Stochastic gradient descent in its original form, and predictions that are drawn",
    plain="softmax_regression",
    write={"stochastic": ("rng", "return"), "sample": ()},
    given=("softmax",),
    task="""W = 0; then pick a row at random, with replacement, and take a step: W <- W - eta x'(p - 1_t). Draw all rows
    at once, with rng.integers(len(x), size=steps). sample draws a class per row with the predicted probabilities: add
    up the probabilities of the classes, and take the first class whose sum exceeds a uniform random number from
    rng.random((N, 1)).""",
    run="""
        x, t, new_x, new_t = data.split(*data.digits())
        W = stochastic(x, t, 10, steps=5000)
        print(f"{((new_x @ W).argmax(axis=1) == new_t).mean():.1%} of new digits are classified correctly")
    """,
    imports=("from linnet.learn import data",),
    parts=(
        Part("stochastic", "one step", lambda program: program.stochastic(*rows_of("digits", 0, 50), 10, steps=1)),
        Part("stochastic", "100 steps", lambda program: program.stochastic(*rows_of("digits", 0, 50), 10, steps=100)),
        Part(
            "sample",
            "classes drawn for 200 rows",
            lambda program: program.sample(_W64 / 9, _B10, rows_of("digits", 0, 200)[0], np.random.default_rng(3)),
        ),
    ),
    mistakes=(
        Mistake(
            {"W = W - eta * np.outer(x[i], p)": "W = W + eta * np.outer(x[i], p)"},
            "the step goes uphill: W - eta x'(p - 1_t).",
        ),
        Mistake(
            {"        p[t[i]] -= 1\n": ""},
            "1_t is missing: the slope is p - 1_t, so 1 is subtracted from p at the true class.",
        ),
        Mistake(
            {"for i in rng.integers(len(x), size=steps)": "for i in rng.permutation(len(x))[:steps]"},
            "rows are drawn without replacement: rng.integers(len(x), size=steps) may draw a row again.",
        ),
        Mistake(
            {"(p.cumsum(axis=1) > rng.random((len(x), 1))).argmax": "(p > rng.random((len(x), 1))).argmax"},
            "single probabilities are compared: compare their running sums, p.cumsum(axis=1).",
        ),
        Mistake(
            {"return (p.cumsum(axis=1) > rng.random((len(x), 1))).argmax(axis=1)": "return p.argmax(axis=1)"},
            "this is the most probable class, always: draw one, so that each class comes up with its probability.",
        ),
        Mistake(
            {"rng.random((len(x), 1))": "rng.random()"},
            "one number is drawn for all rows: each row needs its own, rng.random((len(x), 1)).",
        ),
    ),
    hints=(
        "For one row x[i]: p = softmax(x[i] @ W); p[t[i]] -= 1; np.outer(x[i], p) has the shape of W.",
        "argmax of an array of True and False is the index of the first True.",
    ),
    page="softmax",
)

CLASSIFICATION = (_PERCEPTRON, _LOGISTIC_LOSS, _LOGISTIC_REGRESSION, _SOFTMAX, _SOFTMAX_REGRESSION, _STOCHASTIC)
