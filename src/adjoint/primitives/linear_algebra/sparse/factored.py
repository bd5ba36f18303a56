"""Systems whose matrix is known by SuperLU's factors alone, which somebody has made before."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, array_type
from adjoint.base.errors import ShapeError
from adjoint.primitives.declaration import ITSELF, EmptySlot, Joint, Primitive
from adjoint.primitives.elementwise.conversion import cast
from adjoint.primitives.expression import bind
from adjoint.primitives.structure.moving import permute, reshape


class KnownFactors:
    """What `splu` or `spilu` made, as programs hold it.

    Two are the same where they do the same to a vector, to the bit: a function that factorises one
    matrix anew at every call has one program.
    """

    def __init__(self, lu: Any) -> None:
        self.lu = lu

    @cached_property
    def _action(self) -> tuple[Any, ...]:
        vector = np.random.default_rng(0).standard_normal(self.lu.shape[0])
        return (*self.lu.shape, self.lu.nnz, self.lu.solve(vector).tobytes())

    def __eq__(self, other: object) -> bool:
        return type(other) is KnownFactors and (
            self.lu is other.lu or self._action == other._action
        )

    def __hash__(self) -> int:
        return hash(self._action)

    def __str__(self) -> str:
        return f"unknowns: {self.lu.shape[0]}"


def _type(b: ArrayType, factors: KnownFactors, adjoint: bool) -> ArrayType:
    if b.ndim != 2 or b.shape[0] != factors.lu.shape[0]:
        raise ShapeError(
            f"The factors of a sparse matrix of shape {factors.lu.shape} were given right-hand "
            f"sides of shape {b.shape}."
        )
    return array_type(b.shape, np.result_type(b.dtype, np.float64))


def _evaluate(b: Any, factors: KnownFactors, adjoint: bool) -> Any:
    trans = "H" if adjoint else "N"
    if not b.size:
        return np.zeros(b.shape, np.result_type(b, float))
    if b.dtype.kind != "c":
        return factors.lu.solve(np.asarray(b, float), trans)
    wide = np.hstack([b.real, b.imag]).astype(float)
    real, imaginary = np.split(factors.lu.solve(wide, trans), 2, axis=1)
    return real + 1j * imaginary


def _transpose(cotangents: Any, operands: Any, factors: KnownFactors, adjoint: bool) -> Any:
    back = bind(FACTORED, cotangents[0], factors=factors, adjoint=not adjoint)
    return (cast(back, operands[0].dtype),)


def _batch(operands: Any, batched: Any, size: int, **how: Any) -> Any:
    _, length, width = operands[0].shape
    flat = reshape(permute(operands[0], (1, 0, 2)), (length, size * width))
    return permute(reshape(bind(FACTORED, flat, **how), (length, size, width)), (1, 0, 2))


# The solution of A x = b, or of A^H x = b, for a real matrix.
FACTORED = Primitive(
    "sparse_factored_solve",
    infer=_type,
    evaluate=_evaluate,
    linear=Joint(frozenset({0})),
    derivative=ITSELF,
    transpose=_transpose,
    batch=_batch,
    samples=EmptySlot(
        "it holds factors, made by SciPy; tests/scipy/test_sparse_systems.py tries it"
    ),
)
