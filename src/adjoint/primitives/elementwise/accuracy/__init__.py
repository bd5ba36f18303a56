"""Functions and slopes that keep all their digits, where the usual formulas cancel."""
