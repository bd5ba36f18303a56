"""Colourings: which columns, rows or vertices of a sparse matrix share a product."""
