"""report.html and report.json, from a run's folder or from a release."""

from scirgen.report.data import ReportData
from scirgen.report.figures import gather
from scirgen.report.page import write_report
from scirgen.report.released import gather_release

__all__ = ["ReportData", "gather", "gather_release", "write_report"]
