"""Functions that arrange arrays."""
