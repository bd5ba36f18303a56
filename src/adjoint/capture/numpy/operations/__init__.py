"""Operators, methods and ufuncs of traced arrays."""
