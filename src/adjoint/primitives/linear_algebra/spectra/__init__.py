"""Eigenvalues and singular values, their vectors, and functions of matrices through them."""
