"""Elementwise primitives as instructions."""
