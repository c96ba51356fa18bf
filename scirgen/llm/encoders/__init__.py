"""Encoder models: embeddings and entailment."""
