"""Report on a model of a table: its facts (`facts_of`), and a page that shows them (`write_report`)."""

from linnet.report.facts import Facts
from linnet.report.measure import facts_of
from linnet.report.page import page, write_report

__all__ = ["Facts", "facts_of", "page", "write_report"]
