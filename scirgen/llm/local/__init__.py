"""Models in this process: transformers, decoding and scoring."""
