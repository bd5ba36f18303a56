"""Calls that need not run again, since the function only computes, as its bytecode proves."""
