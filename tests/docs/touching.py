"""A plugin of pytest: it runs the tests that rows of the syllabus name, and notes which functions they call.

LINNET_ROWS has the rows as JSON, {row: [[functions], [tests]]}; {row: [functions called]} goes to LINNET_TOUCHED.
A test of many cases is run as long as some function of its rows has not been called.
"""

import importlib
import inspect
import json
import os
import sys
import threading
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

Code = tuple[str, type | None]  # a name of the syllabus, and the class whose object must be self


def find(name: str) -> Any:
    """The object of a name such as linnet.theory.lagrange or linnet.Sequential.fit."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            value: Any = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            value = getattr(value, part)
        return value
    raise AssertionError(name)


def codes(name: str) -> dict[CodeType, list[Code]]:
    """The code that runs when a function is called, or any method of a class."""
    value = find(name)
    if not inspect.isclass(value):
        return {inspect.unwrap(value).__code__: [(name, None)]}
    found = dict[CodeType, list[Code]]()
    for each in reversed(value.__mro__[:-1]):
        for member in vars(each).values():
            function = inspect.unwrap(getattr(member, "fget", None) or getattr(member, "__func__", member))
            if inspect.isfunction(function):
                found[function.__code__] = [(name, value)]
    return found


class Touching:
    """Which functions have been called by which test."""

    def __init__(self) -> None:
        self.rows: dict[str, tuple[list[str], list[str]]] = json.loads(os.environ["LINNET_ROWS"])
        self.known = dict[CodeType, list[Code]]()
        for name in {name for functions, _ in self.rows.values() for name in functions}:
            for code, where in codes(name).items():
                self.known.setdefault(code, []).extend(where)
        self.called = dict[str, set[str]]()  # by test
        self.now = set[str]()
        self.ran = set[str]()

    def profile(self, frame: FrameType, event: str, _: object) -> None:
        """Note a call of what is looked for."""
        where = self.known.get(frame.f_code) if event == "call" else None
        for name, kind in where or ():
            if name not in self.now:
                first = frame.f_code.co_varnames[:1]
                own = frame.f_locals.get(first[0]) if first else None
                if kind is None or isinstance(own, kind) or (inspect.isclass(own) and issubclass(own, kind)):
                    self.now.add(name)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Tests of few cases first, so that those of many need not run all of theirs."""
        cases = Counter(map(named, items))
        items.sort(key=lambda item: cases[named(item)])

    def missing(self, test: str) -> set[str]:
        """The functions of the rows of a test that none of their tests has called."""
        return {
            name
            for functions, tests in self.rows.values()
            if test in tests
            for name in functions
            if not any(name in self.called.get(other, ()) for other in tests)
        }

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Run a test under the profiler."""
        test = named(item)
        self.now = self.called.setdefault(test, set())
        threading.setprofile(self.profile)
        sys.setprofile(self.profile)
        try:
            return (yield)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Skip further cases of a test that has called everything it should."""
        test = named(item)
        if test in self.ran and not self.missing(test):
            pytest.skip("all functions of its rows have been called")
        self.ran.add(test)

    def pytest_sessionfinish(self) -> None:
        """Write what was called."""
        found = {
            row: sorted(set(functions) & {name for test in tests for name in self.called.get(test, ())})
            for row, (functions, tests) in self.rows.items()
        }
        Path(os.environ["LINNET_TOUCHED"]).write_text(json.dumps(found))


def named(item: pytest.Item) -> str:
    """The file and the name of a test, without its case."""
    return f"{item.path.relative_to(item.config.rootpath).as_posix()}::{getattr(item, 'originalname', item.name)}"


def pytest_configure(config: pytest.Config) -> None:
    """Register the plugin, in the process that was started for it."""
    if "LINNET_ROWS" in os.environ:
        config.pluginmanager.register(Touching(), "functions touched")
