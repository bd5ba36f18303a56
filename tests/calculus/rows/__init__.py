"""Functions of rows that are read some at a time."""
