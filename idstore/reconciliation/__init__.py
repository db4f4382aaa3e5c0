"""Comparing registries and mapping files: which of their statements contradict each other, and which one side lacks."""
