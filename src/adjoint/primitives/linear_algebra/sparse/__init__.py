"""Sparse matrices: products, systems, determinants, and eigenvalues, none of which makes one dense.

A matrix is given by its entries, their rows and their columns, which are data like any other, so
that programs do not depend on the pattern. Entries at the same place add up. A derivative with
respect to the entries is one number for each of them.
"""
