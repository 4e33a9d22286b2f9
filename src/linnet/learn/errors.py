"""What usually lies behind an error that Python or NumPy raises, in words for someone who has not seen it before."""

_CAUSES = (
    ("mismatch in its core dimension", "in A @ B, the last axis of A must be as long as the first one of B"),
    ("not aligned", "in a product, the last axis of the first array must be as long as the first one of the second"),
    ("does not have enough dimensions", "@ is for arrays: one of the two is a single number"),
    (
        "could not be broadcast",
        "two arrays go together if their axes, from the last one on, are equally long or 1: keepdims=True or [:, None] "
        "makes an axis of 1",
    ),
    ("bitwise_xor", "a power is written **, not ^"),
    ("unsupported operand type(s) for ^", "a power is written **, not ^"),
    (
        "truth value of an array",
        "if asks one question, and here are several numbers: has an index been left out, such as x[i]? np.where asks "
        "for all numbers at once",
    ),
    ("must be of integer", "an index is a whole number: .astype(int) makes whole numbers of others"),
    ("only integer scalar arrays", "an index is one whole number, or an array of them in another array"),
    ("is out of bounds", "places are counted from 0, so that the last one is the length - 1"),
    ("too many indices", "there are more indices in brackets than the array has axes"),
    ("can't multiply sequence", "a list is not an array: go through it with [... for one in the_list]"),
    ("for -: 'list'", "a list is not an array: go through it with [... for one in the_list]"),
    ("for *: 'list'", "a list is not an array: go through it with [... for one in the_list]"),
    ("NoneType", "something is None: has a function that is called here no return, or a blank left?"),
    ("converted to Python scalars", "the functions of math take single numbers: np.exp and np.log take arrays"),
    (
        "only length-1 arrays can be converted",
        "the functions of math take single numbers: np.exp and np.log take arrays",
    ),
    ("Cannot cast ufunc", "the array holds whole numbers: make it with floats, such as np.zeros(n)"),
    ("not callable", "after a name, ( ) calls a function: an index is in [ ]"),
    ("not subscriptable", "after a name, [ ] is an index: a function is called by ( )"),
    ("has no attribute 'T'", "a list has no transpose: np.array makes an array of it"),
    ("not enough values to unpack", "there are more names on the left of = than values on its right"),
    ("too many values to unpack", "there are fewer names on the left of = than values on its right"),
    (
        "cannot access local variable",
        "it is used before it has a value: is the line that gives it one in a loop or if?",
    ),
    (
        "referenced before assignment",
        "it is used before it has a value: is the line that gives it one in a loop or if?",
    ),
    ("maximum recursion depth", "a function calls itself, again and again"),
    ("Unable to allocate", "a far larger array than needed is made: is a product of all pairs taken?"),
)


def usual_cause(note: str) -> str:
    """Return what usually leads to an error with this text, or nothing."""
    return next((cause for text, cause in _CAUSES if text in note), "")
