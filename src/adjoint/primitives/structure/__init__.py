"""What moves, joins, picks, sorts and sums numbers."""
