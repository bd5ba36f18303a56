"""Programs on XLA."""
