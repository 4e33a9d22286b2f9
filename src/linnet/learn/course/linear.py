"""Linear regression: predictions, the best weights, and gradient descent towards them."""

from linnet.learn.assignment import Assignment, Mistake, Part
from linnet.learn.course.samples import by_differences, normal, rows_of

_W, _B = normal(10), 150.0

_PREDICTION = Assignment(
    name="linear-prediction",
    title="Predict with given weights",
    plain="linear_regression",
    write={"predict": (), "loss": ()},
    task="""The first model. Each row of x is a patient with D = 10 measurements; the prediction is a weighted sum of
    them plus b. Then measure how good the predictions are: half the mean of the squared errors.""",
    run="""
        x, t = data.patients()
        w, b = np.zeros(10), t.mean()
        print("prediction for the first patient:", predict(w, b, x)[0], "- what was measured:", t[0])
        print("loss of predicting the mean for everyone:", loss(w, b, x, t))
    """,
    imports=("from linnet.learn import data",),
    parts=(
        Part(
            "predict",
            "predictions for 25 patients",
            lambda program: program.predict(_W, _B, rows_of("patients", 0, 25)[0]),
        ),
        Part(
            "predict", "a prediction for one row", lambda program: program.predict(_W, _B, rows_of("patients", 0, 1)[0])
        ),
        Part("loss", "the loss on 25 patients", lambda program: program.loss(_W, _B, *rows_of("patients", 0, 25))),
    ),
    mistakes=(
        Mistake({"return x @ w + b": "return x @ w"}, "the bias is missing: y = x w + b."),
        Mistake(
            {"return x @ w + b": "return x * w + b"},
            "* multiplies element by element and keeps both axes; x w is a sum over the D inputs, which is x @ w.",
        ),
        Mistake(
            {".mean() / 2)": ".sum() / 2)"},
            "this is the sum over the rows: the loss is their mean, or it would grow with every row that is added.",
        ),
        Mistake(
            {".mean() / 2)": ".mean())"},
            "the factor 1/2 is missing: E is half the mean squared error, so that its slope is y - t.",
        ),
        Mistake(
            {"((predict(w, b, x) - t) ** 2).mean() / 2": "(predict(w, b, x) - t).mean() / 2"},
            "the square is missing: positive and negative errors cancel, and the loss may be negative.",
        ),
        Mistake(
            {"float(((predict(w, b, x) - t) ** 2).mean() / 2)": "np.sqrt(((predict(w, b, x) - t) ** 2).mean())"},
            "this is the root of the mean squared error: the loss is half the mean of the squares, without a root.",
        ),
        Mistake(
            {"((predict(w, b, x) - t) ** 2).mean() / 2": "((predict(w, b, x) - t) ** 2).sum() / len(w) / 2"},
            "this is divided by the number of inputs, D: the mean runs over the N rows.",
        ),
        Mistake(
            {"((predict(w, b, x) - t) ** 2).mean() / 2": "abs(predict(w, b, x) - t).mean() / 2"},
            "these are absolute errors: square them.",
        ),
    ),
    hints=(
        "x has shape (N, D) and w has shape (D,). x @ w has shape (N,): one sum of D products per row.",
        "NumPy adds b to every row on its own. For the loss: (y - t) ** 2, then .mean(), then half of that.",
    ),
    page="regression",
)

_LEAST_SQUARES = Assignment(
    name="least-squares",
    title="The best weights in one step",
    plain="linear_regression",
    write={"closed_form": ()},
    given=("predict", "loss"),
    task="""At the minimum of the loss all its slopes are zero: x'(x w - t) = 0, a system of D linear equations, x'x w =
    x't. Solve it. The bias is one more weight, that of an input which is always 1: add a column of ones to x.""",
    run="""
        x, t = data.patients()
        w, b = closed_form(x, t)
        print("loss of the mean:", loss(w * 0, t.mean(), x, t), "- smallest loss:", loss(w, b, x, t))
    """,
    imports=("from linnet.learn import data",),
    parts=(
        Part(
            "closed_form",
            "the line through three points",
            lambda program: program.closed_form(normal(3, 1), normal(3, seed=1)),
        ),
        Part(
            "closed_form",
            "weights for 442 patients",
            lambda program: program.closed_form(*rows_of("patients")),
            tolerance=1e-7,
        ),
    ),
    mistakes=(
        Mistake(
            {"    x = np.hstack([x, np.ones((len(x), 1))])\n": "", "return w[:-1], float(w[-1])": "return w, 0.0"},
            "the bias is missing: add a column of ones to x, whose weight is b.",
        ),
        Mistake(
            {"return w[:-1], float(w[-1])": "return w[1:], float(w[0])"},
            "the weights are shifted by one: b is the weight of the column of ones, which is the last here.",
        ),
        Mistake(
            {"np.linalg.solve(x.T @ x, x.T @ t)": "np.linalg.solve(x.T @ x + np.eye(x.shape[1]), x.T @ t)"},
            "this is ridge regression: something is added to the diagonal of x'x, which pulls the weights towards 0.",
        ),
    ),
    hints=(
        "np.hstack([x, np.ones((len(x), 1))]) adds the column of ones.",
        "np.linalg.solve(A, c) solves A w = c; A = x.T @ x has shape (D + 1, D + 1).",
        "The last of the D + 1 weights is b: return w[:-1] and float(w[-1]).",
    ),
    page="regression",
)

