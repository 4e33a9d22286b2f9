"""Errors and warnings of linnet. Each error is also the built-in one that users of scikit-learn expect."""

import difflib
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter named in an error, with its value, if any.

    It is a separate part of the message, so that it can be spelled as the user wrote it: the text has Python's
    `task='counts'`, and the command makes `--task counts` of it.
    """

    name: str
    value: object = ...  # no value

    def __str__(self) -> str:
        return self.name if self.value is ... else f"{self.name}={self.value!r}"


class LinnetError(Exception):
    """Base class of the errors that linnet raises on purpose.

    `parts`: texts and parameters, which together are the message.
    """

    def __init__(self, *parts: object) -> None:
        super().__init__("".join(map(str, parts)))
        self.parts = parts

    def spelled(self, spell: Callable[[Parameter], str]) -> str:
        """Return the message with each parameter as `spell` writes it."""
        return "".join(spell(part) if isinstance(part, Parameter) else str(part) for part in self.parts)


class DataError(LinnetError, ValueError):
    """The data cannot be used: the message names the column or row, what was found, and what to do."""


class DataTypeError(DataError, TypeError):
    """A value has a type that can never be a number."""


class ConfigError(LinnetError, ValueError):
    """A parameter or setting is invalid: the message names it, the value, and what is possible."""


class FitError(LinnetError, RuntimeError):
    """A fit could not continue; the last good parameters are kept, and `history` has the records until then."""

    history: object = None


class FormatError(LinnetError, ValueError):
    """A file is damaged, cut short, or of another kind or version."""


class MissingExtraError(LinnetError, ImportError):
    """A package that only some features need is not installed: the message names the command that installs it."""


class GraphError(LinnetError, TypeError):
    """A function cannot be differentiated as written: the message names the step, and what to write instead."""


class DataWarning(UserWarning):
    """The data can be used, but probably contain a mistake: the message names it and what was done about it."""


class FitWarning(UserWarning):
    """A fit ended before convergence: the message says how far it came and what would help."""


class CheckpointWarning(UserWarning):
    """A checkpoint could not be written or read, and the run continues without it: the message says which and why."""


class SeparationWarning(FitWarning):
    """The likelihood has no maximum: some columns separate the classes perfectly."""


_MAX_CHOICES, _MAX_CHARACTERS = 40, 40  # names in a message, and characters of each
_JOINED: dict[tuple[str, type[Warning]], type[Warning]] = {}  # by scikit-learn's name and ours


def known_as(name: str, ours: type[Warning]) -> type[Warning]:
    """Return our warning category which, if scikit-learn is loaded, is also its category `name`.

    As long as scikit-learn is not loaded, nobody can filter by its warnings; loading it takes longer than most fits.
    """
    theirs = getattr(sys.modules.get("sklearn.exceptions"), name, None)
    return ours if theirs is None else _JOINED.setdefault((name, ours), type(name, (ours, theirs), {}))


_heard: ContextVar[tuple[tuple[type[Warning], list[str]], ...]] = ContextVar("heard", default=())


@contextmanager
def hearing(category: type[Warning] = Warning) -> Iterator[list[str]]:
    """Collect linnet's own warnings of a category, instead of issuing them, in the calling thread alone.

    The filters of Python's `warnings` belong to the whole process: changing them for a while in one thread affects
    others, and may leave them changed.
    """
    messages: list[str] = []
    token = _heard.set((*_heard.get(), (category, messages)))
    try:
        yield messages
    finally:
        _heard.reset(token)


def warn(message: str, category: type[Warning]) -> None:
    """Issue a warning at the first line outside linnet that led here."""
    for wanted, messages in reversed(_heard.get()):
        if issubclass(category, wanted):
            messages.append(message)
            return
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "linnet":
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


@contextmanager
def needs_extra(extra: str, what: str) -> Iterator[None]:
    """Raise a MissingExtraError if an import in the block fails because a package of one of linnet's extras is missing.

    Parameters
    ----------
    extra : str
        The extra of linnet's distribution that installs the package, such as "plot".
    what : str
        The feature that needs it, as the beginning of a sentence.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing == "linnet":
            raise
        raise MissingExtraError(f"{what} needs {missing}: pip install 'linnet[{extra}]'") from None


def unknown_name(kind: str, name: object, choices: Iterable[str]) -> ConfigError:
    """Build the error for a name that is not among the choices, with the nearest one as a suggestion.

    `kind`: what the name is of, often the parameter through which it was passed.
    """
    names = list(choices)
    by_lower = {choice.lower(): choice for choice in names}
    near = difflib.get_close_matches(str(name).lower(), by_lower, n=1)
    hint = f"did you mean {by_lower[near[0]]!r}? " if near else ""
    shown = (
        choice if len(choice) <= _MAX_CHARACTERS else f"{choice[:_MAX_CHARACTERS]}..."
        for choice in names[:_MAX_CHOICES]
    )
    more = f" and {len(names) - _MAX_CHOICES} more" if len(names) > _MAX_CHOICES else ""
    return ConfigError("unknown ", Parameter(kind), f" {name!r}: {hint}choose from: {', '.join(shown)}{more}")
