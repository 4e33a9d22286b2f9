import pytest

from linnet.errors import ConfigError, DataError, FitError, FormatError, LinnetError, unknown_name


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
