"""Which code is entered, which is not, and what a clone of a function is."""
