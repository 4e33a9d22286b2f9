"""Counts, likelihoods, and one gradient for all generalized linear models."""

import numpy as np

from linnet.learn.assignment import Assignment, Mistake, Part
from linnet.learn.course.samples import Array, by_differences, normal, rows_of
from linnet.plain import heads

_W, _Z = normal(3) / 3, 2 * normal(5, 3)
_T = np.array([0, 2, 1, 1, 0])
_X3 = normal(40, 3, seed=8)
_COUNTS = np.random.default_rng(9).poisson(np.exp(_X3 @ _W + 1))

_POISSON = Assignment(
    name="poisson-regression",
    title="Poisson regression: counts",
    plain="poisson_regression",
    write={
        "loss": (),
        "gradient": (),
        "fit": ("N, D", "rng", "best, kept", "for", "order", "rows", "now", "waited", "if", "return", "best"),
    },
    task="""The expected count is y = e^z, with z = x w + b. The loss is the mean of e^z - t z, and the gradient is that
    of linear and logistic regression with yet another y. Start at w = 0 and e^b = the mean of the counts.""",
    run="""
        x, t = data.chin_ups()
        w, b = fit(x, t, eta=0.01)
        print("weight, waist and pulse multiply the expected chin-ups by", np.exp(w).round(2), "per standard deviation")
    """,
    imports=("from linnet.learn import data",),
    parts=(
        Part("loss", "the loss on 40 counts", lambda program: program.loss(_W, 0.5, _X3, _COUNTS)),
        Part(
            "gradient",
            "the gradient on 40 counts, against finite differences",
            lambda program: program.gradient(_W, 0.5, _X3, _COUNTS),
            expected=lambda plain: by_differences(lambda w, b: plain.loss(w, b, _X3, _COUNTS), _W, 0.5),
            tolerance=1e-6,
            by="by finite differences of the loss",
        ),
        Part(
            "fit",
            "the initial values, kept by an epoch with eta = 0",
            lambda program: program.fit(_X3, _COUNTS, eta=0.0, epochs=1),
        ),
        Part("fit", "one epoch", lambda program: program.fit(_X3, _COUNTS, epochs=1)),
        Part("fit", "20 men and their chin-ups", lambda program: program.fit(*rows_of("chin_ups"))),
    ),
    mistakes=(
        Mistake(
            {"(np.exp(z) - t * z)": "(z - t * np.log(z))"},
            "z is used as the expected count, but z is its logarithm: the expected count is e^z, which is above 0 "
            "for any z.",
        ),
        Mistake(
            {"(np.exp(z) - t * z)": "((np.exp(z) - t) ** 2 / 2)"},
            "these are squared errors: but the larger a count, the more it varies. -log of the Poisson probability "
            "is e^z - t z, up to a constant.",
        ),
        Mistake(
            {"delta = np.exp(x @ w + b) - t": "delta = x @ w + b - t"},
            "the exponential is missing: the prediction is y = e^z.",
        ),
        Mistake(
            {"delta = np.exp(x @ w + b) - t": "delta = t - np.exp(x @ w + b)"},
            "the sign is wrong: the slope is y - t, not t - y.",
        ),
        Mistake(
            {"delta = np.exp(x @ w + b) - t": "delta = (np.exp(x @ w + b) - t) * np.exp(x @ w + b)"},
            "this is the gradient of squared errors: in that of the likelihood, the slope e^z of the mean cancels.",
        ),
        Mistake(
            {"np.zeros(D), float(np.log(t.mean()))": "np.zeros(D), float(t.mean())"},
            "b starts at the mean of the counts: b is the logarithm of an expected count.",
        ),
        Mistake(
            {"np.zeros(D), float(np.log(t.mean()))": "np.zeros(D), 0.0"},
            "b starts at 0, an expected count of 1: the best constant is the log of the mean count.",
        ),
    ),
    hints=(
        "loss: (np.exp(z) - t * z).mean() with z = x @ w + b.",
        "gradient: as in logistic regression, with np.exp(z) in place of sigma(z).",
        "fit: w = np.zeros(D), b = float(np.log(t.mean())); then a step per batch, as before.",
    ),
    page="poisson",
)

