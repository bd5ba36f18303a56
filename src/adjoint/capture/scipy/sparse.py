"""Operators of which one operand is sparse and the other traced."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from adjoint.capture.numpy.linalg import products
from adjoint.capture.numpy.table import any_traced, as_operand
from adjoint.capture.recording.tracing.traced import Traced
from adjoint.capture.scipy import (  # noqa: F401  # which give their methods to the classes
    sparse_comparisons,
    sparse_methods,
    sparse_writes,
)
from adjoint.capture.scipy.sparse_matrix import SparseTraced, as_traced, is_sparse, times

__all__ = ["as_traced", "defers", "is_sparse", "matmul", "sparse_product", "star"]

_MODULE: Final = "scipy.sparse"
# Methods of SciPy's matrices that take a traced operand where the operators do.
_PRODUCTS: Final = frozenset({"dot", "multiply"})


def defers(frame: Any) -> bool:
    """Whether SciPy asks, in a product of a sparse matrix, if the other operand is an array.

    Told that it is none, it leaves the product to that operand, as Python's operators do.
    """
    home = frame.f_globals.get("__name__", "")
    return bool(frame.f_code.co_name == "_matmul_dispatch" and home.startswith(_MODULE))


def matmul(left: Any, right: Any) -> Any:
    """`left @ right`, of which one may be sparse."""
    if is_sparse(left):
        return times(left, right)
    if is_sparse(right):
        return np.transpose(times(as_traced(right).T, np.transpose(as_operand(left))))
    return products.matmul(left, right)


def star(left: Any, right: Any) -> Any:
    """`left * right`, of which one is sparse: a product of matrices for those of class spmatrix."""
    if type(left) is Traced:
        return left * as_traced(right)
    return as_traced(left) * right


def sparse_product(method: types.MethodType) -> Callable[..., Any] | None:
    """A method that multiplies, of a known sparse matrix: that of ours where it is given traced."""
    owner = method.__self__
    if method.__name__ not in _PRODUCTS or not is_sparse(owner) or type(owner) is SparseTraced:
        return None

    def product(other: Any, *args: Any, **kwargs: Any) -> Any:
        if any_traced((other,)) or type(other) is SparseTraced:
            return getattr(as_traced(owner), method.__name__)(other)
        return method(other, *args, **kwargs)

    return product
