"""Models that read and do not write: embeddings and entailment."""