_HEADS: tuple[heads.Head, ...] = (heads.Normal(), heads.Bernoulli(), heads.Categorical(), heads.Poisson())
_TARGETS = (
    normal(40, 3, seed=2),
    (normal(40, 3, seed=2) > 0).astype(float),
    np.eye(3)[np.arange(40) % 3],
    np.arange(120.0).reshape(40, 3) % 4,
)
_W33, _B3 = normal(3, 3), normal(3)


def _gradient(head: heads.Head, t: Array) -> Part:
    return Part(
        "gradient",
        f"the gradient of the {type(head).__name__} head, against finite differences",
        lambda program: program.gradient(head, _W33, _B3, _X3, t),
        expected=lambda plain: by_differences(lambda W, b: head.loss(_X3 @ W + b, t).sum() / len(t), _W33, _B3),
        tolerance=1e-6,
        by="by finite differences of the loss",
    )


def _epochs(head: heads.Head, t: Array) -> Part:
    return Part(
        "fit",
        f"three epochs with the {type(head).__name__} head",
        lambda program: program.fit(head, _X3, t, epochs=3, batch_size=16),
    )


_ONE_GRADIENT = Assignment(
    name="one-gradient",
    title="One gradient for all generalized linear models",
    plain="glm",
    write={"gradient": (), "fit": ("rng", "W, b = np", "for", "order", "rows", "return")},
    task="""Linear, logistic, softmax and Poisson regression are one program. Only the head differs: head.slope(z, t) is
    y - t for all four. Write the gradient of the mean loss with respect to W and b for any head with K outputs: x has
    shape (N, D), W (D, K), t (N, K). Then train with it.""",
    run="""
        from linnet.plain.heads import Categorical, Poisson

        x, t, new_x, new_t = data.split(*data.digits())
        W, b = fit(Categorical(), x, np.eye(10)[t], epochs=30)
        print(f"{((new_x @ W + b).argmax(axis=1) == new_t).mean():.1%} of new digits are classified correctly")
        x, t = data.chin_ups()
        print("chin-ups by weight, waist and pulse:", fit(Poisson(), x, t[:, None], eta=0.01, epochs=500)[0].ravel())
    """,
    imports=("from linnet.learn import data",),
    parts=(
        *map(_gradient, _HEADS, _TARGETS),
        *map(_epochs, _HEADS, _TARGETS),
    ),
    mistakes=(
        Mistake(
            {"head.slope(x @ W + b, t) / len(x)": "head.slope(x @ W + b, t)"},
            "this is the sum over the rows: divide by N.",
        ),
        Mistake(
            {"head.slope(x @ W + b, t) / len(x)": "(x @ W + b - t) / len(x)"},
            "z - t is the slope of the Normal head only: head.slope(z, t) is mean minus target for every head.",
        ),
        Mistake({"head.slope(x @ W + b, t) / len(x)": "head.slope(x @ W, t) / len(x)"}, "b is missing in z = x W + b."),
        Mistake(
            {"return x.T @ delta, delta.sum(axis=0)": "return x.T @ delta, delta.mean(axis=0)"},
            "the slope of b is divided by N twice: delta is divided by it already.",
        ),
        Mistake(
            {
                "for start in range(0, len(x), batch_size)": "for start in range(0, len(x), batch_size + 1)",
                "rows = order[start : start + batch_size]": "rows = order[start : start + batch_size]  ",
            },
            "a row is left out between batches: the next batch starts at start + batch_size.",
        ),
        Mistake(
            {
                "W, b = W - eta * dW, b - eta * db": "W = W - eta * dW\n            _, db = gradient(head, W, b, "
                "x[rows], t[rows])\n            b = b - eta * db"
            },
            "the slope of b is taken after W has moved: both steps use the gradient at the same point.",
        ),
    ),
    hints=(
        "delta = head.slope(x @ W + b, t) / len(x) has shape (N, K).",
        "dE/dW = x' delta, of shape (D, K); dE/db = the sum over rows of delta, of shape (K,).",
    ),
    page="glm",
)

