import gzip
import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import linnet
from linnet.cli import main

PLAIN = {
    **{name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "TTY_COMPATIBLE", "COLUMNS")},
    "PYTHONIOENCODING": "utf-8",
    "PYTHONPATH": str(Path(linnet.__file__).parents[1]),  # the linnet that is tested, from any folder
}
CSV = "id,size,colour,cost,<script>,y\n" + "".join(
    f"{i + 7},{(i * 37) % 100 / 3:.2f},{'red' if i % 3 else 'blue'},{i % 2 * 5},[b]x[/b],{'yes' if i % 2 else 'no'}\n"
    for i in range(200)
)


class Run(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def linnet_inspect(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Any:  # a function of the arguments
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text(CSV)

    def call(*arguments: str) -> Run:
        monkeypatch.setattr(sys, "argv", ["linnet", "inspect", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        return Run(int(end.value.code or 0), *capsys.readouterr())

    return call


def test_the_table_as_read(linnet_inspect: Any) -> None:
    code, out, err = linnet_inspect("data.csv", "--target", "y")
    assert (code, err) == (0, "")
    assert "\x1b" not in out
    lines = [line.split() for line in out.splitlines()]
    assert out.startswith("data.csv: 200 rows, 6 columns")
    read_as = {line[0]: line[1] for line in lines if len(line) > 1}
    names = ("id", "size", "colour", "cost", "<script>", "y")
    kinds = ["identifier", "number", "category", "number", "constant", "target"]
    assert [read_as[name] for name in names] == kinds
    assert "[b]x[/b]" in out  # text from data is shown, not interpreted as markup
    assert "Target y: two classes ('y' has two values: no, yes)" in out
    assert "Leak suspect: column 'cost' alone predicts the target (AUC 1.000): is it known beforehand?" in out
    assert "Notice: column 'id' is left out: it is named like an identifier and has many values" in out


def test_json_has_all_that_is_known(linnet_inspect: Any) -> None:
    code, out, err = linnet_inspect("data.csv", "--target", "y", "--json")
    assert (code, err) == (0, "")
    facts = json.loads(out)
    assert facts["rows"] == 200
    assert facts["task"] == "two classes"
    assert [column["kind"] for column in facts["columns"]][:3] == ["identifier", "number", "category"]
    assert facts["target"]["name"] == "y"
    assert facts["leaks"] == [{"column": "cost", "measure": "AUC", "value": 1.0}]
    assert len(facts["notices"]) == 2


def test_without_a_target(linnet_inspect: Any) -> None:
    code, out, _ = linnet_inspect("data.csv")
    assert code == 0
    assert "Target" not in out
    assert "Leak" not in out
    assert json.loads(linnet_inspect("data.csv", "--json").out)["task"] is None


def test_standard_input(linnet_inspect: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(CSV.encode()))))
    code, out, _ = linnet_inspect("-", "--target", "y")
    assert code == 0
    assert out.startswith("standard input: 200 rows, 6 columns")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.csv"], "none.csv: there is no such file or folder"),
        (["data.csv", "--target", "yy"], "unknown column 'yy': did you mean 'y'?"),
        (["bad.csv"], "bad.csv, line 3: 1 field where the header has 2: '3'"),
        (["empty.csv"], "empty.csv is empty"),
        (["data.csv", "--delimiter", "ab"], "--delimiter must be one ASCII character"),
        (["data.csv", "--target", "<script>"], "the target '<script>' has one value only"),
    ],
)
def test_an_error_is_one_line(linnet_inspect: Any, tmp_path: Path, arguments: list[str], message: str) -> None:
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n3\n")
    (tmp_path / "empty.csv").write_text("")
    code, out, err = linnet_inspect(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert message in err
    assert err.count("\n") == 1


def test_bad_usage(linnet_inspect: Any) -> None:
    assert linnet_inspect().code == 2
    assert linnet_inspect("data.csv", "--no-such-option").code == 2
    code, out, _ = linnet_inspect("--help")
    assert code == 0
    assert "linnet inspect data.csv --target price" in " ".join(out.split())


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_bar_shows_on_a_terminal_when_it_takes_long(tmp_path: Path) -> None:
    """The bar appears at once here; nothing of it stays on screen, and nothing is shown with --json."""
    (tmp_path / "data.csv").write_text(CSV)
    code = "import sys, linnet.cli; sys.modules['linnet.cli.reading']._PATIENCE = -1.0; linnet.cli.main()"
    for arguments, shown in ((["data.csv"], True), (["data.csv", "--json"], False)):
        ours, theirs = pty.openpty()
        done = subprocess.run(
            [sys.executable, "-c", code, "inspect", *arguments],
            cwd=tmp_path,
            env={**PLAIN, "TERM": "xterm"},
            stdout=subprocess.PIPE,
            stderr=theirs,
            check=True,
        )
        os.close(theirs)
        drawn = b""
        while True:
            try:
                part = os.read(ours, 10_000)
            except OSError:
                break
            if not part:
                break
            drawn += part
        os.close(ours)
        assert (b"Looking at columns" in drawn) == shown
        assert b"Looking" not in done.stdout
