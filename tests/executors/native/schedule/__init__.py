"""Loops and branches in machine code."""
