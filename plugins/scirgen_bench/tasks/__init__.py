"""Retrieval tasks of a release other than its questions: datasets for a need, papers for a facet, papers for a need of
many parts."""
