"""Programs as students write them: in their own way, with the usual mistakes, and with mistakes nobody thought of."""

from pathlib import Path
from textwrap import dedent

import pytest

from linnet.errors import ConfigError, FormatError
from linnet.learn import Report, check, find
from linnet.learn.notebook import to_notebook


def checked(folder: Path, name: str, text: str) -> Report:
    path = folder / find(name).file
    path.write_text("import numpy as np\n" + dedent(text))
    return check(path)


def first(report: Report) -> str:
    """The message about the first part that is not right."""
    assert report.first is not None
    return "\n".join(report.explained(report.first))


SOFTMAX = """
    def softmax(z):
        z = np.asarray(z)
        shifted = z - np.max(z, axis=-1)[..., None]
        total = np.sum(np.exp(shifted), axis=-1)
        return np.exp(shifted - np.log(total)[..., None])

    def loss(W, b, x, t):
        rows = []
        for i in range(len(x)):
            z = x[i] @ W + b
            m = max(z)
            rows.append(m + np.log(sum(np.exp(v - m) for v in z)) - z[t[i]])
        return sum(rows) / len(rows)

    def predict(W, b, x):
        return [int(np.argmax(row @ W + b)) for row in x]
"""


def test_another_way_to_write_it_is_as_right(tmp_path: Path) -> None:
    assert checked(tmp_path, "softmax", SOFTMAX).passed


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ("return np.exp(shifted - np.log(total)[..., None])", "pass", "it is None: is there a return?"),
        ("[..., None]\n        total", "\n        total", "ValueError: operands could not be broadcast"),
        (
            "return np.exp(shifted - np.log(total)[..., None])",
            "e = np.exp(z); return e / e.sum(-1)[:, None]",
            "too large",
        ),
        ("return sum(rows) / len(rows)", "return sum(rows)", "this is the sum over the rows: the loss is their mean."),
        ("return sum(rows) / len(rows)", "return sum(rows) / len(rows) ** 2", "too small by a factor of 32"),
        ("return sum(rows) / len(rows)", "return -sum(rows) / len(rows)", "the sign is wrong"),
        ("return sum(rows) / len(rows)", "return rows", "it has shape (32,), expected no axes (a single number)"),
        ("- z[t[i]])", "- z[t[i]] + 1)", "expected"),
        ("def predict", "def predicted", "there is no function predict"),
        ("return [int(np", "return [str(np", "it has values that are not numbers"),
        ("return [int(np.argmax(row @ W + b)) for row in x]", "return {'class': 1}", "it is a dict"),
        (
            "return [int(np.argmax(row @ W + b)) for row in x]",
            "return x @ W + b",
            "has shape (32, 10), expected shape (32,)",
        ),
        ("return [int(np.argmax(row @ W + b)) for row in x]", "return open", "a value of type"),
        ("m = max(z)", "m = maximum(z)", "NameError: name 'maximum' is not defined\nline"),
        ("        rows = []\n", "        rows = [\n", "the file cannot be run: SyntaxError"),
        ("z = np.asarray(z)", "z = np.asarray(z); z -= 1", "softmax changes the array z that it was given"),
        (
            "z = np.asarray(z)",
            "z = np.asarray(z) + np.random.normal()*0; z = z * np.random.rand()",
            "two calls with the same",
        ),
        ("def softmax(z):", "def softmax():", "TypeError"),
        ("return np.exp(shifted", "return 2 * np.exp(shifted", "it is too large by a factor of 2"),
        (
            "return np.exp(shifted - np.log(total)[..., None])",
            "return np.exp(shifted - np.log(total)[..., None]).T",
            "transposed",
        ),
    ],
    ids=str,
)
def test_what_is_said_of_a_mistake(old: str, new: str, shown: str, tmp_path: Path) -> None:
    assert SOFTMAX.count(old) == 1, old
    report = checked(tmp_path, "softmax", SOFTMAX.replace(old, new))
    assert shown in first(report)


PERCEPTRON = """
    def perceptron(x, t, *, eta=1.0, epochs=1000, seed=0):
        rng = np.random.default_rng(seed)
        weights, bias, counts = [0.0] * x.shape[1], 0.0, []
        while len(counts) < epochs:
            wrong = 0
            for i in rng.permutation(len(x)):
                z = sum(a * b for a, b in zip(weights, x[i])) + bias
                if np.sign(z) != t[i]:
                    weights = [a + eta * t[i] * b for a, b in zip(weights, x[i])]
                    bias += eta * t[i]
                    wrong += 1
            counts.append(wrong)
            if not wrong:
                break
        return np.array(weights), bias, counts

    def predict(w, b, x):
        return [1 if z > 0 else -1 for z in x @ w + b]
"""


