"""What is around functions of the user's: compilers, caches, and calls by the library."""
