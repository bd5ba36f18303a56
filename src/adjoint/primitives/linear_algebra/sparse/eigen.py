"""Some eigenvalues and eigenvectors of a sparse symmetric matrix, differentiated by the equation.

From A v = l v and v^T v = 1 follow dl = v^T dA v, and dv as the solution of the system

    [A - l   v] [dv]   [dl v - dA v]
    [v^T     0] [ s] = [     0     ],

which is regular as long as l is a simple eigenvalue: one sparse factorisation for each vector that
is used. Nothing is known, or asked, of the eigenvalues that are not computed.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

import numpy as np

from adjoint.base.arrays import ArrayType, array_type
from adjoint.base.errors import DegenerateError, NotConvergedError
from adjoint.primitives.declaration import NO_DERIVATIVE, EmptySlot, Primitive
from adjoint.primitives.elementwise.conversion import cast
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.linear_algebra.sparse.products import sparse_product
from adjoint.primitives.linear_algebra.sparse.systems import SPARSE_SOLVE
from adjoint.primitives.structure.gathering import IOTA
from adjoint.primitives.structure.moving import broadcast_to, reshape, sum_axes, with_batch, zeros
from adjoint.primitives.structure.slicing import concatenate, stack, take

_TRIED: Final = EmptySlot(
    "its matrix is symmetric, as the checker's directions are not; "
    "tests/scipy/test_sparse_eigenvalues.py tries it"
)
# Values that are closer than this, of the largest one, are one value: rounding decides which
# vectors belong to them.
_CLOSE: Final = 1e-9


# --- the values and vectors -----------------------------------------------------------------------


def _type(
    entries: ArrayType, rows: ArrayType, columns: ArrayType, unknowns: int, count: int, **how: Any
) -> tuple[ArrayType, ...]:
    dtype = np.result_type(entries.dtype, np.float32)
    return array_type((count,), dtype), array_type((unknowns, count), dtype)


def _lanczos(matrix: Any, count: int, seed: int, **how: Any) -> tuple[Any, Any]:
    """Eigenvalues and vectors by ARPACK, from a start that is the same at every run."""
    solvers = import_module("scipy.sparse.linalg")
    size = matrix.shape[0]
    start = np.random.default_rng(seed).standard_normal(size)
    try:
        return solvers.eigsh(matrix, count, v0=start, **how)  # type: ignore[no-any-return]
    except solvers.ArpackNoConvergence as error:
        raise NotConvergedError(
            f"{len(error.eigenvalues)} of {count} eigenvalues of a sparse matrix with {size} rows "
            f"were found by scipy.sparse.linalg.eigsh: {error}. Allow more with maxiter, ask for "
            "those near a value with sigma, or for more of them."
        ) from None


def _matrix(entries: Any, rows: Any, columns: Any, unknowns: int) -> Any:
    sparse = import_module("scipy.sparse")
    return sparse.csc_array((np.asarray(entries, float), (rows, columns)), (unknowns, unknowns))


def _evaluate(
    entries: Any, rows: Any, columns: Any, unknowns: int, count: int, **how: Any
) -> tuple[Any, Any]:
    dtype = np.result_type(entries, np.float32)
    values, vectors = _lanczos(_matrix(entries, rows, columns, unknowns), count, 0, **how)
    return np.asarray(values, dtype), np.asarray(vectors, dtype)


def _derivative(
    tangents: Any, operands: Any, results: Any, unknowns: int, which: str, sigma: Any, **how: Any
) -> Any:
    (entries, rows, columns), (values, vectors) = operands, results
    image = sparse_product(cast(tangents[0], vectors.dtype), rows, columns, vectors, unknowns)
    simple = bind(SIMPLE_VALUES, *operands, values, vectors, which=which, sigma=sigma)
    d_values = sum_axes(vectors * image, (0,)) * simple
    right = vectors * d_values - image
    columns_of_dv = [
        _bordered(
            cast(entries, vectors.dtype),
            rows,
            columns,
            _part(values, number, 1),
            _column(vectors, number),
            _column(right, number),
        )
        for number in range(right.shape[1])
    ]
    return d_values, stack(columns_of_dv, axis=1)


def _part(x: Expression, first: int, count: int) -> Expression:
    """Entries along the first axis, as many as are counted."""
    return take(x, ((first, first + count, 1), *((0, size, 1) for size in x.shape[1:])))


def _column(x: Expression, number: int) -> Expression:
    """A column of a matrix."""
    height, _ = x.shape
    return take(x, ((0, height, 1), number))


def _example(x: Expression, number: int) -> Expression:
    """One of a batch."""
    return take(x, (number, *((0, size, 1) for size in x.shape[1:])))


def _bordered(
    entries: Expression,
    rows: Expression,
    columns: Expression,
    value: Expression,
    vector: Expression,
    right: Expression,
) -> Expression:
    """dv of the system in this module's text."""
    (size,) = vector.shape
    every = bind(IOTA, builder=entries.builder, length=size)
    last = every * 0 + size
    places = [
        concatenate([given, every, *border], axis=0)
        for given, border in ((rows, (every, last)), (columns, (last, every)))
    ]
    shifted = concatenate([entries, -broadcast_to(value, (size,)), vector, vector], axis=0)
    zero = zeros(entries.builder, array_type((1, 1), right.dtype))
    side = concatenate([reshape(right, (size, 1)), zero], axis=0)
    solution = bind(SPARSE_SOLVE, shifted, *places, side, adjoint=False, elimination=None)
    return reshape(_part(solution, 0, size), (size,))


def _batch(operands: Any, batched: Any, size: int, **how: Any) -> Any:
    whole = [with_batch(x, mark, size) for x, mark in zip(operands, batched, strict=True)]
    parts = [bind(SPARSE_EIGH, *(_example(x, n) for x in whole), **how) for n in range(size)]
    return tuple(stack(list(results), axis=0) for results in zip(*parts, strict=True))


