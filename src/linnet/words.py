"""Choices of a few, such as tasks and kinds of columns: enums that print as their words."""

from enum import StrEnum


class Word(StrEnum):
    """A choice of a few, which prints as its word and is written into files as that word."""

    def __repr__(self) -> str:
        return repr(self.value)
