"""Derivatives beyond the second: Taylor coefficients, tensors, and differential operators."""
