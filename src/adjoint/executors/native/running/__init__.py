"""Programs that run: as one piece of machine code, or several with NumPy between them."""
