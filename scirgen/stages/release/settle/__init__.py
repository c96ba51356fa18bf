"""Decisions that need the whole set: duplicates, contamination, paraphrases, groups, splits."""
