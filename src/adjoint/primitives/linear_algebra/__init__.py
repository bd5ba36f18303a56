"""Linear systems, factorisations, eigenvalues, and functions of matrices."""
