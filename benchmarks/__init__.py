"""What is fast, against what, on the same work in the same run: ``python -m benchmarks``."""
