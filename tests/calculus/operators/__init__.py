"""Linear differential operators."""
