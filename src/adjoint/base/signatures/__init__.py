"""Calls of public functions: how they are written, what is checked, and what they return."""
