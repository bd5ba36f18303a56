"""The process: its interpreter, its garbage collector, its forks and threads, its files."""
