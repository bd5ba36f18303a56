"""NumPy's polynomials."""
