"""A sweep over the arguments of NumPy's functions on traced arrays."""
