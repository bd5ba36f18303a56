"""The suites of capture and machine code on Pythons and processors that this machine has not."""
