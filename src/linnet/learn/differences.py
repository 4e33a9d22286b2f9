"""Describe how a value differs from the expected one, in words that lead to the mistake."""

from collections.abc import Sequence
from typing import Any

import numpy as np

_SIGNIFICANT = 5  # digits shown
_LOGARITHMS = {1 / np.log(2): "np.log2", 1 / np.log(10): "np.log10"}


def difference(
    value: Any, expected: Any, tolerance: float, by: str = "", what: str = "it", names: Sequence[str] = ()
) -> str | None:
    """Describe the first difference, or return None if there is none.

    Parameters
    ----------
    value, expected
        Numbers, arrays, strings, or lists and dicts of these.
    tolerance
        Largest difference allowed, relative to the largest expected number of the array.
    by
        Where the expected values come from, if not from the plain program.
    what
        What the value is, as the subject of a sentence.
    names
        The names of its parts; ignored unless there are as many as parts.
    """
    if value is None and expected is not None:
        return f"{what} is None: is there a return?"
    if isinstance(expected, dict):
        if not isinstance(value, dict):
            return f"{what} is {_kind(value)}, expected a dict"
        for name, part in expected.items():
            if name not in value:
                return f"{what} has no entry {name}"
            if found := difference(value[name], part, tolerance, by, name):
                return found
        return None
    if isinstance(expected, list):
        return _of_lists(value, expected, tolerance, by, what, names)
    if isinstance(expected, str | bool) or expected is None:
        return (
            None
            if value == expected and type(value) is type(expected)
            else f"{what} is {_text(value)}, expected {_text(expected)}"
        )
    return _of_numbers(value, np.asarray(expected), tolerance, by, what)


def _of_lists(
    value: Any, expected: list[Any], tolerance: float, by: str, what: str, names: Sequence[str]
) -> str | None:
    if isinstance(value, np.ndarray) and value.ndim:
        value = list(value)
    if not isinstance(value, list):
        return f"{what} is {_kind(value)}, expected {_values(expected)}"
    if len(value) != len(expected):
        return f"{what} has {_values(value)}, expected {len(expected)}"
    for number, (one, right) in enumerate(zip(value, expected, strict=True)):
        name = f"value {number + 1} of {len(expected)}" if what == "it" else f"{what}[{number}]"
        if len(names) == len(expected):
            name = names[number]
        if found := difference(one, right, tolerance, by, name if len(expected) > 1 else what):
            return found
    return None


def _of_numbers(value: Any, expected: np.ndarray[Any, Any], tolerance: float, by: str, what: str) -> str | None:
    if isinstance(value, str | dict) or value is None:
        return f"{what} is {_kind(value)}, expected {_kind(expected)}"
    try:
        got = np.asarray(value)
    except ValueError:
        return f"{what} is a list of arrays of different shapes, expected {_kind(expected)}"
    if got.dtype.kind not in "fiub":
        return f"{what} has values that are not numbers, expected {_kind(expected)}"
    if got.shape != expected.shape:
        return _of_shapes(got, expected, tolerance, what)
    got, right = got.astype(float), expected.astype(float)
    scale = float(np.abs(right[np.isfinite(right)]).max(initial=0.0))
    with np.errstate(invalid="ignore"):  # inf - inf
        same = (
            (np.abs(got - right) <= tolerance * max(scale, 1e-3)) | (got == right) | (np.isnan(got) & np.isnan(right))
        )
    if same.all():
        return None
    return "\n".join([_first(got, right, same, by, what), *_causes(got, right, same, tolerance)])


def _of_shapes(got: np.ndarray[Any, Any], right: np.ndarray[Any, Any], tolerance: float, what: str) -> str:
    message = f"{what} has {_shape(got)}, expected {_shape(right)}"
    if got.shape == right.T.shape and _of_numbers(got.T, right, tolerance, "", "") is None:
        return f"{message}: it is the right one, transposed"
    if got.size == right.size and _of_numbers(got.reshape(right.shape), right, tolerance, "", "") is None:
        return f"{message}: the numbers are right, but there is one axis too many or too few (keepdims?)"
    if right.ndim and not got.ndim:
        return f"{message}: is the sum, mean or argmax taken over the whole array instead of one axis?"
    if right.ndim < got.ndim and got.shape[: right.ndim] == right.shape:
        return f"{message}: is the sum, mean or argmax along the last axis missing?"
    return message


