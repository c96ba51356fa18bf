"""Releases for other libraries: evaluate and ir_datasets."""
