"""Sections of the page: the models they apply to, the facts they need, and how they show them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from linnet.report.facts import Facts
from linnet.report.markup import Safe, tag
from linnet.tables.model import TableModel
from linnet.tables.predictions import Evaluation
from linnet.tables.rows import Examples

Progress = Callable[[float], None]  # called with the share of work done


@dataclass(frozen=True)
class Subject:
    """The model of a report, with its predictions of rows that it was not trained on."""

    evaluation: Evaluation
    training: Examples | None = None  # the rows it was trained on
    seed: int = 0
    progress: Progress = lambda share: None  # of one section

    @property
    def model(self) -> TableModel:
        """The model."""
        return self.evaluation.model


class Shown(NamedTuple):
    """One section on the page, with its entry in the table of contents."""

    key: str  # its anchor
    title: str
    content: Safe

    @classmethod
    def of(cls, key: str, title: str, *content: object) -> "Shown":
        """Build a section with its heading."""
        return cls(key, title, tag("section", tag("h2", title), *content, id=key))


class Section(ABC):
    """A section of the page. `linnet.report.page.SECTIONS` lists all sections."""

    # the names of the facts in `Facts` and in JSON, with their values for a model to which the section does not apply
    empty: ClassVar[Mapping[str, Any]] = {}

    def applies(self, model: TableModel) -> bool:
        """Return whether the section has facts about this model."""
        return True

    def facts(self, subject: Subject) -> Mapping[str, Any]:
        """Return the facts, by the names in `empty`: dataclasses, tuples, mappings and numbers."""
        return {}

    def notices(self, facts: Mapping[str, Any], model: TableModel) -> Sequence[str]:
        """Return sentences about the facts that a reader should know."""
        return ()

    @abstractmethod
    def show(self, facts: Facts) -> list[Shown]:
        """Return the parts of the page; an empty list if there is nothing to show."""
