"""What is different between a value and the one expected, in words that lead to the mistake."""

from typing import Any

import numpy as np

_SIGNIFICANT = 5  # digits shown


def difference(value: Any, expected: Any, tolerance: float, by: str = "", what: str = "it") -> str | None:
    """Describe the first difference, or return None if there is none.

    Parameters
    ----------
    value, expected
        Numbers, arrays, texts, or lists and dicts of such.
    tolerance
        Largest difference of numbers, relative to the largest expected one of the array.
    by
        Where the expected values come from, if not from the plain program.
    what
        What the value is, as the subject of a sentence.
    """
    if value is None and expected is not None:
        return f"{what} is None: is there a return?"
    if isinstance(expected, dict):
        if not isinstance(value, dict):
            return f"{what} is {_kind(value)}, expected is a dict"
        for name, part in expected.items():
            if name not in value:
                return f"{what} has no entry {name}"
            if found := difference(value[name], part, tolerance, by, name):
                return found
        return None
    if isinstance(expected, list):
        return _of_lists(value, expected, tolerance, by, what)
    if isinstance(expected, str | bool) or expected is None:
        return (
            None
            if value == expected and type(value) is type(expected)
            else f"{what} is {value!r}, expected is {expected!r}"
        )
    return _of_numbers(value, np.asarray(expected), tolerance, by, what)


def _of_lists(value: Any, expected: list[Any], tolerance: float, by: str, what: str) -> str | None:
    if isinstance(value, np.ndarray) and value.ndim:
        value = list(value)
    if not isinstance(value, list):
        return f"{what} is {_kind(value)}, expected are {len(expected)} values"
    if len(value) != len(expected):
        return f"{what} has {len(value)} values, expected are {len(expected)}"
    for number, (one, right) in enumerate(zip(value, expected, strict=True), 1):
        name = f"value {number} of {len(expected)}" if what == "it" else f"{what}, value {number}"
        if found := difference(one, right, tolerance, by, name if len(expected) > 1 else what):
            return found
    return None


def _of_numbers(value: Any, expected: np.ndarray[Any, Any], tolerance: float, by: str, what: str) -> str | None:
    if isinstance(value, str | dict) or value is None:
        return f"{what} is {_kind(value)}, expected is {_kind(expected)}"
    try:
        got = np.asarray(value)
    except ValueError:
        return f"{what} is a list of arrays of different shapes, expected is {_kind(expected)}"
    if got.dtype.kind not in "fiub":
        return f"{what} has values that are not numbers, expected is {_kind(expected)}"
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
    message = f"{what} has {_shape(got)}, expected is {_shape(right)}"
    if got.shape == right.T.shape and _of_numbers(got.T, right, tolerance, "", "") is None:
        return f"{message}: it is the right one, transposed"
    if got.size == right.size and _of_numbers(got.reshape(right.shape), right, tolerance, "", "") is None:
        return f"{message}: the numbers are right, but an axis is too many or too few (keepdims?)"
    if right.ndim and not got.ndim:
        return f"{message}: is something summed over all of the array that is to be summed along one axis?"
    return message


def _first(
    got: np.ndarray[Any, Any], right: np.ndarray[Any, Any], same: np.ndarray[Any, Any], by: str, what: str
) -> str:
    if not got.ndim:
        return f"{what} is {_number(got)}, expected is {_number(right)}{by and f' ({by})'}"
    place = tuple(int(i) for i in np.argwhere(~same)[0])
    share = f"{int((~same).sum())} of {same.size} numbers differ" if same.size > 1 else "the number differs"
    at = f"[{', '.join(map(str, place))}]"
    return (
        f"{what}: {share}; at {at} it is {_number(got[place])}, expected is {_number(right[place])}{by and f' ({by})'}"
    )


def _causes(
    got: np.ndarray[Any, Any], right: np.ndarray[Any, Any], same: np.ndarray[Any, Any], tolerance: float
) -> list[str]:
    """What usually lies behind such a difference."""
    if not np.isfinite(got[~same]).all():
        if np.isfinite(right).all():
            return [
                "nan and inf come from e^z of a large z, from log 0 or from 0 / 0: rewrite the formula so that none "
                "is met"
            ]
        return []
    if (got == 0).all():
        return ["all of it is 0: is something missing, or a whole number divided down by //?"]
    if got.ndim == 2 and got.shape == right.T.shape and np.allclose(got.T, right, tolerance, 0):
        return ["it is the right one, transposed"]
    usable = np.abs(right) > 1e-6 * np.abs(right).max(initial=0.0)
    if not usable.any():
        return []
    ratios = got[usable] / right[usable]
    factor = float(np.median(ratios))
    if factor and np.allclose(got, factor * right, rtol=1e-6, atol=1e-9 * np.abs(right).max()):
        return [_of_factor(factor)] if got.size > 1 or _is_plain(factor) else []
    offset = float(np.median(got - right))
    if got.size > 1 and np.allclose(got - right, offset, rtol=1e-6, atol=1e-9 * np.abs(right).max()):
        return [f"all of it is off by the same {_number(offset)}"]
    return []


def _is_plain(factor: float) -> bool:
    """Whether a factor between two single numbers is more than chance."""
    return any(
        abs(abs(one) - round(abs(one))) < 1e-6 * abs(one) and 1 <= abs(round(one)) <= 10_000
        for one in (factor, 1 / factor)
    )


def _of_factor(factor: float) -> str:
    if abs(factor + 1) < 1e-6:
        return "the sign is wrong, everywhere"
    sign = "the sign is wrong, and " if factor < 0 else ""
    size = abs(factor)
    if abs(size - 2) < 1e-6 or abs(size - 0.5) < 1e-6:
        much = "twice too large" if size > 1 else "half of what it must be"
        return f"{sign}it is {much}: is there a factor of 2, or of 1/2, such as that of a square's slope?"
    if size > 1:
        return f"{sign}it is {_number(size)} times too large: is there a sum in place of a mean over the rows?"
    return f"{sign}it is {_number(1 / size)} times too small: is it divided by the number of rows twice?"


def _shape(array: np.ndarray[Any, Any]) -> str:
    if not array.ndim:
        return "no axes (a single number)"
    return f"shape ({', '.join(map(str, array.shape))}{',' if array.ndim == 1 else ''})"


def _kind(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {_shape(value)}" if value.ndim else "a number"
    if isinstance(value, list):
        return f"{len(value)} values"
    return {str: "a text", dict: "a dict", bool: "True or False"}.get(type(value), "a number")


def _number(value: Any) -> str:
    return f"{float(value):.{_SIGNIFICANT}g}"
