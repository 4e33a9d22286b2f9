"""Nothing in the tests is drawn anew from run to run.

What a model without random_state draws comes from NumPy's own generator, seeded before each test; Hypothesis tries the
same examples each time. LINNET_SEARCH=1 draws both anew: to look for what the tests have not met. Of tests with the
mark `pairwise` a part runs (tests/pairwise.py); with LINNET_ALL=1 all do.
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

# A shell may have told what it starts in the background to take no notice of Ctrl-C, which some tests send.
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
    """Stands for the choice of a number of threads: those asked for, in every turn."""

    choosing = False

    def __init__(self, limit: int) -> None:
        self._limit = limit

    def take(self) -> int:
        return self._limit

    def record(self, *turn: object) -> None:
        pass


@pytest.fixture
def teams_of_any_size(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As many threads work as are asked for, more than there are cores and however little there is to do."""
    monkeypatch.setattr(config, "_most_members", lambda: 1024)
    for module in (loop, objective):
        monkeypatch.setattr(module, "ThreadChoice", _AllThreads)
    core.set_teams_of_any_size(True)
    yield
    core.set_teams_of_any_size(False)
