"""The ideas behind the models, as programs that can be run."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from linnet.theory.differences import gradient_check

__all__ = ["gradient_check"]

if not TYPE_CHECKING:  # loaded when it is first used

    def __getattr__(name: str) -> object:
        if name == "gradient_check":
            from linnet.theory.differences import gradient_check

            return gradient_check
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
