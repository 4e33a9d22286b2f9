"""What a section of the page is: the models it is for, the facts it needs, and how it shows them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from linnet.report.facts import Facts
from linnet.report.markup import Safe, tag
from linnet.tables.model import TableModel
from linnet.tables.predictions import Evaluation
from linnet.tables.rows import Examples

Progress = Callable[[float], None]  # is called with the share that is done


@dataclass(frozen=True)
class Subject:
    """What a report is about: a model and its predictions of rows that it was not trained on."""

    evaluation: Evaluation
    training: Examples | None = None  # the rows it was trained on
    seed: int = 0
    progress: Progress = lambda share: None  # of one section

    @property
    def model(self) -> TableModel:
        """The model."""
        return self.evaluation.model


class Shown(NamedTuple):
    """A part of the page with its entry in the table of contents."""

    key: str  # its anchor
    title: str
    content: Safe

    @classmethod
    def of(cls, key: str, title: str, *content: object) -> "Shown":
        """A part with its heading."""
        return cls(key, title, tag("section", tag("h2", title), *content, id=key))


class Section(ABC):
    """A section of the page. `linnet.report.page.SECTIONS` lists them."""

    # the names of its facts in `Facts` and in JSON, with their values for a model that it does not apply to
    empty: ClassVar[Mapping[str, Any]] = {}

    def applies(self, model: TableModel) -> bool:
        """Whether it has facts of such a model."""
        return True

    def facts(self, subject: Subject) -> Mapping[str, Any]:
        """Its facts, by the names in `empty`: dataclasses, tuples, mappings and numbers."""
        return {}

    def notices(self, facts: Mapping[str, Any], model: TableModel) -> Sequence[str]:
        """What a reader of its facts should know."""
        return ()

    @abstractmethod
    def show(self, facts: Facts) -> list[Shown]:
        """Its parts of the page; none where there is nothing to show."""
