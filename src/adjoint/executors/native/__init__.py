"""The native executor: programs become machine code through LLVM."""
