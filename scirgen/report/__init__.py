"""report.html and report.json, from a run's folder only."""
