"""`linnet learn` as students and teachers use it."""

import csv
import json
from pathlib import Path

import pytest

from linnet.learn import assignments, find

from .in_process import Completed, call

HOSTILE = "a\x1b[31mb<script>alert(1)<\N{RIGHT-TO-LEFT OVERRIDE}"


def learn(folder: Path, *words: object, code: int = 0) -> Completed:
    result = call("learn", *words, cwd=folder)
    assert result.code == code, result
    return result


def test_a_student_works_through_an_assignment(tmp_path: Path) -> None:
    assert "softmax" in learn(tmp_path).out
    assert "wrote softmax.py" in learn(tmp_path, "start", "softmax").out
    path = tmp_path / "softmax.py"
    assert path.read_text() == find("softmax").template
    assert "write softmax" in learn(tmp_path, "check", "softmax", code=1).out
    path.write_text(find("softmax").solution.replace(").mean())", ").sum())"))
    wrong = learn(tmp_path, "check", "softmax.py", code=1).out
    assert "this is the sum over the rows" in wrong
    assert "not checked yet" in wrong
    assert "stuck? linnet learn hint softmax" in wrong
    assert "4/6" in learn(tmp_path).out or "2/6" in learn(tmp_path).out
    assert "2 of 6 parts" in learn(tmp_path, "progress").out
    hints = [learn(tmp_path, "hint", "softmax").out for _ in range(4)]
    assert hints[0] == hints[3] != hints[1]
    path.write_text(learn(tmp_path, "solution", "softmax").out)
    assert "changed since" in learn(tmp_path, "progress").out
    done = learn(tmp_path, "check", "softmax").out
    assert "all 6 parts are right" in done
    assert "linnet learn start softmax-regression" in done
    assert "done  softmax " in learn(tmp_path).out
    assert "1 of 30 assignments done" in learn(tmp_path, "progress").out


def test_what_was_written_is_not_lost(tmp_path: Path) -> None:
    learn(tmp_path, "start", "perceptron")
    (tmp_path / "perceptron.py").write_text("mine")
    assert "--force" in learn(tmp_path, "start", "perceptron", code=2).err
    assert (tmp_path / "perceptron.py").read_text() == "mine"
    learn(tmp_path, "start", "perceptron", "--force")
    assert (tmp_path / "perceptron.py").read_text() == find("perceptron").template


def test_notebooks(tmp_path: Path) -> None:
    learn(tmp_path, "start", "newton", "--notebook")
    notebook = json.loads((tmp_path / "newton.ipynb").read_text())
    assert notebook["cells"][0]["cell_type"] == "markdown"
    assert notebook["cells"][-1]["source"][-1].endswith("-m linnet learn check newton.ipynb")
    assert "code cell" in learn(tmp_path, "check", "newton", code=1).out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["start", "sotfmax"], "did you mean 'softmax'"),
        (["start", "softmax", "--folder", "nowhere"], "there is no folder nowhere"),
        (["check", "softmax"], "linnet learn start softmax"),
        (["check", "nothing.py"], "there is no file nothing.py"),
        (["check", "notes.py"], "unknown assignment"),
        (["report", "nowhere"], "there is no folder nowhere"),
        (["report", "."], "no submissions"),
        (["hint", "x"], "unknown assignment"),
    ],
)
def test_mistakes_are_one_line(words: list[str], message: str, tmp_path: Path) -> None:
    (tmp_path / "notes.py").write_text("")
    result = learn(tmp_path, *words, code=2)
    assert message in result.err
    assert result.err.count("\n") == 1


def test_a_file_of_another_name(tmp_path: Path) -> None:
    (tmp_path / "homework3.py").write_text(find("newton").solution)
    assert "are right" in learn(tmp_path, "check", "homework3.py", "--assignment", "newton").out


def test_a_damaged_note_of_progress_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / ".linnet-learn.json").write_text('{"softmax": 3}')
    learn(tmp_path, "hint", "softmax")
    assert "softmax" in learn(tmp_path).out


