"""report.html and report.json, from a run's folder only."""

from scirgen.report.figures import ReportData, gather
from scirgen.report.page import write_report

__all__ = ["ReportData", "gather", "write_report"]
