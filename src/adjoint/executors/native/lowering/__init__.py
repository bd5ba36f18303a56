"""From a program to machine code: a text for LLVM, and what is kept of it on disk."""
