"""Release formats of other toolkits: retrieval, tuning, tests of answers."""
