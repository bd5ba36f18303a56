"""NumPy's values beside records: what is computed, by whom, and whether both agree."""
