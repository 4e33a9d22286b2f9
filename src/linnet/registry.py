"""Classes whose objects may be in files. Each is registered where it is defined; a file cannot make objects of others.

    @saved
    @dataclass(frozen=True)
    class Level:
        column: str
        values: tuple[Any, ...]
        rows: int = field(default=0, metadata=UNSAVED)  # not in files

        def _check_file(self) -> None:  # of an object that was read
            need(len(self.values) > 0, self, "values")

A class may also have `_file_state`, which returns what is saved in place of its fields or attributes, and `_from_file`,
which makes an object from that.
"""

import inspect
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

import linnet
from linnet.errors import FormatError
from linnet.untrusted import fits

UNSAVED: Mapping[str, Any] = {"saved": False}  # metadata of dataclass fields that are not saved

_Kind = TypeVar("_Kind", bound=type)
_CLASSES: dict[str, type] = {}  # by their names in files
_NAMES: dict[type, str] = {}
_SETTINGS: set[type] = set()


def saved(kind: _Kind, name: str = "") -> _Kind:
    """Register a class: its objects may be in files. `name`: of the base class whose `_from_file` makes them."""
    name = name or kind.__name__
    assert issubclass(kind, _CLASSES.setdefault(name, kind)), f"two classes named {name}"
    _NAMES[kind] = name
    return kind


def setting(kind: _Kind) -> _Kind:
    """Register a class whose objects may also be parameters in checkpoints, as the arguments of their constructor."""
    _SETTINGS.add(kind)
    return saved(kind)


def name_of(kind: type) -> str | None:
    """Return the name of a class in files; None: its objects cannot be in files."""
    return _NAMES.get(kind)


def class_named(name: str) -> type | None:
    """Return the class of a name in a file, or None.

    Public classes are loaded, which registers them and their parts.
    """
    if name not in _CLASSES and name in linnet.__all__:
        getattr(linnet, name)
    return _CLASSES.get(name)


def setting_named(name: str) -> type | None:
    """Return the class of a parameter in a checkpoint, or None."""
    kind = class_named(name)
    return kind if kind in _SETTINGS else None


def state_of(value: Any) -> dict[str, Any]:
    """Return what is saved of an object, by name."""
    if hasattr(value, "_file_state"):
        return dict(value._file_state())
    if is_dataclass(value):
        return {each.name: getattr(value, each.name) for each in fields(value) if each.metadata.get("saved", True)}
    return dict(value.__getstate__() or {})


def arguments_of(value: Any) -> dict[str, Any] | None:
    """Return the arguments that build an equal setting, by name; None if the value is not a setting."""
    if type(value) not in _SETTINGS:
        return None
    if hasattr(value, "_arguments"):
        return dict(value._arguments())
    return {name: getattr(value, name) for name in inspect.signature(type(value)).parameters}


def need(condition: object, made: Any, what: str) -> None:
    """Raise a FormatError about an object from a file unless a condition holds."""
    if not condition:
        raise FormatError(f"{what} of the {type(made).__name__} in it is invalid")


def need_types(made: Any, hints: Mapping[str, Any]) -> None:
    """Raise a FormatError if attributes of an object from a file have other types."""
    for name, hint in hints.items():
        need(name not in made.__dict__ or fits(made.__dict__[name], hint), made, name)
