"""Functions entry by entry: arithmetic, NumPy's, kinks, slopes that keep their digits."""