@pytest.mark.parametrize("width", [36, 40, 80])
def test_lines_fit_a_terminal_of_any_width_without_colours(
    width: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    (tmp_path / "softmax.py").write_text(find("softmax").solution.replace("e.sum(axis=-1, keepdims=True)", "e.sum()"))
    result = learn(tmp_path, "check", "softmax", code=1)
    assert max(map(len, result.out.splitlines())) <= width
    assert "\x1b" not in result.out
    assert "each row has to sum to 1" in " ".join(result.out.split())
    for words in (["list"], ["start", "newton"], ["hint", "newton"], ["progress"]):
        assert max(map(len, learn(tmp_path, *words).out.splitlines())) <= width, words


@pytest.fixture
def submissions(tmp_path: Path) -> Path:
    folder = tmp_path / "submissions"
    perceptron, softmax = find("perceptron"), find("softmax")
    other = perceptron.solution.replace("mistakes", "errors").replace('"""Return w', '"""Gives w')
    for student, assignment, text in (
        ("ada", perceptron, other),
        ("bob", perceptron, f"# mine\n{other}"),
        ("cy", perceptron, perceptron.solution),
        (HOSTILE, perceptron, perceptron.mistaken(perceptron.mistakes[0])),
        (HOSTILE, softmax, softmax.template.replace("...  # your code", f"raise ValueError({HOSTILE!r})", 1)),
        ("dan", softmax, "def softmax(:"),
    ):
        (folder / student).mkdir(parents=True, exist_ok=True)
        (folder / student / assignment.file).write_text(text)
    (folder / "=eve_softmax.py").write_text(softmax.template)
    (folder / "fay_softmax_regression.py").write_bytes(b"\xff")
    return folder


def test_a_teacher_checks_a_folder_of_submissions(submissions: Path) -> None:
    result = learn(submissions.parent, "report", submissions, "--csv", "grades.csv", "-o", "pages")
    assert "\x1b" not in result.out
    with (submissions.parent / "grades.csv").open(newline="") as file:
        rows = {(row["student"], row["assignment"]): row for row in csv.DictReader(file)}
    assert len(rows) == 8
    assert rows["ada", "perceptron"]["right"] == rows["ada", "perceptron"]["parts"]
    assert rows["bob", "perceptron"]["notes"] == "identical to the program of ada"
    assert rows["cy", "perceptron"]["notes"] == "identical to the solution that linnet learn prints"
    assert "nothing is ever learned" in rows[HOSTILE, "perceptron"]["first problem"]
    assert "SyntaxError" in rows["dan", "softmax"]["first problem"]
    assert rows["'=eve", "softmax"]["right"] == "0"
    assert "UTF-8" in rows["fay", "softmax-regression"]["first problem"]
    pages = {path.name: path.read_text() for path in (submissions.parent / "pages").glob("*.html")}
    assert len(pages) == 8
    assert all("<script>alert" not in page for page in pages.values())
    assert any("nothing is ever learned" in page and "the program" in page for page in pages.values())


def test_names_of_files_as_platforms_change_them(tmp_path: Path) -> None:
    folder, solution = tmp_path / "submissions", find("softmax").solution
    for name in (
        "ada/softmax (1).py", "bob/final_Softmax.PY", "cy/week 1/softmax-2.py", "dan/softmax copy.py",
        "lovelace_12345_softmax.py", "eve/homework.py", "eve/.softmax.py", "fay/softmax.txt", "gus/softmax.py",
        "gus/old/softmax.py",
    ):  # fmt: skip
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(solution)
    secret = tmp_path / "secret.py"
    secret.write_text("password = 'hunter2'")
    (folder / "hal").mkdir()
    (folder / "hal" / "softmax.py").symlink_to(secret)
    result = learn(tmp_path, "report", folder, "-o", "pages", "--csv", "grades.csv", "--seconds", 30).out
    with (tmp_path / "grades.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    students = ["ada", "bob", "cy", "dan", "gus", "gus", "lovelace_12345"]
    assert sorted(row["student"] for row in rows) == students
    assert all(row["right"] == row["parts"] == "6" for row in rows)
    assert sum("more than once" in row["notes"] for row in rows) == 1
    assert "not graded: eve/homework.py: no assignment has this name" in result
    assert "not graded: hal/softmax.py: a link, not a file" in result
    assert not any("hunter2" in page.read_text() for page in (tmp_path / "pages").glob("*.html"))


def test_submissions_in_one_folder_do_not_see_each_other(tmp_path: Path) -> None:
    folder = tmp_path / "submissions"
    folder.mkdir()
    (folder / "ada_softmax.py").write_text(find("softmax").solution)
    (folder / "bob_softmax.py").write_text("from ada_softmax import softmax, loss, predict\n")
    learn(tmp_path, "report", folder, "--csv", "grades.csv")
    with (tmp_path / "grades.csv").open(newline="") as file:
        problems = {row["student"]: row["first problem"] for row in csv.DictReader(file)}
    assert problems["ada"] == ""
    assert "No module named 'ada_softmax'" in problems["bob"]


def test_every_assignment_is_listed(tmp_path: Path) -> None:
    listed = learn(tmp_path, "list").out
    assert all(f" {one.name} " in listed for one in assignments())
