"""What linnet raises. Each error is also the built-in one that users of scikit-learn expect."""

import difflib
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class LinnetError(Exception):
    """Any error raised by linnet on purpose."""


class DataError(LinnetError, ValueError):
    """The data cannot be used: names the column or row, what was found there, and the way out."""


class DataTypeError(DataError, TypeError):
    """A value is of a type that can never be a number."""


class ConfigError(LinnetError, ValueError):
    """A parameter or setting has no meaning: names it, what was given, and what is possible."""


class FitError(LinnetError, RuntimeError):
    """A fit could not go on; the last good parameters are kept, and `history` has what was recorded until then."""

    history: object = None


class FormatError(LinnetError, ValueError):
    """A file is not what it should be: damaged, cut short, or of another kind or version."""


class GraphError(LinnetError, TypeError):
    """A function cannot be differentiated as it is written: names the step, and what to write in its place."""


class DataWarning(UserWarning):
    """The data can be used, but something in them is likely not meant: names it and says what was done about it."""


class FitWarning(UserWarning):
    """A fit ended before it was finished: says how far it came and what would help."""


class CheckpointWarning(UserWarning):
    """A checkpoint could not be written or read, and the run goes on without it: says which, why, and what is left."""


class SeparationWarning(FitWarning):
    """The likelihood has no maximum: some columns tell classes apart without error."""


_MOST_CHOICES, _LONGEST = 40, 40  # names in a message, and characters of one
_JOINED: dict[tuple[str, type[Warning]], type[Warning]] = {}  # by scikit-learn's name and ours


def known_as(name: str, ours: type[Warning]) -> type[Warning]:
    """Our category of warning which, if scikit-learn is loaded, also is the one that scikit-learn calls `name`.

    As long as it is not loaded, nobody can have asked for its warnings; loading it takes longer than most fits.
    """
    theirs = getattr(sys.modules.get("sklearn.exceptions"), name, None)
    return ours if theirs is None else _JOINED.setdefault((name, ours), type(name, (ours, theirs), {}))


_heard: ContextVar[tuple[tuple[type[Warning], list[str]], ...]] = ContextVar("heard", default=())


@contextmanager
def hearing(category: type[Warning] = Warning) -> Iterator[list[str]]:
    """Collect linnet's own warnings of a category, which nobody else then hears, in the calling thread alone.

    The filters of Python's `warnings` belong to the whole process: setting them for a while in one thread changes what
    others hear, and may leave them changed.
    """
    messages: list[str] = []
    token = _heard.set((*_heard.get(), (category, messages)))
    try:
        yield messages
    finally:
        _heard.reset(token)


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the line outside of linnet that led here."""
    for wanted, messages in reversed(_heard.get()):
        if issubclass(category, wanted):
            messages.append(message)
            return
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "linnet":
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def unknown_name(kind: str, name: object, choices: Iterable[str]) -> ConfigError:
    """Build the error for a name that is not among the choices, with the nearest one as a suggestion."""
    names = list(choices)
    by_lower = {choice.lower(): choice for choice in names}
    near = difflib.get_close_matches(str(name).lower(), by_lower, n=1)
    hint = f"did you mean {by_lower[near[0]]!r}? " if near else ""
    shown = (choice if len(choice) <= _LONGEST else f"{choice[:_LONGEST]}..." for choice in names[:_MOST_CHOICES])
    more = f" and {len(names) - _MOST_CHOICES} more" if len(names) > _MOST_CHOICES else ""
    return ConfigError(f"unknown {kind} {name!r}: {hint}choose from: {', '.join(shown)}{more}")