_LIKELIHOODS = Assignment(
    name="likelihoods",
    title="Likelihoods: the probabilities behind the losses",
    plain="likelihood",
    write={"bernoulli": (), "multinomial": (), "poisson": (), "log_loss": (), "margin": ()},
    task="""Training looks for the parameters that make the targets most probable. Write the probabilities that the
    course uses: of yes or no, of counts of several kinds (two 3s and three 4s in five throws of a die have probability
    10 / 6^5), and of a single count. Then write the loss of a classifier in terms of its scores, log sum_k e^z_k - z_t,
    and its margin, of which that loss is a smooth version.""",
    run="""
        print("two 3s and three 4s:", multinomial([0, 0, 2, 3, 0, 0], [1 / 6] * 6), "=", 10 / 6**5)
        z = np.array([[2.0, 1.0, 0.0]])
        for t in (0, 1):
            print(f"class {t}: loss {log_loss(z, np.array([t]))[0]:.3f}, margin {margin(z, np.array([t]))[0]:.3f}")
    """,
    parts=(
        Part("bernoulli", "yes and no", lambda program: [program.bernoulli(1, 0.3), program.bernoulli(0, 0.3)]),
        Part(
            "multinomial",
            "two 3s and three 4s in five throws",
            lambda program: program.multinomial([0, 0, 2, 3, 0, 0], [1 / 6] * 6),
        ),
        Part("multinomial", "one toss of a loaded coin", lambda program: program.multinomial([1, 0], [0.7, 0.3])),
        Part(
            "poisson", "counts from 0 to 4 with mean 2.5", lambda program: [program.poisson(k, 2.5) for k in range(5)]
        ),
        Part("log_loss", "5 rows of 3 scores", lambda program: program.log_loss(_Z, _T)),
        Part("log_loss", "scores of 1000", lambda program: program.log_loss(500 * _Z, _T)),
        Part("margin", "5 rows of 3 scores", lambda program: program.margin(_Z, _T)),
    ),
    mistakes=(
        Mistake(
            {"return y**t * (1 - y) ** (1 - t)": "return y**t"},
            "rows with t = 0 have probability 1 - y: y^t (1 - y)^(1-t).",
        ),
        Mistake(
            {"    return ways * prod(": "    return prod("},
            "the number of orders is missing: N! / (x_1! ... x_K!) sequences have the same counts.",
        ),
        Mistake(
            {"factorial(sum(x)) // prod(factorial(n) for n in x)": "factorial(sum(x))"},
            "outcomes of one kind cannot be told apart: divide N! by x_k! for each kind.",
        ),
        Mistake(
            {"return y**k * exp(-y) / factorial(k)": "return y**k * exp(-y)"},
            "k! is missing: the probabilities of 0, 1, 2, ... have to sum to 1.",
        ),
        Mistake(
            {"np.logaddexp.reduce(z, axis=1)": "np.log(np.exp(z).sum(axis=1))"},
            "e^z is infinite for large z: np.logaddexp.reduce(z, axis=1) is log sum_k e^z_k without it, or subtract "
            "the largest z.",
        ),
        Mistake(
            {
                "np.logaddexp.reduce(z, axis=1) - z[np.arange(len(t)), t]": "z[np.arange(len(t)), t] - "
                "np.logaddexp.reduce(z, axis=1)"
            },
            "the sign is wrong: this is log p, which is below 0; the loss is -log p.",
        ),
        Mistake(
            {"return z.max(axis=1) - z[np.arange(len(t)), t]": "return z[np.arange(len(t)), t] - z.max(axis=1)"},
            "the sign is wrong: the margin is 0 where the true class has the highest score, and above 0 elsewhere.",
        ),
    ),
    hints=(
        "math.factorial and math.prod are imported. zip(mu, x) goes through both lists at once.",
        "np.logaddexp.reduce(z, axis=1) is log sum_k e^z_k of each row.",
        "z[np.arange(len(t)), t] is the score of the true class of each row.",
    ),
    page="glm",
)

