"""The usual cause of an error that Python or NumPy raises, in words for someone who has not seen it before."""

_CAUSES = (
    ("mismatch in its core dimension", "in A @ B, the last axis of A must be as long as the first one of B"),
    ("not aligned", "in a product, the last axis of the first array must be as long as the first one of the second"),
    ("does not have enough dimensions", "@ is for arrays: one of the two is a single number"),
    (
        "could not be broadcast",
        "two arrays fit together if their axes, compared from the last one backwards, have equal lengths or one of "
        "them is 1: keepdims=True or [:, None] makes an axis of length 1",
    ),
    ("bitwise_xor", "a power is written **, not ^"),
    ("unsupported operand type(s) for ^", "a power is written **, not ^"),
    (
        "truth value of an array",
        "an if needs a single True or False, and this is an array of several: has an index been left out, such as "
        "x[i]? np.where decides for all numbers at once",
    ),
    ("must be of integer", "an index is a whole number: .astype(int) turns an array into whole numbers"),
    ("only integer scalar arrays", "an index into a list is one whole number; only arrays can be indexed by arrays"),
    ("is out of bounds", "indices are counted from 0, so the last one is the length - 1"),
    ("too many indices", "there are more indices in brackets than the array has axes"),
    ("can't multiply sequence", "a list is not an array: loop over it, [... for one in the_list]"),
    ("for -: 'list'", "a list is not an array: loop over it, [... for one in the_list]"),
    ("for *: 'list'", "a list is not an array: loop over it, [... for one in the_list]"),
    ("NoneType", "something is None: does a function that is called here have no return, or a blank left?"),
    ("converted to Python scalars", "the functions of math take single numbers: np.exp and np.log take arrays"),
    (
        "only length-1 arrays can be converted",
        "the functions of math take single numbers: np.exp and np.log take arrays",
    ),
    ("Cannot cast ufunc", "the array holds whole numbers: make it with floats, such as np.zeros(n)"),
    ("not callable", "after a name, ( ) calls a function: an index is in [ ]"),
    ("not subscriptable", "after a name, [ ] is an index: a function is called by ( )"),
    ("has no attribute 'T'", "a list has no transpose: np.array makes an array from it"),
    ("not enough values to unpack", "there are more names on the left of = than values on its right"),
    ("too many values to unpack", "there are fewer names on the left of = than values on its right"),
    (
        "cannot access local variable",
        "it is used before it has a value: is the line that gives it one inside a loop or an if that did not run?",
    ),
    (
        "referenced before assignment",
        "it is used before it has a value: is the line that gives it one inside a loop or an if that did not run?",
    ),
    ("maximum recursion depth", "a function calls itself without end"),
    ("Unable to allocate", "the array is far larger than needed: is something computed for all pairs of rows?"),
)


def usual_cause(note: str) -> str:
    """Return what usually leads to an error with this text, or nothing."""
    return next((cause for text, cause in _CAUSES if text in note), "")
