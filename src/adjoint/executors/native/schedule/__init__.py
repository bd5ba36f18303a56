"""The order of the nodes, the loops around them, and where their arrays lie."""
