"""Functions of NumPy's along one axis, called for each row: sorting, Fourier transforms."""
