"""The machine, and the LLVM that makes code for it."""
