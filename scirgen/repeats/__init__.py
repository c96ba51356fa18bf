"""Finds questions that repeat others: near-duplicates by words, two questions about one fact, and the search for
similar sets behind both."""
