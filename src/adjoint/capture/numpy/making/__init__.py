"""Functions that make arrays."""
