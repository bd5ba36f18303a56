"""Sparse matrices with traced entries: extremes, arrays of one axis, and questions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla

import adjoint as ad
from tests.scipy.comparing import agrees_in_all_modes

# A full row, a full column, an empty row and an empty column; and of both signs.
ROWS = np.array([0, 0, 0, 0, 1, 3, 4, 4])
COLUMNS = np.array([0, 1, 2, 3, 1, 1, 0, 1])
SHAPE = (5, 4)
X = np.array([-1.5, -2.0, -0.5, -3.0, -1.0, -4.0, 2.0, -0.25])
OTHER = sp.csr_array(np.arange(-9.0, 11.0).reshape(SHAPE) * (np.arange(20).reshape(SHAPE) % 3 == 0))
WEIGHTS = np.linspace(1, 2, 20).reshape(SHAPE)
KINDS = [f"{form}_{family}" for form in ("csr", "csc", "coo") for family in ("array", "matrix")]


def matrix(x: Any, kind: str = "csr_array") -> Any:
    return getattr(sp, kind)((x, (ROWS, COLUMNS)), shape=SHAPE)


def dense_of(value: Any) -> Any:
    return value.toarray() if hasattr(value, "toarray") else value


def compared(function: Callable[[Any], Any], kind: str) -> None:
    """The same numbers in the same shape as SciPy, and the derivatives of what is dense."""
    expected = dense_of(function(matrix(X, kind)))

    def sparse(x: Any) -> Any:
        found = dense_of(function(matrix(x, kind)))
        assert np.shape(found) == np.shape(expected)
        return np.sum(found * WEIGHTS.ravel()[: np.size(expected)].reshape(np.shape(expected)))

    value, _ = ad.value_and_grad(sparse)(X)
    assert value == pytest.approx(sparse(X), rel=1e-14)
    agrees_in_all_modes(sparse, X)


EXTREMES: dict[str, Callable[[Any], Any]] = {
    "columns max": lambda A: A.max(axis=0),
    "rows max": lambda A: A.max(axis=1),
    "columns min": lambda A: A.min(axis=-2),
    "rows min": lambda A: A.min(axis=-1),
    "maximum": lambda A: A.maximum(OTHER),
    "minimum": lambda A: A.minimum(OTHER),
    "positive part": lambda A: A.maximum(0),
    "at least": lambda A: A.maximum(-1.75),
    "sums of sizes": lambda A: sla.norm(A, 1, axis=0),
    "largest sizes": lambda A: sla.norm(A, np.inf, axis=1),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", EXTREMES)
def test_extremes(name: str, kind: str) -> None:
    compared(EXTREMES[name], kind)


@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("axis", [(0,), (1,), (-1,), (0, 1), (0, 0), (2,), ()])
@pytest.mark.parametrize("kind", ["csr_array", "csc_matrix", "coo_array"])
def test_axes_in_a_tuple(kind: str, axis: Any, name: str) -> None:
    """Some of SciPy's formats take them; the others' error is SciPy's own."""

    def extreme(A: Any) -> Any:
        return getattr(A, name)(axis=axis)

    refused = ""
    try:
        extreme(matrix(X, kind))
    except (TypeError, ValueError) as error:
        refused = f"{type(error).__name__}: {error}"
    if not refused:
        compared(extreme, kind)
        return
    with pytest.raises((TypeError, ValueError)) as found:
        ad.grad(lambda x: np.sum(dense_of(extreme(matrix(x, kind)))))(X)
    assert f"{type(found.value).__name__}: {found.value}" == refused


