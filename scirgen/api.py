"""The public Python API: `generate` runs the pipeline, `Run` reads what it left."""
