"""Headings: candidates, the classifier that accepts them, their numbers and levels."""
