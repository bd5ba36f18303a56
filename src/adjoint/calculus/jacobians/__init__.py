"""Jacobians as arrays: in which order their products are computed, and which are sparse."""
