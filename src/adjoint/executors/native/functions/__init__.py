"""Elementary functions of numbers and of vectors: written out, or called."""
