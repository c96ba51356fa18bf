"""Retrieval and question-answering benchmarks, from a release only."""
