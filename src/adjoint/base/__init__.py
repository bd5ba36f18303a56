"""Floor 0: errors, array types, pytrees and settings. Imports nothing else of the package."""
