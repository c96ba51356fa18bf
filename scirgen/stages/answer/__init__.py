"""Answers a question from the passages found for it, or says that they do not."""
