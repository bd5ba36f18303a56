"""Floor 4, SciPy's names in captured code."""
