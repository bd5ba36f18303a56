"""Products, linear algebra and transforms."""
