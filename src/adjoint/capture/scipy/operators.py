"""`scipy.sparse.linalg.LinearOperator` in captured code: functions that may hold traced values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.capture.numpy.table import as_operand
from adjoint.capture.recording.tracing.hooks import hooks
from adjoint.capture.scipy.refusing import refuse_sparse
from adjoint.capture.scipy.sparse_matrix import SparseTraced, as_traced, is_sparse

Apply = Callable[[Any], Any]


class TracedOperator:
    """What stands for SciPy's: a product with vectors, and one with the adjoint if there is one."""

    __array_ufunc__ = None
    ndim = 2

    def __init__(self, shape: Any, apply: Apply, adjoint: Apply | None, dtype: Any = None) -> None:
        height, width = shape
        self.shape = (int(height), int(width))
        self.dtype = dtype
        self._apply, self._adjoint = apply, adjoint

    def matvec(self, x: Any) -> Any:
        """A x for a vector."""
        return np.reshape(self._apply(as_operand(x)), (self.shape[0], *np.shape(x)[1:]))

    def rmatvec(self, x: Any) -> Any:
        """A^H x for a vector."""
        if self._adjoint is None:
            raise NotImplementedError("rmatvec is not defined")
        return np.reshape(self._adjoint(as_operand(x)), (self.shape[1], *np.shape(x)[1:]))

    def matmat(self, X: Any) -> Any:
        """A X, column by column."""
        X = as_operand(X)
        return np.stack([self.matvec(X[:, n]) for n in range(X.shape[1])], axis=1)

    @property
    def H(self) -> TracedOperator:
        """The adjoint."""
        return TracedOperator(self.shape[::-1], self.rmatvec, self.matvec, self.dtype)

    def adjoint(self) -> TracedOperator:
        """The adjoint."""
        return self.H

    @property
    def T(self) -> TracedOperator:
        """The transpose."""

        def turned(apply: Apply) -> Apply:
            return lambda x: np.conjugate(apply(np.conjugate(x)))

        return TracedOperator(
            self.shape[::-1], turned(self.rmatvec), turned(self.matvec), self.dtype
        )

    def transpose(self) -> TracedOperator:
        """The transpose."""
        return self.T

    def dot(self, x: Any) -> Any:
        """The product with a vector, a matrix, a number or another operator."""
        return self @ x if np.ndim(x) else self * x

    def __call__(self, x: Any) -> Any:
        """The product with a vector or a matrix."""
        return self @ x

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, TracedOperator) or is_sparse(other):
            inner = as_operator(other)
            return TracedOperator(
                (self.shape[0], inner.shape[1]),
                lambda x: self.matvec(inner.matvec(x)),
                lambda x: inner.rmatvec(self.rmatvec(x)),
            )
        return self.matvec(other) if np.ndim(other) == 1 else self.matmat(other)

    def __add__(self, other: Any) -> TracedOperator:
        summand = as_operator(other)
        return TracedOperator(
            self.shape,
            lambda x: self.matvec(x) + summand.matvec(x),
            lambda x: self.rmatvec(x) + summand.rmatvec(x),
        )

    __radd__ = __add__

    def __mul__(self, factor: Any) -> Any:
        if np.ndim(factor) or is_sparse(factor) or isinstance(factor, TracedOperator):
            return self @ factor
        return TracedOperator(
            self.shape,
            lambda x: factor * self.matvec(x),
            lambda x: np.conjugate(factor) * self.rmatvec(x),
        )

    __rmul__ = __mul__

    def __neg__(self) -> TracedOperator:
        return TracedOperator(
            self.shape, lambda x: -self.matvec(x), lambda x: -self.rmatvec(x), self.dtype
        )

    def __sub__(self, other: Any) -> Any:
        return self + (-other)


def as_operator(value: Any) -> TracedOperator:
    """A matrix, an operator of SciPy's or of a class of the user's, as one of ours."""
    if isinstance(value, TracedOperator):
        return value
    if is_sparse(value):
        matrix: SparseTraced = as_traced(value)
        return TracedOperator(
            matrix.shape, lambda x: matrix @ x, lambda x: matrix.T.conj() @ x, matrix.dtype
        )
    if hasattr(value, "matvec") and hasattr(value, "shape"):
        apply, adjoint = (_action(value, name) for name in ("matvec", "rmatvec"))
        if apply is not None:
            return TracedOperator(value.shape, apply, adjoint, getattr(value, "dtype", None))
    value = as_operand(value)
    if np.ndim(value) != 2:
        raise refuse_sparse(
            "A linear operator is a matrix, or has a shape and a matvec. Got a "
            f"{type(value).__name__}."
        )
    return TracedOperator(
        value.shape, lambda x: value @ x, lambda x: np.conjugate(value.T) @ x, value.dtype
    )


def _made_of_others(operator: Any, name: str) -> Apply | None:
    """The product of a class of the user's that defines those with matrices, or the adjoint."""
    other = "_matmat" if name == "matvec" else "_adjoint"
    own = getattr(operator, other, None)
    if own is None or own.__module__.startswith("scipy."):
        return None
    if name == "matvec":
        return lambda x: np.reshape(own(np.reshape(x, (-1, 1))), (-1,))
    return lambda x: as_operator(hooks.called(own)()).matvec(x)


def _action(operator: Any, name: str) -> Apply | None:
    """The function that an operator was given, or that its class defines, for our own arrays.

    What SciPy puts around it would make arrays of NumPy's.
    """
    matrix = getattr(operator, "A", None)
    if matrix is not None and type(operator).__module__.startswith("scipy."):
        known = as_operator(matrix)
        return known.matvec if name == "matvec" else known.rmatvec
    given = vars(operator).get(f"_CustomLinearOperator__{name}_impl")
    own = getattr(operator, f"_{name}", None)
    if given is None and own is not None and not own.__module__.startswith("scipy."):
        given = own
    if given is None:
        given = _made_of_others(operator, name)
    if given is None and not type(operator).__module__.startswith("scipy."):
        given = getattr(operator, name, None)
        if getattr(given, "__module__", "").startswith("scipy."):
            return None  # which ends in what the class does not define
    if given is None:
        return None
    return lambda x: hooks.called(given)(x)
