"""Decisions that need the whole set: duplicates, contamination, groups, splits."""
