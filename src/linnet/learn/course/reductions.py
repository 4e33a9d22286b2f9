"""Many classes from binary classifiers."""

from typing import Any

import numpy as np

from linnet.learn.assignment import Assignment, Mistake, Part
from linnet.learn.course.samples import Array, normal, rows_of

_LEARN = '''
def learn(x, t):
    """A binary classifier by ridge regression: returns a score function, above 0 for t = 1."""
    x1 = np.hstack([x, np.ones((len(x), 1))])
    w = np.linalg.solve(x1.T @ x1 + np.eye(x1.shape[1]), x1.T @ (2 * t - 1))
    return lambda new: new @ w[:-1] + w[-1]

'''


def learn(x: Array, t: Array) -> Any:
    """A binary classifier by ridge regression, as in the programs."""
    x1 = np.hstack([x, np.ones((len(x), 1))])
    w = np.linalg.solve(x1.T @ x1 + np.eye(x1.shape[1]), x1.T @ (2 * t - 1))
    return lambda new: new @ w[:-1] + w[-1]


class _Asked:
    """A learner that records its arguments instead of learning."""

    def __init__(self) -> None:
        self.calls: list[list[Array]] = []

    def __call__(self, x: Array, t: Array) -> Any:
        self.calls.append([np.asarray(x)[:, 0], np.asarray(t, float)])
        return lambda new: np.zeros(len(new))


_X = np.arange(12.0)[:, None] * np.ones((1, 2))
_T = np.arange(12) % 4
_S = normal(8, 4)
_YES = np.where(normal(40, 4, seed=3) > 0, 1.0, -1.0)
_U = np.random.default_rng(2).random(40)
_PAIRS = {
    (0, 1): normal(8, seed=1),
    (0, 2): normal(8, seed=2),
    (0, 3): normal(8, seed=3),
    (1, 2): normal(8, seed=4),
    (1, 3): normal(8, seed=5),
    (2, 3): normal(8, seed=6),
}
_SCORES = {pair: (lambda x, s=s: s) for pair, s in _PAIRS.items()}


def _asked(fit: Any, *more: Any) -> list[list[Array]]:
    learner = _Asked()
    fit(learner, _X, _T, *more)
    return learner.calls


def _digits(rows: int = 400) -> Any:
    return rows_of("digits", 0, rows)


_RUN = """
{learn}
x, t, new_x, new_t = data.split(*data.digits())
classifiers = fit(learn, x, t, 10)
print(f"{{({predict} == new_t).mean():.1%}} of new digits are classified correctly")
"""

_REST = Assignment(
    name="one-vs-rest",
    title="One against the rest",
    plain="one_vs_rest",
    write={"fit": (), "scores": (), "by_score": (), "by_lot": ()},
    task="""K binary classifiers, class k against all others. learn(x, t), with t = 0 or 1, returns a score function:
    above 0 means yes. Predict the class with the highest score or, if all you know is yes or no, draw one of the
    classes whose classifiers say yes, with equal probability: with n of them and a number u in [0, 1), the one of index
    int(u n). If none says yes, take the highest score.""",
    run=_RUN.format(learn=_LEARN, predict="by_score(scores(classifiers, new_x))"),
    imports=("from linnet.learn import data",),
    parts=(
        Part("fit", "what each classifier learns from", lambda program: _asked(program.fit, 4)),
        Part(
            "scores",
            "scores of 20 digits",
            lambda program: program.scores(program.fit(learn, *_digits(), 10), _digits(20)[0]),
        ),
        Part("by_score", "the highest score", lambda program: program.by_score(_S)),
        Part("by_lot", "yes or no: drawn among those that say yes", lambda program: program.by_lot(_YES, _U)),
        Part("by_lot", "none says yes", lambda program: program.by_lot(-np.exp(_S), _U[:8])),
    ),
    mistakes=(
        Mistake(
            {"(t == k).astype(float)": "(t != k).astype(float)"},
            "yes and no are swapped: classifier k says 1 for class k.",
        ),
        Mistake(
            {
                "learn(x, (t == k).astype(float)) for k in range(K)": "learn(x[t <= k], (t[t <= k] == "
                "k).astype(float)) for k in range(K)"
            },
            "a classifier leaves out rows: each learns from all rows.",
        ),
        Mistake(
            {"np.stack([score(x) for score in classifiers], axis=1)": "np.stack([score(x) for score in classifiers])"},
            "this is classes x rows: stack along axis=1.",
        ),
        Mistake(
            {"return s.argmax(axis=1)": "return s.argmax(axis=0)"},
            "this is the best row per class: classes are axis 1.",
        ),
        Mistake(
            {"np.flatnonzero(row)[int(v * row.sum())]": "np.flatnonzero(row)[0]"},
            "this is always the first that says yes: draw one, with equal probability.",
        ),
        Mistake(
            {"    tied = np.where(tied.any(axis=1, keepdims=True), tied, s == s.max(axis=1, keepdims=True))\n": ""},
            "rows for which none says yes are forgotten: take the class with the highest score.",
        ),
        Mistake(
            {"[int(v * row.sum())]": "[int(v * len(row)) % row.sum()]"},
            "classes are drawn with different probabilities: int(u n) with n the number that say yes.",
        ),
    ),
    hints=(
        "[learn(x, (t == k).astype(float)) for k in range(K)]",
        "np.flatnonzero(row) has the indices where a row is True.",
    ),
    page="multiclass",
)

