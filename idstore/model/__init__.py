"""The frozen values that the registry is made of, and how they become triples."""
