"""Every assignment: its template is blank, the plain program passes, each typical mistake gets the message for it."""

import ast
import builtins
import io
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import linnet.plain
from linnet.learn import Report, Status, assignments, check, data, find, runner, sandbox
from linnet.learn.assignment import Assignment, Mistake
from linnet.learn.judge import judge
from linnet.learn.notebook import from_notebook, to_notebook
from linnet.learn.program import Source, Submitted, still_blank

ROOT = Path(__file__).parents[2]
NAMES = [one.name for one in assignments()]
MISTAKES = [(one, mistake) for one in assignments() for mistake in one.mistakes]


def judged(assignment: Assignment, text: str) -> Report:
    """The report on a trusted program, which is run in this process."""
    out = io.StringIO()
    runner.run({"text": text, "name": assignment.file, "assignment": assignment.name}, out)
    slips = {json.loads(line).get("error") for line in out.getvalue().splitlines()}
    assert not slips & {"NameError", "AttributeError", "TypeError"} or still_blank(Source.of(text)), slips
    return judge(assignment, Submitted(text), Source.of(text), sandbox.outcome_of(out.getvalue().encode()))


@pytest.mark.parametrize("name", NAMES)
def test_the_template_is_blank_and_says_what_to_write(name: str) -> None:
    assignment = find(name)
    report = judged(assignment, assignment.template)
    first = report.first
    assert first is not None
    assert report.right == 0
    assert first.status is Status.BLANK
    assert set(still_blank(Source.of(assignment.template))) == set(assignment.write)
    assert {part.of for part in assignment.parts} == set(assignment.write)


@pytest.mark.parametrize("name", NAMES)
def test_the_plain_program_is_the_solution(name: str, tmp_path: Path) -> None:
    path = tmp_path / find(name).file
    path.write_text(find(name).solution)
    report = check(path)
    assert report.passed, report.first
    assert not report.notes


@pytest.mark.parametrize(("assignment", "mistake"), MISTAKES, ids=lambda value: getattr(value, "name", None))
def test_a_typical_mistake_gets_its_message(assignment: Assignment, mistake: Mistake) -> None:
    report = judged(assignment, assignment.mistaken(mistake))
    assert report.first is not None
    assert (report.first.message, report.first.recognised) == (mistake.message, True)


@pytest.mark.parametrize("name", NAMES)
def test_a_typical_mistake_uses_names_that_exist(name: str) -> None:
    """An undefined name is another mistake, which might be recognised by accident."""
    assignment = find(name)
    for mistake in assignment.mistakes:
        program = assignment.mistaken(mistake)
        loaded: set[str] = set()
        defined = {*dir(builtins), *names_of(assignment.solution)}
        for node in ast.walk(ast.parse(program)):
            if isinstance(node, ast.Name):
                (loaded if isinstance(node.ctx, ast.Load) else defined).add(node.id)
            elif isinstance(node, ast.arg):
                defined.add(node.arg)
        assert loaded <= defined, mistake.message


def names_of(program: str) -> set[str]:
    """Return the names that a program uses or defines."""
    nodes = [*ast.walk(ast.parse(program))]
    functions = {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    return functions | {node.id for node in nodes if isinstance(node, ast.Name)}


def test_the_course_is_as_large_as_a_term() -> None:
    assert len(NAMES) >= 25
    assert len(MISTAKES) >= 60
    assert len({mistake.message for _, mistake in MISTAKES}) > 0.7 * len(MISTAKES)
    programs = {path.stem for path in Path(linnet.plain.__file__).parent.glob("*.py")}
    assert {one.plain for one in assignments()} <= programs


@pytest.mark.parametrize("name", NAMES)
def test_an_assignment_has_hints_and_a_page(name: str) -> None:
    assignment = find(name)
    assert len(assignment.hints) >= 2
    assert len(assignment.mistakes) >= 3
    assert (ROOT / "docs" / "guide" / f"{assignment.page}.md").exists()
    assert assignment.page in (ROOT / "docs" / "guide" / f"{assignment.page}.md").name


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_the_same_program(name: str) -> None:
    assignment = find(name)
    for text in (assignment.template, assignment.solution):
        notebook = to_notebook(text, "x.ipynb")
        back = ast.parse(from_notebook(notebook, "x.ipynb").text)
        assert ast.dump(ast.Module(ast.parse(text).body[1:], [])) == ast.dump(back)
    code = [cell for cell in json.loads(notebook)["cells"] if cell["cell_type"] == "code"]
    assert len(code) > len(assignment.write) > 0


@pytest.mark.parametrize("name", NAMES)
def test_the_solution_runs_as_a_program_on_its_data(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = find(name).solution
    exec(compile(text, name, "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out


def test_the_data_are_those_of_scikit_learn() -> None:
    from sklearn import datasets

    digits, tumours, men = datasets.load_digits(), datasets.load_breast_cancer(), datasets.load_linnerud()
    assert np.array_equal(data.digits()[0] * 16, digits.data)
    assert np.array_equal(data.digits()[1], digits.target)
    assert np.array_equal(data.tumours()[1], 1 - tumours.target)
    assert np.array_equal(data.patients()[1], datasets.load_diabetes().target)
    assert np.array_equal(data.chin_ups()[1], men.data[:, 0])
    for x, like in (
        (data.tumours()[0], tumours.data),
        (data.patients()[0], datasets.load_diabetes(scaled=False).data),
        (data.flowers()[0], datasets.load_iris().data),
        (data.wines()[0], datasets.load_wine().data),
        (data.chin_ups()[0], men.target),
    ):
        assert np.allclose(x, (like - like.mean(axis=0)) / like.std(axis=0))
    assert [len(part) for part in data.split(*data.flowers())] == [112, 112, 38, 38]


def test_the_data_are_found_when_scikit_learn_keeps_them_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = [data.digits(), data.patients(), data.chin_ups()]
    elsewhere = SimpleNamespace(submodule_search_locations=["nowhere"])
    monkeypatch.setattr(data, "find_spec", lambda _: elsewhere)
    for one, again in zip(expected, [data.digits(), data.patients(), data.chin_ups()], strict=True):
        assert all(map(np.array_equal, one, again))


def test_checking_a_program_does_not_load_scikit_learn(tmp_path: Path) -> None:
    (tmp_path / "softmax.py").write_text(find("softmax").solution)
    program = "import sys; from linnet.learn import check; print(check('softmax.py').passed, 'sklearn' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert done.stdout.split() == ["True", "False"]


def test_results_of_a_runner_are_json(tmp_path: Path) -> None:
    out = io.StringIO()
    runner.run({"text": find("softmax").solution, "name": "softmax.py", "assignment": "softmax"}, out)
    assert [json.loads(line)["part"] for line in out.getvalue().splitlines()] == [*range(len(find("softmax").parts))]
