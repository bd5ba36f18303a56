"""Looking at functions: programs, nodes, kinks, machine code, and where a NaN came from."""