def _first(
    got: np.ndarray[Any, Any], right: np.ndarray[Any, Any], same: np.ndarray[Any, Any], by: str, what: str
) -> str:
    if not got.ndim:
        return f"{what} is {_number(got)}, expected {_number(right)}{by and f' ({by})'}"
    place = tuple(int(i) for i in np.argwhere(~same)[0])
    share = f"{int((~same).sum())} of {same.size} numbers differ" if same.size > 1 else "the number differs"
    at = f"[{', '.join(map(str, place))}]"
    subject = "" if what == "it" else f"{what}: "
    return f"{subject}{share}; at {at} it is {_number(got[place])}, expected {_number(right[place])}{by and f' ({by})'}"


def _causes(
    got: np.ndarray[Any, Any], right: np.ndarray[Any, Any], same: np.ndarray[Any, Any], tolerance: float
) -> list[str]:
    """The usual causes of such a difference."""
    if not np.isfinite(got[~same]).all():
        if np.isfinite(right).all():
            return [
                "nan and inf come from e^z with a large z, from log 0 or from 0 / 0: rewrite the formula so that "
                "none of these occurs"
            ]
        return []
    if (got == 0).all():
        return ["all of it is 0: is something missing, or are whole numbers divided by // instead of /?"]
    if (got == np.round(right)).all():
        return ["it is rounded to whole numbers"]
    if got.ndim == 2 and got.shape == right.T.shape and np.allclose(got.T, right, tolerance, 0):
        return ["it is the right one, transposed"]
    usable = np.abs(right) > 1e-6 * np.abs(right).max(initial=0.0)
    if not usable.any():
        return []
    ratios = got[usable] / right[usable]
    factor = float(np.median(ratios))
    same_factor = factor and np.allclose(got, factor * right, rtol=1e-6, atol=1e-9 * np.abs(right).max())
    if same_factor and (got.size > 1 or _is_plain(factor)):
        return [_of_factor(factor)]
    offset = float(np.median(got - right))
    if got.size > 1 and np.allclose(got - right, offset, rtol=1e-6, atol=1e-9 * np.abs(right).max()):
        return [f"all of it is off by the same {_number(offset)}"]
    if np.allclose(got, right, rtol=1e-4, atol=1e-6 * np.abs(right).max()):
        return ["it is nearly right: is something small added (an epsilon), or is something rounded?"]
    if got.size > 1 and got.shape == right.shape and np.allclose(np.sort(got, None), np.sort(right, None), tolerance):
        return ["the numbers are right, but in another order"]
    return []


def _is_plain(factor: float) -> bool:
    """Whether a factor between two single numbers is unlikely to be chance."""
    return any(_is(abs(factor), one) for one in _LOGARITHMS) or any(
        abs(abs(one) - round(abs(one))) < 1e-6 * abs(one) and 1 <= abs(round(one)) <= 10_000
        for one in (factor, 1 / factor)
    )


def _of_factor(factor: float) -> str:
    if abs(factor + 1) < 1e-6:
        return "the sign is wrong everywhere"
    sign = "the sign is wrong, and " if factor < 0 else ""
    size = abs(factor)
    for other, name in _LOGARITHMS.items():
        if _is(size, other):
            return f"{sign}the logarithm has another base: {name} is used in place of the natural logarithm, np.log"
    if _is(size, 2) or _is(size, 0.5):
        much = "too large by a factor of 2" if size > 1 else "half of what it should be"
        return f"{sign}it is {much}: is there a factor of 2 or 1/2 too many, or one missing?"
    much = f"too large by a factor of {_number(size)}" if size > 1 else f"too small by a factor of {_number(1 / size)}"
    if not _is_plain(size):
        return f"{sign}it is {much}"
    if size > 1:
        return f"{sign}it is {much}: is it a sum over {round(size)} numbers instead of their mean?"
    return f"{sign}it is {much}: is it divided by {round(1 / size)} once too often?"


def _is(number: float, other: float) -> bool:
    return abs(number - other) < 1e-6 * other


def _text(value: Any) -> str:
    """A value as text: a string in quotes, unless it is the shape of an array."""
    return value if isinstance(value, str) and value.startswith("(") else repr(value)


def _values(values: list[Any]) -> str:
    return f"{len(values)} value{'s' if len(values) != 1 else ''}"


def _shape(array: np.ndarray[Any, Any]) -> str:
    if not array.ndim:
        return "no axes (a single number)"
    return f"shape ({', '.join(map(str, array.shape))}{',' if array.ndim == 1 else ''})"


def _kind(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {_shape(value)}" if value.ndim else "a number"
    if isinstance(value, list):
        return _values(value)
    return {str: "a string", dict: "a dict", bool: "True or False"}.get(type(value), "a number")


def _number(value: Any) -> str:
    return f"{float(value):.{_SIGNIFICANT}g}"
