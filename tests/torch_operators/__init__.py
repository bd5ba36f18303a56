"""Torch's own list of operators, and its inputs, as a test of the derivatives of NumPy code."""
