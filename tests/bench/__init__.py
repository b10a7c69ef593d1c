"""Benchmarks: `python -m tests.bench [name...]` prints ratios to peers that are measured in the same run."""