def test_loops_and_lists_are_as_right(tmp_path: Path) -> None:
    assert checked(tmp_path, "perceptron", PERCEPTRON).passed


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ("if np.sign(z) != t[i]:", "if np.sign(z) == -t[i]:", "z = 0 counts as right"),
        ("bias += eta * t[i]", "bias += 0", "the bias never moves"),
        ("            if not wrong:\n                break\n", "", "it goes on after an epoch without mistakes"),
        ("[a + eta * t[i] * b for", "[a + eta * b for", "the step leaves out t"),
        ("1 if z > 0 else -1", "1 if z > 0 else 0", "the classes are +1 and -1"),
        ("rng.permutation(len(x))", "range(len(x))", "expected"),
    ],
)
def test_mistakes_are_recognised_however_they_are_written(old: str, new: str, shown: str, tmp_path: Path) -> None:
    assert shown in first(checked(tmp_path, "perceptron", PERCEPTRON.replace(old, new)))


NETWORK = """
    class MLP:
        pass

    def train(x, t, H, K, *, eta=0.1, batch_size=32, epochs=20, seed=0):
        rng = np.random.default_rng(seed)
        W1 = rng.uniform(-1, 1, (x.shape[1], H)) / np.sqrt(x.shape[1])
        W2 = rng.uniform(-1, 1, (H, K)) / np.sqrt(H)
        b1, b2, history = np.zeros(H), np.zeros(K), []
        def probabilities(x):
            h = np.tanh(x @ W1 + b1)
            e = np.exp(h @ W2 + b2)
            return h, e / e.sum(1, keepdims=True)
        for _ in range(epochs):
            order = rng.permutation(len(x))
            while len(order):
                rows, order = order[:batch_size], order[batch_size:]
                h, p = probabilities(x[rows])
                d2 = (p - np.eye(K)[t[rows]]) / len(rows)
                d1 = d2 @ W2.T * (1 - h * h)
                W2, b2 = W2 - eta * h.T @ d2, b2 - eta * d2.sum(0)
                W1, b1 = W1 - eta * x[rows].T @ d1, b1 - eta * d1.sum(0)
            history.append(-np.log(probabilities(x)[1][range(len(t)), t]).mean())
        return [W1, b1, W2, b2], history

    def forward(weights, x):
        W1, b1, W2, b2 = weights
        h = np.tanh(x @ W1 + b1)
        e = np.exp(h @ W2 + b2)
        return h, e / e.sum(1, keepdims=True)
"""


def test_a_network_written_in_one_piece_is_as_right(tmp_path: Path) -> None:
    assert checked(tmp_path, "train-a-network", NETWORK).passed


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ("order[:batch_size], order[batch_size:]", "order[:batch_size], order[batch_size + 1:]", "expected"),
        ("/ len(rows)", "/ len(rows) / batch_size", "the mean is taken twice"),
        (
            "                W1, b1 = W1 - eta * x[rows].T @ d1, b1 - eta * d1.sum(0)\n",
            "",
            "the hidden layer does not learn",
        ),
        ("order = rng.permutation(len(x))", "order = np.arange(len(x))", "the rows come in the same order each time"),
        ("W2 - eta * h.T @ d2, b2 - eta * d2.sum(0)", "W2 + eta * h.T @ d2, b2 + eta * d2.sum(0)", "numbers differ"),
    ],
)
def test_mistakes_of_a_network_are_recognised(old: str, new: str, shown: str, tmp_path: Path) -> None:
    assert NETWORK.count(old) == 1
    assert shown in first(checked(tmp_path, "train-a-network", NETWORK.replace(old, new)))


def test_parts_behind_the_first_problem_stay_open(tmp_path: Path) -> None:
    report = checked(tmp_path, "softmax", SOFTMAX.replace("return sum(rows) / len(rows)", "return 0.0"))
    assert [str(verdict.status) for verdict in report.verdicts] == ["right"] * 2 + ["wrong"] + ["not checked yet"] * 3
    assert "all of it is 0" in first(report)


def test_what_leads_out_of_a_program_is_noted(tmp_path: Path) -> None:
    report = checked(tmp_path, "softmax", f"import os, math\nfrom sklearn import metrics\nopen\n{dedent(SOFTMAX)}")
    uses = [note.removesuffix(", which the assignment does not need") for note in report.notes]
    assert uses == ["it uses os", "it uses sklearn.metrics", "it uses open"]


