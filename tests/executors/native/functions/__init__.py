"""Elementary functions, written out or called."""
