"""Benchmarks of idstore: ``python -m benchmarks``. Each row compares with a floor of the same run."""