_ONE = Assignment(
    name="one-vs-one",
    title="One against one: votes",
    plain="one_vs_one",
    write={"fit": ("classifiers = ", "return"), "votes": ("won, sums", "return"), "predict": ()},
    task="""K (K - 1) / 2 binary classifiers, one for each pair of classes j < k, learned from the rows of these two
    only, with t = 1 for class k. Each votes for one of the two: for k if its score is above 0, else for j. Add up the
    votes in `won`, and the scores in `sums` (plus for k, minus for j), which break ties.""",
    run=_RUN.format(learn=_LEARN, predict="predict(classifiers, new_x, 10)"),
    imports=("from linnet.learn import data",),
    parts=(
        Part("fit", "what each classifier learns from", lambda program: _asked(program.fit, 4)),
        Part("fit", "the pairs", lambda program: [list(pair) for pair in program.fit(learn, _X, _T, 4)]),
        Part("votes", "votes of 6 classifiers on 8 rows", lambda program: program.votes(_SCORES, _X[:8], 4)),
        Part("predict", "classes of 8 rows", lambda program: program.predict(_SCORES, _X[:8], 4)),
        Part(
            "predict",
            "400 digits",
            lambda program: program.predict(program.fit(learn, *_digits(), 10), _digits()[0], 10),
        ),
    ),
    mistakes=(
        Mistake(
            {"rows = (t == j) | (t == k)": "rows = t >= 0"},
            "a pair learns from all rows: it should see the rows of its two classes only.",
        ),
        Mistake(
            {"(t[rows] == k).astype(float)": "(t[rows] == j).astype(float)"},
            "the two classes are swapped: t = 1 for class k, the second of the pair.",
        ),
        Mistake(
            {"combinations(range(K), 2)": "[(0, k) for k in range(1, K)]"},
            "pairs are missing: there are K (K - 1) / 2, all j < k.",
        ),
        Mistake(
            {"        won[:, j] += s <= 0\n": ""},
            "there are no votes for j: where the score is not above 0, the vote goes to class j.",
        ),
        Mistake(
            {
                "        won[:, k] += s > 0\n        won[:, j] += s <= 0\n": "        won[:, j] += s > 0\n"
                "        won[:, k] += s <= 0\n"
            },
            "the votes are swapped: a score above 0 is a vote for k.",
        ),
        Mistake(
            {"        sums[:, j] -= s\n": ""}, "the sums of class j are missing: a score counts for k and against j."
        ),
        Mistake(
            {"return votes(classifiers, x, K).argmax(axis=1)": "return votes(classifiers, x, K).argmin(axis=1)"},
            "this is the class with the fewest votes.",
        ),
    ),
    hints=(
        "for j, k in combinations(range(K), 2): rows = (t == j) | (t == k); classifiers[j, k] = learn(x[rows], ...)",
        "True counts as 1: won[:, k] += s > 0.",
    ),
    page="multiclass",
)

