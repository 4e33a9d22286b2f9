"""What linnet does without the packages of its extras, and its messages where it needs one."""

import subprocess
import sys
from pathlib import Path

import pytest

from linnet.errors import MissingExtraError, needs_extra

WITHOUT = """
import sys

for name in ("matplotlib", "h11", "starlette", "uvicorn", "websockets", "onnx"):
    sys.modules[name] = None  # as if it were not installed
"""


def run(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WITHOUT + code], cwd=folder, capture_output=True, text=True, check=False
    )


def command(words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return run(f"from linnet.cli import main\nsys.argv = ['linnet', *{words.split()}]\nmain()\n", folder)


def test_estimators_tables_and_reports_need_no_extra(tmp_path: Path) -> None:
    rows = "\n".join(f"{i % 7},{'ab'[i % 2]},{i % 7 + i % 2 + i % 5}" for i in range(100))
    (tmp_path / "table.csv").write_text(f"size,kind,price\n{rows}\n")
    for words in (
        "inspect table.csv --target price",
        "train table.csv --target price --model linear -o price.linnet --report price.html",
        "predict price.linnet table.csv -o predictions.csv",
        "evaluate price.linnet table.csv",
    ):
        done = command(words, tmp_path)
        assert (done.returncode, "error" in done.stderr) == (0, False), (words, done.stderr)
    assert {"price.linnet", "price.html", "predictions.csv"} <= {path.name for path in tmp_path.iterdir()}


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("play --no-browser", "the playground needs starlette: pip install 'linnet[play]'"),
        ("demo", "drawing the learning curves needs matplotlib: pip install 'linnet[plot]'"),
    ],
)
def test_the_command_line_names_the_extra(words: str, error: str, tmp_path: Path) -> None:
    done = command(words, tmp_path)
    assert (done.returncode, done.stderr.strip()) == (2, f"error: {error}")
    assert not list(tmp_path.iterdir())


def test_drawing_and_export_name_the_extra(tmp_path: Path) -> None:
    done = run(
        """
import linnet
from linnet import evaluate

model = linnet.LinearRegression().fit([[1.0], [2.0], [4.0]], [1, 2, 3])
for draw in (lambda: evaluate.RocCurveDisplay.from_predictions([0, 1], [0.2, 0.7]), lambda: model.to_onnx("m.onnx")):
    try:
        draw()
    except ImportError as error:
        print(error)
""",
        tmp_path,
    )
    assert done.stdout.splitlines() == [
        "drawing a plot needs matplotlib: pip install 'linnet[plot]'",
        "to_onnx needs onnx: pip install 'linnet[onnx]'",
    ]


def test_a_missing_module_of_linnet_itself_is_not_blamed_on_an_extra() -> None:
    with pytest.raises(ModuleNotFoundError) as caught, needs_extra("plot", "a plot"):
        import linnet.nothing_of_this_name  # type: ignore[import-not-found] # noqa: F401
    assert not isinstance(caught.value, MissingExtraError)
