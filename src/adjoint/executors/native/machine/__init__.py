"""The machine, the text of modules, and the LLVM that makes code of them."""
