"""Floor 4, NumPy's operators, ufuncs and functions on traced arrays."""
