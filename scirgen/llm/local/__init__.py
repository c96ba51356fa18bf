"""Models in this process: transformers, the bundled model, decoding and scoring."""
