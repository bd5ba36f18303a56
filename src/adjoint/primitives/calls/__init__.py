"""Functions that capture does not enter, and what stands for a solver in a program."""
