"""Messages of the library in the words of the command: a parameter is named as the option that was typed."""

import shlex
from functools import cache

from linnet.errors import ConfigError, LinnetError, Parameter

_OWN = {  # parameters below those of `linnet.train`, by the option that they come from
    "epochs": "--epochs",
    "initialiser": "--initializer",
    "learning_rate": "--learning-rate",
    "predict_proba": "--proba",
    "random_state": "--seed",
}
_NO_RESUME = "--checkpoint instead of --resume"


@cache
def _options() -> dict[str, str]:
    """Return the option of each parameter."""
    from linnet.tables.options import option_names  # when there is a message, and not at every start

    return {**{name: f"--{option}" for name, option in option_names().items() if name != "verbose"}, **_OWN}


def in_options(error: LinnetError) -> str:
    """Return the message of an error with options for parameters: --model mlp for model='mlp'."""
    try:
        return error.spelled(_option)
    except ConfigError:  # the engine itself cannot be loaded, which is what the message is about
        return str(error)


def _option(parameter: Parameter) -> str:
    option = _options().get(parameter.name)
    if option is None:
        return str(parameter)
    if parameter.value is ... or parameter.value is True:
        return option
    if parameter.value is False and parameter.name == "resume":
        return _NO_RESUME
    return f"{option} {shlex.quote(str(parameter.value))}"