# The eigenvalues of a symmetric matrix that are asked for, and their vectors. which, sigma, tol,
# maxiter: as SciPy's eigsh has them.
SPARSE_EIGH: Primitive = Primitive(
    "sparse_eigh",
    infer=_type,
    evaluate=_evaluate,
    linear=None,
    derivative=_derivative,
    batch=_batch,
    samples=_TRIED,
    multiple=True,
)


# --- simple eigenvalues ---------------------------------------------------------------------------
# Lanczos' method sees one vector of those that belong to an eigenvalue. So the one that comes next
# is looked for among vectors that are orthogonal to those found: of a second vector it is the same.


def _next_values(matrix: Any, vectors: Any, which: str, sigma: float | None) -> list[float]:
    """The eigenvalues that come next, in the order in which they were asked for.

    Where both ends were asked for, one at each.
    """
    ends = ("LA", "SA") if which == "BE" else (which,)
    return [_next_value(matrix, vectors, end, sigma) for end in ends]


def _next_value(matrix: Any, vectors: Any, which: str, sigma: float | None) -> float:
    """The eigenvalue that comes next at one end."""
    solvers = import_module("scipy.sparse.linalg")
    size = matrix.shape[0]
    bound = float(abs(matrix).sum(axis=0).max())
    apply, value = _ordered(matrix, which, sigma, bound)

    def deflated(x: Any) -> Any:
        inside = x - vectors @ (vectors.T @ x)
        image = apply(inside)
        return image - vectors @ (vectors.T @ image)

    operator = solvers.LinearOperator((size, size), matvec=deflated, dtype=float)
    largest, _ = _lanczos(operator, 1, 1, which="LA" if sigma is None else which)
    with np.errstate(divide="ignore"):
        return float(value(largest[0]))


def _ordered(matrix: Any, which: str, sigma: float | None, bound: float) -> tuple[Any, Any]:
    """An operator with the same vectors, of which the first ones are the largest; and its inverse.

    That of the eigenvalues: from one of the operator's to one of the matrix.
    """
    if sigma is not None:
        shifted = matrix - sigma * import_module("scipy.sparse").eye_array(matrix.shape[0])
        lu = import_module("scipy.sparse.linalg").splu(shifted.tocsc())
        return lu.solve, lambda value: sigma + 1 / value
    if which == "LA":
        return (lambda x: matrix @ x + bound * x), lambda value: value - bound
    if which == "SA":
        return (lambda x: bound * x - matrix @ x), lambda value: bound - value
    if which == "LM":
        return (lambda x: matrix @ (matrix @ x)), lambda value: np.sqrt(max(value, 0.0))
    return (lambda x: bound**2 * x - matrix @ (matrix @ x)), lambda value: np.sqrt(
        max(bound**2 - value, 0.0)
    )


def rounding_of(norm: float) -> float:
    """How far rounding may move an eigenvalue, or a singular value, of a matrix of this norm."""
    return 32 * float(np.finfo(float).eps) * norm


def _simple_evaluate(
    entries: Any,
    rows: Any,
    columns: Any,
    values: Any,
    vectors: Any,
    which: str,
    sigma: float | None,
) -> Any:
    sizes = np.abs(values) if sigma is None and which in ("LM", "SM") else np.asarray(values)
    others = np.empty(0)
    if len(values) < len(vectors):
        matrix = _matrix(entries, rows, columns, len(vectors))
        if sigma is not None and which == "SM":  # those that are farthest from sigma
            matrix = matrix - sigma * import_module("scipy.sparse").eye_array(len(vectors))
            sizes, which, sigma = np.abs(values - sigma), "LM", None
        others = np.array(_next_values(matrix, np.asarray(vectors, float), which, sigma))
    if sigma is not None and which == "LM":  # those that are nearest to sigma, on either side
        sizes, others = np.abs(values - sigma), np.abs(others - sigma)
    largest = np.max(np.abs(values), initial=0.0)
    gaps = [np.diff(np.sort(values)), *(np.abs(sizes - other) for other in others)]
    least = np.min(np.concatenate(gaps), initial=np.inf)
    sums = np.bincount(rows, np.abs(entries), len(vectors))
    if least <= max(_CLOSE * largest, rounding_of(float(np.max(sums, initial=0.0)))):
        distances = np.min(np.abs(sizes[:, None] - others), axis=1, initial=np.inf)
        near = values[np.argmin(distances)]
        raise DegenerateError(
            "A derivative of eigenvalues of a sparse matrix was asked for where two of them "
            "coincide, have the same size, or are equally far from sigma: near "
            f"{near:.6g} two are within {least:.1e}. There "
            "single eigenvalues and their vectors have none. Make the matrix dense with toarray(): "
            "what is the same for all choices of vectors has a derivative in np.linalg.eigh."
        )
    return np.ones_like(values)


def _simple_batch(operands: Any, batched: Any, size: int, **how: Any) -> Any:
    whole = [with_batch(x, mark, size) for x, mark in zip(operands, batched, strict=True)]
    parts = [bind(SIMPLE_VALUES, *(_example(x, n) for x in whole), **how) for n in range(size)]
    return stack(parts, axis=0)


# Ones, as many as eigenvalues: an error where two of these, or one and the next, coincide.
SIMPLE_VALUES: Primitive = Primitive(
    "simple_values",
    infer=lambda entries, rows, columns, values, vectors, **how: values,
    evaluate=_simple_evaluate,
    linear=None,
    derivative=NO_DERIVATIVE,
    transpose=NO_DERIVATIVE,
    batch=_simple_batch,
    samples=_TRIED,
)
