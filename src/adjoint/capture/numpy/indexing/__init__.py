"""Indexing, and writing by index."""
