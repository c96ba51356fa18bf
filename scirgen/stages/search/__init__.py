"""Finds, in all that a run has read, the passages that may answer a question."""
