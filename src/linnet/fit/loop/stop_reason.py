"""Why a training ended: a kind, which code compares, and text, which users read and files keep."""

import re
from typing import Any, Self

from linnet.words import Word


class StopKind(Word):
    """The kinds of reasons to stop."""

    NOT_STARTED = "not started"
    IN_PROGRESS = "in progress"
    INTERRUPTED = "interrupted"
    LEFT_EARLY = "left early"
    DIVERGED = "diverged"
    CONVERGED = "converged"
    ALL_DONE = "all done"  # the epochs or iterations asked for
    NO_IMPROVEMENT = "did not improve"
    LOWEST_RATE = "did not improve at the lowest learning rate"
    MEMBERS = "members"  # of an ensemble, each with its own reason


_PATTERNS = {  # of the texts; members first, which quote the others
    StopKind.MEMBERS: r"member 1: .*",
    StopKind.CONVERGED: r"converged(: .*)?",
    StopKind.ALL_DONE: r"all \d+ (epochs|iterations) done",
    StopKind.NO_IMPROVEMENT: r".* did not improve for \d+ epochs \(.*\)",
    StopKind.LOWEST_RATE: r".* did not improve at the lowest learning rate, .*",
    StopKind.NOT_STARTED: "not started",
    StopKind.IN_PROGRESS: "in progress",
    StopKind.INTERRUPTED: "interrupted",
    StopKind.LEFT_EARLY: "left early",
    StopKind.DIVERGED: "diverged",
}


class StopReason(str):
    """The text of a reason to stop, with its `kind`: "all 8 epochs done" is of the kind ALL_DONE."""

    kind: StopKind

    def __new__(cls, kind: StopKind, words: str | None = None) -> Self:
        """Build a reason. `words`: the text; None: the value of the kind."""
        reason = super().__new__(cls, kind.value if words is None else words)
        reason.kind = kind
        return reason

    @classmethod
    def read(cls, words: str) -> "StopReason":
        """Return the reason that a file holds as text; unknown text is a ValueError."""
        for kind, pattern in _PATTERNS.items():
            if re.fullmatch(pattern, words, re.DOTALL):
                return cls(kind, words)
        raise ValueError(f"unknown stop reason: {words[:60]!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        return StopReason.read, (str(self),)