_M = np.array([[1, 1, 1, 1, 0], [-1, 1, -1, 1, 1], [1, -1, -1, 1, -1], [-1, -1, 1, -1, -1]])

_CODES = Assignment(
    name="output-codes",
    title="Error-correcting output codes",
    plain="output_code",
    write={"exhaustive": (), "fit": ("classifiers = ", "for", "return"), "hamming": (), "likelihood": ()},
    task="""Each class has a codeword of +1 and -1, a row of M; each column of M splits the classes in two, and one
    binary classifier learns to separate them (rows of classes with 0 in the column are left out). Predict the class
    whose codeword is nearest to the signs of the scores. exhaustive(K) has all 2^(K-1) - 1 splits: column c has +1
    where bit k of the number c is set, -1 elsewhere, and the last class always +1.""",
    run="""
        {learn}
        x, t, new_x, new_t = data.split(*data.digits())
        M = exhaustive(10)[:, ::12]
        classifiers = fit(learn, x, t, M)
        s = np.stack([score(new_x) for score in classifiers], axis=1)
        print(f"{{(hamming(s, M) == new_t).mean():.1%}} of new digits are classified correctly, with {{M.shape[1]}} "
            f"classifiers")
    """.format(learn=_LEARN.replace("\n", "\n        ")),
    imports=("from linnet.learn import data",),
    parts=(
        Part("exhaustive", "the code of 3 classes", lambda program: program.exhaustive(3)),
        Part("exhaustive", "the code of 5 classes", lambda program: program.exhaustive(5)),
        Part("fit", "what each classifier learns from", lambda program: _asked(program.fit, _M)),
        Part("hamming", "the nearest codewords of 30 rows", lambda program: program.hamming(normal(30, 4), _M[:, :4])),
        Part(
            "likelihood", "the most probable classes of 30 rows", lambda program: program.likelihood(normal(30, 5), _M)
        ),
        Part("likelihood", "scores of 1000", lambda program: program.likelihood(800 * normal(30, 5), _M)),
    ),
    mistakes=(
        Mistake(
            {"np.arange(2 ** (K - 1) - 1)": "np.arange(2 ** (K - 1))"},
            "there is a column too many: one that has all classes on the same side splits nothing.",
        ),
        Mistake(
            {"    bits[-1] = 1  #": "    #"},
            "the last class is not always +1: otherwise each split would be there twice, with its signs swapped.",
        ),
        Mistake({"return 2 * bits - 1": "return bits"}, "bits are +1 and -1: 2 bits - 1."),
        Mistake(
            {"        rows = bits[t] != 0\n": "        rows = bits[t] != 2\n"},
            "rows of classes with the bit 0 are not left out.",
        ),
        Mistake(
            {"(bits[t[rows]] > 0).astype(float)": "bits[t[rows]].astype(float)"},
            "targets are +1 and -1: a learner expects 1 and 0.",
        ),
        Mistake(
            {"(np.where(s > 0, 1, -1) @ M.T).argmax(axis=1)": "(s @ M.T).argmax(axis=1)"},
            "the scores themselves are compared: the Hamming distance counts bits, so take their signs.",
        ),
        Mistake(
            {"(np.where(s > 0, 1, -1) @ M.T).argmax(axis=1)": "(np.where(s > 0, 1, -1) @ M.T).argmin(axis=1)"},
            "this is the codeword that differs most: take the one that differs least.",
        ),
        Mistake(
            {"log_p = -np.logaddexp(0, -s[:, None, :] * M)": "log_p = -np.logaddexp(0, s[:, None, :] * M)"},
            "the sign is wrong: a score above 0 makes the bit +1 probable, log P = -log(1 + e^(-bit s)).",
        ),
    ),
    hints=(
        "columns >> k & 1 is bit k of each number; np.arange(K)[:, None] makes a row for each k.",
        "For codewords of +1 and -1, the inner product of two is the number of equal bits minus that of different "
        "ones.",
        "s[:, None, :] * M has shape (rows, classes, bits).",
    ),
    page="multiclass",
)

REDUCTIONS = (_REST, _ONE, _CODES)
