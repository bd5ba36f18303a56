"""The official test suite of the Python array API standard, on traced arrays."""
