import json
import os
import re
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from matplotlib.figure import Figure

import linnet
from linnet.cli import main
from linnet.estimators.sequential.sequential import Sequential

MODELS = ["Perceptron", "Softmax regression", "Neural net 64-64-10"]
PLAIN = {
    **{name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "TTY_COMPATIBLE", "COLUMNS")},
    "PYTHONIOENCODING": "utf-8",
    "PYTHONPATH": str(Path(linnet.__file__).parents[1]),  # the linnet that is tested, from any folder
}


class Run(NamedTuple):
    code: int
    out: str
    err: str


def run(folder: Path, *arguments: str, **environment: str) -> Run:
    """`linnet demo` in a process of its own, its output not a terminal."""
    done = subprocess.run(
        [sys.executable, "-m", "linnet", "demo", *arguments],
        cwd=folder,
        env={**PLAIN, **environment},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    return Run(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def linnet_demo(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Any:  # a function of the arguments
    """The same in this process, which is quicker."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> Run:
        monkeypatch.setattr(sys, "argv", ["linnet", "demo", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        return Run(int(end.value.code or 0), *capsys.readouterr())

    return call


def png_size(path: Path) -> tuple[int, int]:
    head = path.read_bytes()[:24]
    assert head.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", head[16:])
    return width, height


def test_the_demo_learns_and_says_so(tmp_path: Path) -> None:
    code, out, err = run(tmp_path)
    assert (code, err) == (0, "")
    assert "\x1b" not in out
    rows = [line.split() for line in out.splitlines() if "%" in line]
    assert [" ".join(row[:-4]) for row in rows] == MODELS
    assert [row[-4] for row in rows] == ["650", "650", "4,810"]
    perceptron, softmax, net = (float(row[-2].rstrip("%")) for row in rows)
    assert perceptron > 91
    assert softmax > 95
    assert net > 96
    assert net > perceptron
    assert all(float(row[-1]) == pytest.approx(float(row[-2].rstrip("%")) / 100, abs=0.02) for row in rows)  # F1
    assert out.splitlines()[-3:] == [
        "Learning curves: learning_curves.png",
        "Report on the table's best model, for a browser: diabetes_report.html",
        "To train on a table of your own: linnet train data.csv --target COLUMN --report report.html",
    ]
    assert out.count("(kept)") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["diabetes_report.html", "learning_curves.png"]
    page = (tmp_path / "diabetes_report.html").read_text()
    for word in ("progression after a year", "body mass index", "354 rows", "linnet.train(data"):
        assert word in page
    width, height = png_size(tmp_path / "learning_curves.png")
    assert width >= 1200
    assert height >= 700


def test_json_has_the_same_table(linnet_demo: Any, tmp_path: Path) -> None:
    code, out, err = linnet_demo("--json", "--epochs", "3", "--seed", "5", "--out", "curves.svg")
    assert (code, err) == (0, "")
    facts = json.loads(out)
    assert facts["epochs"] == 3
    assert facts["seed"] == 5
    assert facts["picture"] == "curves.svg"
    assert facts["train_rows"] + facts["test_rows"] == 1797
    assert [row["model"] for row in facts["models"]] == MODELS
    for row in facts["models"]:
        assert set(row) == {"model", "parameters", "seconds", "test_accuracy", "macro_f1"}
        assert row["seconds"] > 0
        assert 0.5 < row["test_accuracy"] < 1
        assert 0.5 < row["macro_f1"] < 1
    assert "<svg" in (tmp_path / "curves.svg").read_text()
    table = facts["table"]
    assert (table["task"], table["metric"], table["report"]) == ("a number", "rmse", "diabetes_report.html")
    by_name = {row["model"]: row["rmse"] for row in table["models"]}
    (chosen,) = (row["model"] for row in table["models"] if row["chosen"])
    assert by_name[chosen] == min(by_name.values()) < 0.8 * by_name["constant"]
    assert (tmp_path / "diabetes_report.html").exists()


def test_the_seed_decides(linnet_demo: Any) -> None:
    def accuracies(seed: str) -> list[float]:
        facts = json.loads(linnet_demo("--json", "--epochs", "1", "--seed", seed).out)
        return [row["test_accuracy"] for row in facts["models"]]

    first = accuracies("1")
    assert accuracies("1") == first
    assert accuracies("2") != first


def test_a_terminal_sees_a_line_a_model(tmp_path: Path) -> None:
    code, out, _ = run(tmp_path, "--epochs", "2", FORCE_COLOR="1", TERM="xterm-256color", COLUMNS="80")
    assert code == 0
    assert "\x1b[" in out
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", out)
    for model in MODELS:
        assert re.search(rf"{model} +━+ epoch 2/2 loss \d\.\d+  test \d+\.\d%  \d+\.\d+ s", shown)


@pytest.mark.parametrize(
    ("out", "problem"),
    [
        ("missing/curves.png", "cannot write there: No such file or directory"),
        ("file/curves.png", "cannot write there: Not a directory"),
        ("folder", "what exists there is not a file that can be replaced"),
        (os.devnull, "what exists there is not a file that can be replaced"),
        ("curves.docx", "the name of a picture must end in .png, .svg, .pdf"),
    ],
)
def test_a_bad_out_is_one_line(
    linnet_demo: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: str, problem: str
) -> None:
    def not_reached(*arguments: object, **options: object) -> None:
        raise AssertionError("trained although the picture cannot be written")

    monkeypatch.setattr(Sequential, "fit_stream", not_reached)
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    assert linnet_demo("--out", out) == (2, "", f"error: --out {out}: {problem}\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


def test_a_bad_out_is_no_traceback_from_the_shell(tmp_path: Path) -> None:
    code, out, err = run(tmp_path, "--out", "missing/curves.png")
    assert (code, out) == (2, "")
    assert err == "error: --out missing/curves.png: cannot write there: No such file or directory\n"


def test_a_write_that_fails_leaves_the_old_picture(
    linnet_demo: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def disk_full(self: Figure, file: Any, **options: object) -> None:
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Figure, "savefig", disk_full)
    picture = tmp_path / "curves.png"
    picture.write_text("the old one")
    code, out, err = linnet_demo("--epochs", "1", "--out", "curves.png")
    assert (code, out, err) == (2, "", "error: --out curves.png: cannot write there: No space left on device\n")
    assert picture.read_text() == "the old one"
    assert list(tmp_path.iterdir()) == [picture]


def test_ctrl_c_ends_the_demo(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "linnet", "demo", "--epochs", "1000000"]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        env=PLAIN,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        # Python must be past its imports: it has mapped the core when training is about to begin
        maps = Path(f"/proc/{process.pid}/maps")
        while process.poll() is None and "_core_" not in maps.read_text():
            time.sleep(0.05)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=300)
    assert process.returncode not in (0, None)
    assert "Traceback" not in err
    assert out == ""
    assert not list(tmp_path.iterdir())
