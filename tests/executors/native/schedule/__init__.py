"""The order of nodes, and the loops around them."""