_NEWTON = Assignment(
    name="newton",
    title="Newton's method: iteratively reweighted least squares",
    plain="newton",
    write={"minimise": ("theta = np", "for", "return"), "irls": ("x = np", "t, free", "return")},
    task="""With second derivatives a few steps are enough. A step is H^-1 g, with the gradient g and the matrix H of
    second derivatives; halve it as long as it leads uphill, and stop when it is negligible. For a generalized linear
    model g = x'(y - t) and H = x' diag(c) x, where c is the curvature of each row's loss. A penalty l2 |w|^2 / 2 adds
    l2 w to g and l2 to the diagonal of H, except for the bias.""",
    run="""
        from linnet.plain.heads import Bernoulli

        x, t, new_x, new_t = data.split(*data.tumours())
        w, b = irls(Bernoulli(), x, t, l2=1.0)
        print(f"{((new_x @ w + b > 0) == new_t).mean():.1%} of new tumours are classified correctly")
    """,
    imports=("from linnet.learn import data",),
    parts=(
        Part(
            "minimise",
            "a parabola: one step",
            lambda program: program.minimise(
                lambda u: float(((u - 3) ** 2).sum()), lambda u: 2 * (u - 3), lambda u: 2 * np.eye(2), 2
            ),
        ),
        Part(
            "minimise",
            "log(e^u + e^-u + 8) + u/2: a full step leads uphill",
            lambda program: program.minimise(
                lambda u: float(np.log(np.exp(u - 4) + np.exp(4 - u) + 0.01)[0]),
                lambda u: (np.exp(u - 4) - np.exp(4 - u)) / (np.exp(u - 4) + np.exp(4 - u) + 0.01),
                lambda u: np.array([[0.1]]),
                1,
            ),
            tolerance=1e-6,
        ),
        Part(
            "irls",
            "20 men and their chin-ups, Poisson head",
            lambda program: program.irls(heads.Poisson(), *rows_of("chin_ups")),
            tolerance=1e-6,
        ),
        Part(
            "irls",
            "the same with l2 = 1",
            lambda program: program.irls(heads.Poisson(), *rows_of("chin_ups"), l2=1.0),
            tolerance=1e-6,
        ),
        Part(
            "irls",
            "100 tumours, Bernoulli head, l2 = 1",
            lambda program: program.irls(heads.Bernoulli(), *rows_of("tumours", 0, 100), l2=1.0),
            tolerance=1e-6,
        ),
    ),
    mistakes=(
        Mistake({"theta = theta - step": "theta = theta + step"}, "the step goes uphill: theta - H^-1 g."),
        Mistake(
            {
                "        while np.abs(step).max() > 1e-12 and E(theta - step) > E(theta):\n"
                "            step = step / 2\n": ""
            },
            "a step that leads uphill is taken as it is: halve it until E falls.",
        ),
        Mistake(
            {
                "head.curvature(x @ theta[:, None], t) * x) + np.diag(free)": "head.curvature(x @ theta[:, None], t) "
                "* x)",
                "(x.T @ head.slope(x @ theta[:, None], t))[:, 0] + free * theta": "(x.T @ head.slope(x @ theta[:, "
                "None], t))[:, 0]",
                ".sum() + free @ theta**2 / 2)": ".sum())",
            },
            "the penalty is missing: l2 w in the gradient, l2 on the diagonal of H.",
        ),
        Mistake(
            {"np.append(np.full(x.shape[1] - 1, l2), 0.0)": "np.full(x.shape[1], l2)"},
            "the bias is penalised, too: l2 is for w only.",
        ),
    ),
    hints=(
        "np.linalg.lstsq(H(theta), g(theta), rcond=1e-12)[0] is H^-1 g, and exists even where H is singular.",
        "E, g and H of irls are functions of theta: the last number of theta is b, the weight of the column of ones.",
    ),
    page="linear",
)

LIKELIHOODS = (_POISSON, _ONE_GRADIENT, _LIKELIHOODS, _NEWTON)