_DESCENT = Assignment(
    name="gradient-descent",
    title="Walk downhill: batch, minibatch and stochastic gradient descent",
    plain="linear_regression",
    write={
        "gradient": (),
        "gradient_descent": ("N, D", "B =", "rng", "w, b = np", "path", "for", "order", "return"),
    },
    given=("predict", "loss"),
    task="""Most models have no closed form. Instead: look at the slope, take a step against it, and repeat. First write
    the gradient of the loss, then the walk: each step takes the gradient on the next B rows of the order, and moves w
    and b by eta times that, downhill. The three kinds differ in B alone: all rows (batch), one (stochastic) or a few
    (minibatch).""",
    run="""
        x, t = data.patients()
        for B in (None, 32, 1):
            w, b, path = gradient_descent(x, t, eta=0.01, batch_size=B, epochs=20)
            print(f"batch size {B}: {len(path) - 1} steps, loss {loss(w, b, x, t):.1f}")
    """,
    imports=("from linnet.learn import data",),
    parts=(
        Part(
            "gradient",
            "the gradient on 32 patients, against finite differences",
            lambda program: program.gradient(_W, _B, *rows_of("patients", 0, 32)),
            expected=lambda plain: by_differences(lambda w, b: plain.loss(w, b, *rows_of("patients", 0, 32)), _W, _B),
            tolerance=1e-5,
            by="by finite differences of the loss",
        ),
        Part(
            "gradient_descent",
            "one step with all rows",
            lambda program: program.gradient_descent(*rows_of("patients", 0, 50), epochs=1)[:2],
        ),
        Part(
            "gradient_descent",
            "the path of 5 steps",
            lambda program: program.gradient_descent(*rows_of("patients", 0, 50), epochs=5)[2],
        ),
        Part(
            "gradient_descent",
            "an epoch in batches of 32, the last one of 18 rows",
            lambda program: program.gradient_descent(*rows_of("patients", 0, 50), batch_size=32, epochs=1),
        ),
        Part(
            "gradient_descent",
            "an epoch row by row",
            lambda program: program.gradient_descent(*rows_of("patients", 0, 50), eta=0.01, batch_size=1, epochs=1),
        ),
    ),
    mistakes=(
        Mistake(
            {"delta = predict(w, b, x) - t\n": "delta = t - predict(w, b, x)\n"},
            "the sign is wrong: the slope of the loss is y - t, not t - y.",
        ),
        Mistake(
            {"return x.T @ delta / len(x), float(delta.mean())": "return x.T @ delta, float(delta.sum())"},
            "this is the sum over the rows: the gradient of the mean loss is the mean, 1/32 of the sum on 32 rows.",
        ),
        Mistake(
            {"return x.T @ delta / len(x), float(delta.mean())": "return x.T @ delta / len(x), 0.0"},
            "the slope of b is missing: it is the mean of y - t.",
        ),
        Mistake(
            {
                "return x.T @ delta / len(x), float(delta.mean())": "return 2 * x.T @ delta / len(x), 2 * "
                "float(delta.mean())"
            },
            "it is too large by a factor of 2: the loss has a half in front of the square, which cancels the 2 of "
            "its slope.",
        ),
        Mistake(
            {"w, b = w - eta * dw, b - eta * db": "w, b = w + eta * dw, b + eta * db"},
            "the step goes uphill: subtract eta times the gradient.",
        ),
        Mistake(
            {"gradient(w, b, x[rows], t[rows])": "gradient(w, b, x, t)"},
            "each step uses all rows: take the gradient of this batch only, x[rows] and t[rows].",
        ),
        Mistake(
            {"rows = order[start : start + B]": "rows = order[start : start + 1]"},
            "each step uses one row only: a batch is order[start : start + B].",
        ),
        Mistake(
            {"rows = order[start : start + B]": "rows = np.arange(N)[start : start + B]"},
            "rows are taken in the order of the table: take them in the random order of this epoch.",
        ),
        Mistake(
            {"            path.append((w, b))": "        path.append((w, b))"},
            "the path has one entry per epoch: add w and b after each step, inside the loop over batches.",
        ),
    ),
    hints=(
        "With delta = y - t, of shape (N,): the sum over rows of delta_i x_i is x.T @ delta.",
        "Inside the loops: rows = order[start : start + B], dw, db = gradient(w, b, x[rows], t[rows]), a step, "
        "path.append((w, b)).",
        "Write w = w - eta * dw, not w -= eta * dw: otherwise the path holds the same array many times, and it "
        "keeps changing.",
    ),
    page="regression",
)

LINEAR_REGRESSION = (_PREDICTION, _LEAST_SQUARES, _DESCENT)