VECTORS: dict[str, Callable[[Any], Any]] = {
    "maximum of dense": lambda A: A.maximum(OTHER.toarray()),
    "row": lambda A: A[4],
    "column": lambda A: A[:, 1],
    "part of a row": lambda A: A[0, 1:3],
    "product": lambda A: A[0] @ np.arange(4.0),
    "product of matrices": lambda A: A[0] @ np.arange(8.0).reshape(4, 2),
    "of two": lambda A: A[0] @ A[4],
    "matrix times": lambda A: A @ A[0],
    "sums": lambda A: A[0] + A[4],
    "sum with dense": lambda A: A[0] + np.arange(4.0),
    "difference": lambda A: 2 * A[0] - abs(A[4]) / 3,
    "entrywise": lambda A: A[0] * A[4],
    "entrywise with dense": lambda A: A[0].multiply(np.arange(4.0)),
    "sum": lambda A: A[0].sum(),
    "mean": lambda A: A[0].mean(),
    "max": lambda A: A[4].max(),
    "min": lambda A: A[0].min(),
    "data": lambda A: A[0].data,
    "shape": lambda A: A[0].reshape((2, 2)),
    "rows": lambda A: sum(row.sum() ** 2 for row in A),
    "largest in rows": lambda A: A.max(axis=1).sum(),
}


@pytest.mark.parametrize("name", VECTORS)
def test_arrays_of_one_axis(name: str) -> None:
    compared(VECTORS[name], "csr_array")


def test_what_arrays_of_one_axis_do_not_know() -> None:
    with pytest.raises(ad.errors.UnsupportedFunctionError, match="array of one axis"):
        ad.grad(lambda x: matrix(x)[0].trace() * x[0])(X)
    with pytest.raises(TypeError, match="ambiguous"):
        ad.grad(lambda x: len(matrix(x)[0]) * x[0])(X)

    def facts(x: Any) -> Any:
        row = matrix(x)[4]
        assert (row.shape, row.ndim, row.nnz, row.format, row.T.dtype) == (
            *((4,), 1, 2, "coo"),
            np.dtype(float),
        )
        return row.sum()

    assert ad.grad(facts)(X)[-1] == 1


@pytest.mark.parametrize("kind", KINDS)
def test_questions(kind: str) -> None:
    plain = matrix(X, kind)

    def asked(x: Any) -> Any:
        A = matrix(x, kind)
        for axis in (None, 0, 1):
            np.testing.assert_array_equal(A.argmax(axis=axis), plain.argmax(axis=axis))
            np.testing.assert_array_equal(A.argmin(axis=axis), plain.argmin(axis=axis))
            np.testing.assert_array_equal(A.count_nonzero(axis=axis), plain.count_nonzero(axis))
        return A.toarray().ravel()[A.argmax()]

    assert ad.grad(asked)(X).sum() == 1


def test_places_of_entries_at_one_place() -> None:
    def several(x: Any) -> Any:
        return sp.coo_array((x[:3], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))

    def total(x: Any) -> Any:
        for found, expected in zip(several(x).nonzero(), several(X).nonzero(), strict=True):
            np.testing.assert_array_equal(found, expected)
        return several(x).sum()

    assert ad.grad(total)(X).sum() == 3


def test_operators_times_traced_numbers() -> None:
    K = OTHER.T @ OTHER

    def energy(t: Any) -> Any:
        operator = sla.aslinearoperator(K) * t
        return np.sum((operator @ np.arange(4.0)) ** 2)

    assert ad.grad(energy)(1.5) == pytest.approx(2 * energy(1.5) / 1.5)


def test_places_of_entries_that_are_not_zero() -> None:
    """Which are zero is asked again where numbers change."""
    where = (np.array([0, 0, 1, 2, 2]), np.array([0, 1, 2, 0, 2]))

    def forms(x: Any) -> list[Any]:
        A = sp.coo_array((x, where), shape=(3, 4))
        rows = A.tocsr()
        diagonals = sp.diags_array([x[:4], x[1:4]], offsets=[0, 1])
        return [A, rows, A.tocsc(), rows.T, rows * 2, rows[0:2], -A.tocsc(), diagonals]

    def columns(x: Any) -> Any:
        return x.sum() * sum(np.sum(A.nonzero()[1] * 1.0) for A in forms(x))

    some = np.array([1.0, 0.0, 2.0, -0.0, 3.0])
    for A, plain in zip(forms(some), forms(some + 1), strict=True):
        assert len(A.nonzero()[0]) < len(plain.nonzero()[0])
    slope = ad.jit(ad.grad(columns))
    for x in (some, some + 1, 2 * some, some):
        expected = sum(A.nonzero()[1].sum() for A in forms(x))
        np.testing.assert_array_equal(slope(x), np.full(5, float(expected)))
