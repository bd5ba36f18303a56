"""Random well-typed programs out of the whole table of primitives, with loops and branches."""
