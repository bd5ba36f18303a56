"""Reductions, sorting, and what is computed of whole arrays."""
