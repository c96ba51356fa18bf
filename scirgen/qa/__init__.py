"""Question-answer sets of any origin: release files, rules of form, near-duplicates, quotas."""
