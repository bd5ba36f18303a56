"""Floor 4, recording: the trace, traced values, what is asked of them, and views."""
