"""Floor 4, clones: the user's function under new names, and with code that asks us."""
