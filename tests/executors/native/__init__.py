"""Checks of the native executor."""
