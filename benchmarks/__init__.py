"""Benchmarks: `python -m benchmarks.NAME`; their tables are in docs/benchmarks/."""
