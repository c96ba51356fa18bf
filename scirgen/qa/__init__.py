"""What a set of questions and answers is, whoever made it: release files, rules of form, near-duplicates, quotas."""
