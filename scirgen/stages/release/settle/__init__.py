"""What the whole set decides: duplicates, contamination, paraphrases, groups, splits."""
