"""A report of a model of a table: all its numbers (`facts_of`), and one page that shows them (`write_report`)."""

from linnet.report.facts import Facts
from linnet.report.measure import facts_of
from linnet.report.page import page, write_report

__all__ = ["Facts", "facts_of", "page", "write_report"]
