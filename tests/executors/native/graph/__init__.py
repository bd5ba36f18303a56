"""Equations as nodes, functions of indices."""
