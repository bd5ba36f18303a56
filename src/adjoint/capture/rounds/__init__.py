"""Loops of Python's own that end by values: what proves that their rounds are all alike."""
