import threading
import warnings

import pytest

from linnet.errors import (
    ConfigError,
    DataError,
    DataWarning,
    FitError,
    FitWarning,
    FormatError,
    LinnetError,
    SeparationWarning,
    hearing,
    unknown_name,
    warn,
)


@pytest.mark.parametrize(
    ("error", "builtin"),
    [(DataError, ValueError), (ConfigError, ValueError), (FitError, RuntimeError), (FormatError, ValueError)],
)
def test_an_error_is_ours_and_the_builtin_one(error: type[LinnetError], builtin: type[Exception]) -> None:
    assert issubclass(error, LinnetError)
    assert issubclass(error, builtin)


@pytest.mark.parametrize("name", ["adm", "Adam", "ADAMM"])
def test_a_near_name_is_suggested(name: str) -> None:
    error = unknown_name("optimizer", name, ["sgd", "Adam"])
    assert isinstance(error, ConfigError)
    assert str(error) == f"unknown optimizer {name!r}: did you mean 'Adam'? choose from: sgd, Adam"


@pytest.mark.parametrize("name", ["xyzzy", "", 3, None])
def test_a_far_name_gets_the_choices_only(name: object) -> None:
    error = unknown_name("optimizer", name, ["sgd", "adam"])
    assert str(error) == f"unknown optimizer {name!r}: choose from: sgd, adam"


def test_warnings_are_heard_by_the_thread_that_listens() -> None:
    """What one thread listens to is not kept from the others, and Python's own filters stay as they are."""
    filters = list(warnings.filters)
    inside, done = threading.Event(), threading.Event()

    def listen() -> None:
        with hearing(DataWarning) as heard:
            warn("a", DataWarning)
            inside.set()
            done.wait()
            assert heard == ["a"]

    thread = threading.Thread(target=listen)
    thread.start()
    inside.wait()
    with pytest.warns(DataWarning, match="b"):
        warn("b", DataWarning)
    with hearing(FitWarning) as others:
        warn("c", SeparationWarning)
        with pytest.warns(DataWarning, match="d"):
            warn("d", DataWarning)
    done.set()
    thread.join()
    assert others == ["c"]
    assert warnings.filters == filters
