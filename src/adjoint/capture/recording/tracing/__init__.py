"""Records: the trace, traced arrays, what is applied to them, and the program in the end."""