def test_a_slip_is_not_taken_for_a_mistake(tmp_path: Path) -> None:
    """The mistake of transposes in a graph raises a ValueError, too, but not this one."""
    solution = find("automatic-differentiation").solution
    text = solution.replace("a.value @ b.value,", "np.array([1.0, 2.0]) + np.zeros(3),")
    path = tmp_path / "automatic_differentiation.py"
    path.write_text(text)
    assert "operands could not be broadcast" in first(check(path))


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ("x[i] @ W + b", "W @ x[i] + b", "the last axis of A must be as long as the first one of B"),
        ("x[i] @ W + b", "W @ x[i] + b", "the shapes of its arguments: W (64, 10), b (10,), x (32, 64), t (32,)"),
        ("[..., None]\n        total", "\n        total", "keepdims=True or [:, None] makes an axis of length 1"),
        ("z = x[i] @ W + b", "z = (x[i] @ W + b) ^ 2", "a power is written **, not ^"),
        ("m = max(z)", "m = max(z) if z > 0 else 0", "has an index been left out, such as x[i]?"),
        ("z[t[i]]", "z[float(t[i])]", "IndexError"),
        ("z[t[i]]", "z[t[i] + 10]", "indices are counted from 0"),
        ("rows = []", "rows = [] * 0.5", "a list is not an array"),
        (
            "return sum(rows) / len(rows)",
            "return print(rows) / 2",
            "does a function that is called here have no return",
        ),
        ("return sum(rows) / len(rows)", "return total(rows)", "NameError: name 'total' is not defined"),
        ("np.exp(v - m)", "math.exp(x)", "NameError"),
        ("return sum(rows) / len(rows)", "return sum(rows) / len(rows) + 1e-4", "it is nearly right"),
        ("return sum(rows) / len(rows)", "return sum(rows) / len(rows) / np.log(2)", "np.log2 is used in place of"),
        (
            "return sum(rows) / len(rows)",
            "return sum(rows) / len(rows) * 7",
            "too large by a factor of 7: is it a sum over 7",
        ),
        ("return [int(np.argmax(row @ W + b)) for row in x]", "return x @ W", "argmax along the last axis missing?"),
        ("return [int(np.argmax(row @ W + b)) for row in x]", "return np.argmax(x @ W)", "taken over the whole array"),
        ("        rows = []\n", "        rows = [\n", "SyntaxError: '[' was never closed\nline 10: rows = ["),
    ],
    ids=str,
)
def test_errors_and_differences_come_with_what_they_usually_mean(
    old: str, new: str, shown: str, tmp_path: Path
) -> None:
    assert SOFTMAX.count(old) == 1, old
    assert shown in first(checked(tmp_path, "softmax", SOFTMAX.replace(old, new)))


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ("counts.append(wrong)", "counts.append([wrong, wrong])", "mistakes[0] has shape (2,)"),
        ("np.array(weights), bias, counts", "np.array(weights) + 1e-3, bias, counts", "w: 30 of 30 numbers differ; at"),
        ("counts.append(wrong)", "counts += [wrong, 0]", "mistakes has 4 values, expected 2"),
    ],
)
def test_values_are_called_by_the_names_that_the_program_returns(
    old: str, new: str, shown: str, tmp_path: Path
) -> None:
    assert shown in first(checked(tmp_path, "perceptron", PERCEPTRON.replace(old, new)))


def test_what_a_program_prints_is_shown_once(tmp_path: Path) -> None:
    printing = SOFTMAX.replace("z = np.asarray(z)", "z = np.asarray(z); print('shape', z.shape)")
    report = checked(tmp_path, "softmax", printing)
    assert report.printed.splitlines() == ["shape (6, 4)"] * 2  # of two parts, each put twice


def test_notebooks_are_checked_and_lines_counted_in_their_cells(tmp_path: Path) -> None:
    assignment = find("linear-prediction")
    path = tmp_path / "linear_prediction.ipynb"
    path.write_text(to_notebook(assignment.template, path.name))
    assert "code cell 2, line 3" in first(check(path))
    path.write_text(to_notebook(assignment.solution, path.name))
    assert check(path).passed
    path.write_text(to_notebook(assignment.solution.replace("return x @ w + b", "return x @ v + b"), path.name))
    assert "code cell 2, line 3: return x @ v + b" in first(check(path))
    path.write_text('{"cells": 3}')
    with pytest.raises(FormatError, match="not a Jupyter notebook"):
        check(path)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_files_as_editors_of_any_system_save_them(encoding: str, newline: str, tmp_path: Path) -> None:
    path = tmp_path / "softmax.py"
    path.write_bytes(find("softmax").solution.replace("\n", newline).encode(encoding))
    assert check(path).passed
    path.write_bytes(
        find("softmax").solution.replace("return e /", "return é /").replace("\n", newline).encode(encoding)
    )
    assert first(check(path)) == "NameError: name 'é' is not defined\nline 29: return é / e.sum(axis=-1, keepdims=True)"


def test_an_empty_file(tmp_path: Path) -> None:
    path = tmp_path / "softmax.py"
    path.write_text("\n")
    assert first(check(path)) == "the file is empty"
    assert check(path).right == 0


def test_files_that_are_no_programs(tmp_path: Path) -> None:
    path = tmp_path / "softmax.py"
    with pytest.raises(ConfigError, match="linnet learn start softmax"):
        check(path)
    path.write_bytes("é".encode("latin-1"))
    with pytest.raises(FormatError, match="UTF-8"):
        check(path)
    path.write_bytes(b"#" * (2 << 20))
    with pytest.raises(FormatError, match="megabyte"):
        check(path)
    path.write_text("x = '\0'")
    assert "cannot be run" in first(check(path))
    with pytest.raises(ConfigError, match="did you mean 'softmax'"):
        find("sotfmax")
