"""A course of small programming assignments that check themselves: `linnet learn`.

Each assignment is a program of `linnet.plain` with some of its functions left blank. `check` runs what a student wrote
in a process of its own and compares it part by part with the plain program: it reports what differs first, and the
usual reason.
"""

from linnet.learn.checking import check
from linnet.learn.course import assignments, find
from linnet.learn.judge import Report, Status, Verdict

__all__ = ["Report", "Status", "Verdict", "assignments", "check", "find"]
