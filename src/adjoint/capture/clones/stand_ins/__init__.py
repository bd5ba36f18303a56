"""What the names of NumPy, `math` and Python mean in a clone."""
