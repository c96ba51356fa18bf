"""Measures anybody's retrieval-augmented generation on a release: any chunks, any answers."""
