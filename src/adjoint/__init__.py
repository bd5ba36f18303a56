"""adjoint: automatic differentiation for plain NumPy code, where a derivative is a linear map."""
