"""The registry of heads, and what is asked of all of them."""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from linnet._native import core
from linnet.checks import check_name
from linnet.heads.activations import Activation
from linnet.registry import saved

if TYPE_CHECKING:
    from linnet.heads.base import Head

_Kind = TypeVar("_Kind", bound="type[Head]")

HEADS: "dict[str, type[Head]]" = {}  # by family, in the order of core/heads/families.def: filled by `registered`


def registered(kind: _Kind) -> _Kind:
    """Register a head under the name of its family (a class decorator)."""
    order = [*core.Family.__members__]
    known: dict[str, type[Head]] = {**HEADS, kind.family: kind}
    HEADS.clear()  # in the order that users see, whichever module is imported first
    HEADS.update(sorted(known.items(), key=lambda each: order.index(each[0]) if each[0] in order else len(order)))
    return saved(kind, "Head")  # files name the family


def head_named(family: str, parameter: float = 0.0) -> "Head":
    """Return the head of a family, with its default activation.

    Parameters
    ----------
    family : str
        The name of the family, such as "poisson".
    parameter : float, default=0.0
        The parameter of the distribution, for families that have one.

    Returns
    -------
    Head
        The head.
    """
    check_name(family, "head", HEADS)
    return HEADS[family]._rebuilt(Activation(HEADS[family].default_activation), parameter, False)


def heads_by_loss(*, keras: bool = False) -> "dict[str, type[Head]]":
    """Return the heads by the names of their losses.

    Parameters
    ----------
    keras : bool, default=False
        Whether to use the names of losses in `Sequential`, as in Keras, instead of those in regressors.

    Returns
    -------
    dict of head classes by name
        The heads.
    """
    return {name: kind for kind in HEADS.values() for name in (kind.keras_losses if keras else kind.losses)}


def losses_with(condition: "Callable[[type[Head]], bool]") -> str:
    """Return the regressor losses whose heads meet a condition, listed for a message: "'a', 'b' or 'c'".

    Parameters
    ----------
    condition : function
        Takes a head class and returns whether to list it.

    Returns
    -------
    str
        The list.
    """
    names = [repr(kind.losses[0]) for kind in HEADS.values() if kind.losses and condition(kind)]
    return " or ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def count_heads() -> "list[type[Head]]":
    """Return the heads of counts, the default first."""
    return [kind for kind in HEADS.values() if kind.counts]
