"""All random numbers of the tests are the same in every run.

What a model without random_state draws comes from NumPy's own generator, seeded before each test; Hypothesis tries the
same examples each time. With LINNET_SEARCH=1 both differ from run to run, to search for failures that the tests have
not met. Of tests with the mark `pairwise` a part runs (tests/pairwise.py); with LINNET_ALL=1 all do.
"""

import os
import signal
from collections.abc import Iterator

import hypothesis
import numpy as np
import pytest

from linnet import config
from linnet._native import core
from linnet.fit import objective
from linnet.fit.loop import training as loop

from .pairwise import thin_out

SEARCH = bool(os.environ.get("LINNET_SEARCH"))

# A shell may start background processes so that they ignore Ctrl-C, which some tests send.
signal.signal(signal.SIGINT, signal.default_int_handler)

hypothesis.settings.register_profile("linnet", derandomize=not SEARCH, deadline=None)
hypothesis.settings.load_profile("linnet")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "pairwise(apart=''): by default runs a part in which all pairs of values meet")


@pytest.hookimpl(trylast=True)  # of what -k and -m have left
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not os.environ.get("LINNET_ALL"):
        items[:], left_out = thin_out(items)
        config.hook.pytest_deselected(items=left_out)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    np.random.seed(None if SEARCH else 0)  # noqa: NPY002 (random_state=None means this generator, as in scikit-learn)


class _AllThreads:
    """Replaces the choice of a number of threads: always as many as requested."""

    choosing = False

    def __init__(self, limit: int) -> None:
        self._limit = limit

    def take(self) -> int:
        return self._limit

    def record(self, *turn: object) -> None:
        pass


@pytest.fixture
def teams_of_any_size(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Use as many threads as requested, even beyond the number of cores and for any amount of work."""
    monkeypatch.setattr(config, "_most_members", lambda: 1024)
    for module in (loop, objective):
        monkeypatch.setattr(module, "ThreadChoice", _AllThreads)
    core.set_teams_of_any_size(True)
    yield
    core.set_teams_of_any_size(False)
