"""Training of embedding models for retrieval."""
