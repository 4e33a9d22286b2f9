"""Blocks of the pages that are not Python: commands run as they stand, among small files of the names they use."""

import gzip
import os
import re
import shlex
import signal
import stat
import subprocess
import sys
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pandas as pd
import pytest

import linnet
from linnet.learn import find

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCKS = {
    page: [
        (language.strip(), block)
        for language, block in re.findall(r"^```([^\n]*)\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)
        if language.split()[:1] != ["python"] and language.strip() != "{toctree}"
    ]
    for page in PAGES
}


def lines(page: Path) -> list[str]:
    return [line for language, block in BLOCKS[page] if not language for line in block.splitlines()]


def table(rows: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"id": np.arange(rows) + 1000 * seed, "size": rng.uniform(20, 200, rows).round(1)})
    frame["district"] = rng.choice(["north", "south", "west"], rows)
    frame["price"] = (3 * frame["size"] + 50 * (frame["district"] == "north") + rng.normal(0, 10, rows)).round(1)
    return frame


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files of the names that the pages use, and a `linnet` that is this one."""
    for seed, name in enumerate(("data.csv", "test.csv", "new.csv"), 1):
        table(120, seed).drop(columns="price" if name == "new.csv" else []).to_csv(tmp_path / name, index=False)
    for part in (1, 2):
        table(100, part).rename(columns={"price": "y"}).to_parquet(tmp_path / f"part-{part}.parquet")
    (tmp_path / "big.csv.gz").write_bytes(gzip.compress(table(500, 4).to_csv(index=False).encode()))
    (tmp_path / "submissions" / "ada").mkdir(parents=True)
    (tmp_path / "submissions" / "ada" / "softmax.py").write_text(find("softmax").solution)
    command = tmp_path / "bin" / "linnet"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m linnet "$@"\n')
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    return tmp_path


def environment(folder: Path) -> dict[str, str]:
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTHONPATH": str(Path(linnet.__file__).parents[1])}


def test_every_other_block_is_of_commands_of_r_or_output() -> None:
    for page in PAGES:
        for language, block in BLOCKS[page]:
            assert language in ("", "r", "text"), f"{page.name}: {language}"
            for line in block.splitlines() if not language else ():
                assert re.match(r"(zcat \S+ \| )?(linnet|make|pip install) ", line), f"{page.name}: {line}"


def test_commands_run_one_after_the_other(folder: Path) -> None:
    for line in dict.fromkeys(line for page in PAGES for line in lines(page)):
        if line.startswith(("make ", "pip install ", "linnet play")):
            continue
        done = subprocess.run(
            ["bash", "-c", f"set -o pipefail; {line}"],
            cwd=folder,
            env=environment(folder),
            capture_output=True,
            text=True,
            check=False,
        )
        blank = line.startswith("linnet learn check")  # nobody has filled it in
        assert done.returncode == int(blank), f"{line}\n{done.stdout}\n{done.stderr}"
        for written in re.findall(r"(?:-o|--report|--checkpoint) (\S+)", line):
            assert (folder / written).stat().st_size > 0, line


def test_targets_of_make_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    called = [line.split()[1] for page in PAGES for line in lines(page) if line.startswith("make ")]
    assert called
    assert set(called) <= targets


@pytest.mark.parametrize("line", [line for page in PAGES for line in lines(page) if line.startswith("linnet play")])
def test_the_playground_is_served(line: str, folder: Path) -> None:
    """As it is written, but with no browser of its own and at a port that is free."""
    process = subprocess.Popen(
        [*shlex.split(line), "--no-browser", "--port", "0"],
        cwd=folder,
        env=environment(folder),
        executable=folder / "bin" / "linnet",
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        address = urlsplit(process.stdout.readline().split()[1])
        connection = HTTPConnection("127.0.0.1", address.port, timeout=60)
        connection.request("GET", f"/?{address.query}")
        answer = connection.getresponse()
        answer.read()
        cookie = str(answer.getheader("set-cookie")).partition(";")[0]
        connection.request("GET", "/", headers={"Cookie": cookie})
        assert b"<title>linnet playground</title>" in connection.getresponse().read()
        connection.close()
        process.send_signal(signal.SIGINT)
        assert "Traceback" not in process.communicate(timeout=60)[1]
    finally:
        process.kill()
        process.wait()


def test_r_is_said_again_in_python() -> None:
    """There is no R to run it: the Python block below has the same columns."""
    text = (ROOT / "docs" / "howto" / "from-r.md").read_text()
    blocks = re.findall(r"```r\n(.*?)```.*?```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == text.count("```r\n")
    for in_r, in_python in blocks:
        formula = re.search(r"glm\((\w+) ~ ([\w +]+)", in_r)
        assert formula, in_r
        offset = re.search(r"offset = log\((\w+)\)", in_r)
        for name in {formula[1], *re.findall(r"\w+", formula[2]), *(offset.groups() if offset else ())}:
            assert name in in_python, name
