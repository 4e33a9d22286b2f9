"""What an assignment is: a plain program to be written again, parts that are compared, mistakes that are recognised.

The student's program is judged by numbers alone. A `Part` has a probe, a function that calls a program for some values;
it is run on the student's program, in a process of its own, and on the plain one. A `Mistake` is a change of the plain
program: a student whose numbers are those of the changed program has made that mistake, however the program is written.
"""

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from linnet._cached import cached_property
from linnet.learn.program import Source, excerpt, module_of

Probe = Callable[[Any], object]


@dataclass(frozen=True)
class Part:
    """Something that a program must get right.

    `probe` returns numbers, arrays, strings, or tuples, lists and dicts of these. It must not depend on anything but
    the program: random numbers are seeded.
    """

    of: str  # the function or method under test
    what: str  # such as "the gradient of W on 32 digits"
    probe: Probe
    expected: Probe | None = None  # run on the plain program in place of the probe, such as a numeric gradient
    tolerance: float = 1e-8  # relative to the largest expected value
    by: str = ""  # where expected values come from, if not from the plain program: "the numeric gradient"
    hint: str = ""  # added to the message where no mistake is recognised


@dataclass(frozen=True)
class Mistake:
    """A wrong program: the plain one with some of its text replaced, and what to tell the student who wrote it."""

    edits: Mapping[str, str]  # each old text occurs in the solution exactly once
    message: str


@dataclass(frozen=True)
class Assignment:
    """One program of the course."""

    name: str
    title: str
    plain: str  # the program of linnet.plain that solves it
    write: Mapping[str, Sequence[str]]  # functions to be written, each with the beginnings of the lines that stay
    task: str
    parts: Sequence[Part]
    mistakes: Sequence[Mistake]
    hints: Sequence[str]
    page: str  # of the guide
    given: Sequence[str] = ()  # definitions that are shown in full
    run: str = ""  # what the student's file does when it is run as a program, on real data
    imports: Sequence[str] = ()  # lines that `run` needs

    @property
    def file(self) -> str:
        """The name of the student's file."""
        return self.name.replace("-", "_") + ".py"

    @cached_property
    def _shown(self) -> list[str]:
        return [*self.given, *{name.partition(".")[0]: None for name in self.write}]

    def _text(self, blanks: Mapping[str, Sequence[str]]) -> str:
        source = Source.of_plain(self.plain)
        task = textwrap.fill(" ".join(self.task.split()), 100)
        check = f"When you have written something:  linnet learn check {self.file}"
        body = excerpt(source, self._shown, blanks, self.imports)
        end = f'\n\nif __name__ == "__main__":\n{textwrap.indent(textwrap.dedent(self.run).strip(), " " * 4)}\n'
        return f'"""{self.title}.\n\n{task}\n\n{check}\n\n{source.docstring}\n"""\n\n{body}{end if self.run else ""}'

    @cached_property
    def template(self) -> str:
        """What the student starts from."""
        return self._text(self.write)

    @cached_property
    def solution(self) -> str:
        """The template with its blanks filled from the plain program."""
        return self._text({})

    @cached_property
    def right(self) -> ModuleType:
        """The solution as a module."""
        return module_of(self.solution, self.plain)

    def mistaken(self, mistake: Mistake) -> str:
        """Return the solution with a mistake in it."""
        text = self.solution
        for old, new in mistake.edits.items():
            if text.count(old) != 1:
                raise ValueError(f"{self.name}: the solution contains {old!r} {text.count(old)} times, expected once")
            text = text.replace(old, new)
        return text


@dataclass(frozen=True)
class Chapter:
    """Assignments that belong together."""

    title: str
    assignments: Sequence[Assignment] = field(default_factory=tuple)
