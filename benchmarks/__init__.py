"""How fast idstore is, each row a ratio to a floor that is measured in the same run: ``python -m benchmarks``."""
