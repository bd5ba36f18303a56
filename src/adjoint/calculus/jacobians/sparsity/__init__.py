"""Sparse derivatives: patterns, colourings, and Jacobians and Hessians by few products."""

from adjoint.calculus.jacobians.sparsity.dense import dense_results
from adjoint.calculus.jacobians.sparsity.derivatives import (
    check_sparse_mode,
    rows_of_blocks,
    settled,
    sparse_results,
)

__all__ = ["check_sparse_mode", "dense_results", "rows_of_blocks", "settled", "sparse_results"]
