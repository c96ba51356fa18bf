"""Question-answer sets of any origin: release files, readers of other formats, labels, reviews."""
