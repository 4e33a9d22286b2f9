"""Put deliberate faults into linnet, one at a time, and see whether the tests notice: `make mutants`.

    python tests/mutants/run.py                 all faults of faults.toml
    python tests/mutants/run.py core softmax    those whose name contains one of the words

A copy of the installed package in build/mutants takes the faults; neither the sources nor the environment are touched.
A fault in the core is compiled for the one instruction set that the tests then use. At least one of the tests named for
a fault must fail with it. A fault that no test notices, or one that no longer applies, ends the run with 1.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "mutants"
FAULTS = Path(__file__).with_name("faults.toml")
TIMEOUT_SECONDS = 600  # a fault may make a test run forever, which counts as noticed


@dataclass(frozen=True)
class Fault:
    """One change of one file that makes it wrong."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    @property
    def in_core(self) -> bool:
        """Whether it has to be compiled."""
        return self.file.startswith("core/")

    def applied(self, text: str) -> str:
        """Return the text of the file with the fault in it."""
        if text.count(self.old) != 1:
            raise ValueError(f"fault {self.name!r}: {self.file} has {text.count(self.old)} places like {self.old!r}")
        return text.replace(self.old, self.new)


def read_faults(path: Path = FAULTS) -> list[Fault]:
    """Read the list of faults."""
    with path.open("rb") as file:
        entries = tomllib.load(file)["fault"]
    return [Fault(**{**entry, "tests": tuple(entry["tests"])}) for entry in entries]


class Package:
    """A copy of the installed package that takes one fault at a time."""

    def __init__(self, isa: str, folder: Path = BUILD) -> None:
        self._isa = isa
        self._modules = folder / "modules"
        self._package = self._modules / "linnet"
        self._sources = folder / "source"
        self._compiled = folder / f"core-{isa}"
        self._environment = {**os.environ, "PYTHONPATH": str(self._modules), "LINNET_ISA": isa}

    def make(self) -> None:
        """Copy the package and compile its core, both without a fault."""
        where = "import linnet, pathlib; print(pathlib.Path(linnet.__file__).parent)"
        command = [sys.executable, "-P", "-c", where]
        installed = subprocess.run(command, check=True, capture_output=True, text=True, cwd=BUILD.parent).stdout.strip()
        shutil.rmtree(self._modules, ignore_errors=True)
        shutil.copytree(installed, self._package, ignore=shutil.ignore_patterns("__pycache__", "_core_*.so"))
        shutil.rmtree(self._sources, ignore_errors=True)
        shutil.copytree(ROOT / "core", self._sources / "core", copy_function=shutil.copy2)
        shutil.copy2(ROOT / "CMakeLists.txt", self._sources)
        tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self._tools = {**os.environ, "PATH": tools}
        nanobind = subprocess.run(
            [sys.executable, "-m", "nanobind", "--cmake_dir"], check=True, capture_output=True, text=True
        )
        configure = ["cmake", "-S", str(self._sources), "-B", str(self._compiled), "-G", "Ninja"]
        options = {
            "CMAKE_BUILD_TYPE": "Release",
            "LINNET_ISAS": self._isa,
            "nanobind_DIR": nanobind.stdout.strip(),
            "Python_EXECUTABLE": sys.executable,
        }
        subprocess.run(
            [*configure, *(f"-D{name}={value}" for name, value in options.items())],
            check=True, env=self._tools, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        if not self._compile():
            raise SystemExit("error: the core does not compile without a fault")

    def run(self, fault: Fault) -> str:
        """Return the result for a fault: "noticed", or why not."""
        source, target = ROOT / fault.file, self._target(fault)
        target.write_text(fault.applied(source.read_text()))
        try:
            if fault.in_core and not self._compile():
                return "does not compile"
            return self.tests(fault.tests)
        finally:
            shutil.copyfile(source, target)  # a new time of change, so that what was built from the fault is rebuilt

    def tests(self, names: tuple[str, ...]) -> str:
        """Run tests until the first failure; "not noticed" if there is none."""
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-n", "2", *names]
        try:
            done = subprocess.run(
                command,
                check=False,
                cwd=ROOT,
                env=self._environment,
                capture_output=True,
                text=True,
                timeout=TIMEOUT_SECONDS,
            )
        except subprocess.TimeoutExpired:
            return "noticed"
        if done.returncode == 0:
            return "not noticed"
        failed = "FAILED" in done.stdout or "ERROR" in done.stdout or "crashed" in done.stdout
        return "noticed" if failed else f"tests do not run: {(done.stdout + done.stderr)[-300:]}"

    def restore(self) -> bool:
        """Bring the core back to what it is without a fault."""
        return self._compile()

    def _target(self, fault: Fault) -> Path:
        return self._sources / fault.file if fault.in_core else self._modules / Path(fault.file).relative_to("src")

    def _compile(self) -> bool:
        done = subprocess.run(
            ["cmake", "--build", str(self._compiled)], check=False, env=self._tools, capture_output=True, text=True
        )
        for module in self._compiled.glob("_core_*.so"):
            shutil.copy2(module, self._package)
        return done.returncode == 0


def main() -> int:
    """Run the requested faults; return 0 if all are noticed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="run only faults whose name contains one of these")
    parser.add_argument("--isa", default="v3", help="the instruction set that the core is compiled for")
    options = parser.parse_args()
    faults = [f for f in read_faults() if not options.words or any(word in f.name for word in options.words)]
    BUILD.mkdir(parents=True, exist_ok=True)
    package, began = Package(options.isa), perf_counter()
    package.make()
    unnoticed = []
    core_is_clean = True
    for number, fault in enumerate(sorted(faults, key=lambda f: not f.in_core), 1):
        if not fault.in_core and not core_is_clean:
            core_is_clean = package.restore()
        start = perf_counter()
        outcome = package.run(fault)
        core_is_clean = core_is_clean and not fault.in_core
        print(f"{number:3}/{len(faults)}  {perf_counter() - start:5.0f} s  {outcome:12}  {fault.name}", flush=True)
        if outcome != "noticed":
            unnoticed.append(fault.name)
    print(f"{len(faults) - len(unnoticed)} of {len(faults)} faults noticed in {(perf_counter() - began) / 60:.0f} min")
    for name in unnoticed:
        print(f"  not noticed: {name}")
    return 1 if unnoticed else 0


if __name__ == "__main__":
    raise SystemExit(main())
