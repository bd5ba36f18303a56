"""The function of Python around a kernel."""
