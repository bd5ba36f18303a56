"""Sparse matrices with traced entries: comparisons, and parts that are read and written."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse import csgraph

import adjoint as ad
from tests.scipy.comparing import agrees, agrees_in_all_modes

ROWS = np.array([0, 0, 0, 0, 1, 3, 4, 4])
COLUMNS = np.array([0, 1, 2, 3, 1, 1, 0, 1])
SHAPE = (5, 4)
X = np.array([-1.5, -2.0, -0.5, -3.0, -1.0, -4.0, 2.0, -0.25])
OTHER = sp.csr_array(np.arange(-9.0, 11.0).reshape(SHAPE) * (np.arange(20).reshape(SHAPE) % 3 == 0))
WEIGHTS = np.linspace(1, 2, 20).reshape(SHAPE)
FORMS = ["csr_array", "csc_array", "coo_array", "lil_array", "dok_array", "csr_matrix"]

pytestmark = pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")


def matrix(x: Any, kind: str = "csr_array") -> Any:
    whole = sp.coo_array((x, (ROWS, COLUMNS)), shape=SHAPE)
    return getattr(sp, kind)(whole)


def dense_of(value: Any) -> Any:
    return value.toarray() if hasattr(value, "toarray") else np.asarray(value)


# --- comparisons ----------------------------------------------------------------------------------

COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]
OPERANDS: dict[str, Any] = {
    "a number": -1.0,
    "zero": 0,
    "a positive number": np.float64(0.5),
    "NaN": np.nan,
    "a sparse matrix": OTHER,
    "one of another shape": OTHER.T,
    "a dense matrix": OTHER.toarray(),
    "a list": OTHER.toarray().tolist(),
    "None": None,
}


def compared(compare: Callable[[Any, Any], Any], one: Any, other: Any) -> tuple[Any, str]:
    """What SciPy makes of a comparison, or how it refuses."""
    try:
        return compare(one, other), ""
    except (TypeError, ValueError) as error:
        return None, type(error).__name__


@pytest.mark.parametrize("name", OPERANDS)
@pytest.mark.parametrize("compare", COMPARISONS)
@pytest.mark.parametrize("kind", FORMS)
def test_comparisons(kind: str, compare: Any, name: str) -> None:
    other = OPERANDS[name]
    expected, refused = compared(compare, matrix(X, kind), other)

    def asked(x: Any) -> Any:
        found, error = compared(compare, matrix(x, kind), other)
        assert error == refused
        if sp.issparse(expected):
            assert sp.issparse(found)
            facts = [(A.format, A.nnz, A.dtype) for A in (found, expected)]  # type: ignore[attr-defined]
            assert facts[0] == facts[1]
        if not refused:
            np.testing.assert_array_equal(dense_of(found), dense_of(expected))
        return x.sum()

    ad.grad(asked)(X)


def test_comparisons_are_asked_again() -> None:
    def above(x: Any) -> Any:
        A = matrix(x)
        return A.multiply(x[6] / 4 < A).sum() + (A != OTHER).nnz * x[0] + (OTHER < A).nnz * x[1]

    slope = ad.jit(ad.grad(above))
    for x in (X, -X, 2 * X, X, np.arange(8.0)):
        entries, A = x > x[6] / 4, matrix(x)
        expected = entries * 1.0
        expected[:2] += [(A != OTHER).nnz, (OTHER < A).nnz]
        np.testing.assert_array_equal(slope(x), expected)


def test_selecting_by_a_comparison() -> None:
    agrees(lambda x: np.sum(np.asarray(matrix(x)[matrix(x) < -1.2]) ** 2), X)
    agrees(lambda x: ((matrix(x) > -1.2) * matrix(x)).power(2).sum(), X)


def test_comparisons_that_differ_within_a_batch() -> None:
    """Where the result has entries would be another for each example."""
    with pytest.raises(ad.errors.ValueNeededError, match="vmap"):
        ad.vmap(lambda x: (matrix(x) > 0.5).nnz * x[0])(np.stack([X, -X]))


def test_comparisons_of_rows() -> None:
    def asked(x: Any) -> Any:
        row, plain = matrix(x)[0], matrix(X)[0]
        for other in (-1.0, OTHER[0], OTHER[0].toarray()):
            for compare in COMPARISONS:
                found, expected = compare(row, other), compare(plain, other)
                assert found.shape == (4,)
                np.testing.assert_array_equal(dense_of(found), dense_of(expected))
        assert dense_of(row == matrix(x)[0]).all()
        return row.sum()

    np.testing.assert_array_equal(ad.grad(asked)(X), [1, 1, 1, 1, 0, 0, 0, 0])


# --- parts that are read --------------------------------------------------------------------------

PARTS: dict[str, Any] = {
    "a number": (0, 1),
    "one from behind": (-1, 0),
    "where no entry is": (2, 2),
    "a row": 3,
    "rows": slice(0, 4, 2),
    "places": ([0, 3, 4], [2, 1, 1]),
    "a block": (slice(0, 2), slice(1, 4)),
    "an ellipsis": ...,
}
ROW_PARTS: list[Any] = [3, -1, 0, slice(1, 3), [0, 2], np.array([True, False, True, False]), ...]


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("kind", FORMS)
def test_parts(kind: str, name: str) -> None:
    index = PARTS[name]

    def part(x: Any) -> Any:
        found = dense_of(matrix(x, kind)[index])
        assert np.shape(found) == np.shape(dense_of(matrix(X, kind)[index]))
        return np.sum(np.sin(found))

    agrees_in_all_modes(part, X)


@pytest.mark.parametrize("index", ROW_PARTS, ids=str)
def test_parts_of_rows(index: Any) -> None:
    def part(x: Any) -> Any:
        found = dense_of(matrix(x)[0][index])
        assert np.shape(found) == np.shape(dense_of(matrix(X)[0][index]))
        return np.sum(np.sin(found))

    agrees_in_all_modes(part, X)


@pytest.mark.parametrize("kind", ["bsr_array", "dia_array"])
def test_formats_without_parts(kind: str) -> None:
    with pytest.raises((TypeError, NotImplementedError)) as expected:
        matrix(X, kind)[0, 1]
    with pytest.raises(expected.type):
        ad.grad(lambda x: matrix(x, kind)[0, 1])(X)


# --- parts that are written -----------------------------------------------------------------------

WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "a number": lambda A, x: ((0, 1), x[2] * x[3]),
    "a known number": lambda A, x: ((0, 1), 5.0),
    "zero": lambda A, x: ((0, 1), 0.0),
    "where no entry was": lambda A, x: ((2, 3), np.sin(x[0])),
    "a block": lambda A, x: ((slice(0, 2), slice(0, 2)), np.outer(x[:2], x[2:4])),
    "a number in a block": lambda A, x: ((slice(0, 3), slice(0, 2)), x[7]),
    "places": lambda A, x: (([0, 3, 2], [2, 1, 2]), x[:3] ** 2),
    "a sparse block": lambda A, x: ((slice(3, 5), slice(0, 4)), A[0:2] * 2),
    "a known sparse block": lambda A, x: ((slice(0, 2), slice(0, 4)), OTHER[0:2]),
}


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("kind", FORMS)
def test_writes(kind: str, name: str) -> None:
    def written(x: Any) -> Any:
        A = matrix(x, kind)
        index, value = WRITES[name](A, x)
        A[index] = value
        return A

    found = ad.jvp(lambda x: written(x).toarray(), (X,), (X,))[0]
    np.testing.assert_array_equal(found, written(X).toarray())
    agrees_in_all_modes(lambda x: np.sum(np.sin(written(x).toarray()) * WEIGHTS), X)


def test_writes_to_rows() -> None:
    def written(x: Any) -> Any:
        row = matrix(x)[4]
        row[2], row[0] = x[0] ** 2, 3.0
        return row

    np.testing.assert_array_equal(
        ad.jvp(lambda x: written(x).toarray(), (X,), (X,))[0], written(X).toarray()
    )
    agrees_in_all_modes(lambda x: np.sum(np.sin(written(x).toarray())), X)


SHARED: dict[str, Callable[[Any], Any]] = {
    "itself": lambda A: A,
    "the same format": lambda A: A.tocsr(),
    "the transpose": lambda A: A.T,
    "another of its class": sp.csr_array,
    "a copy of its class": lambda A: sp.csr_array(A, copy=True),
    "all of it": lambda A: A[:],
    "a copy": lambda A: A.copy(),
    "another format": lambda A: A.tocoo(),
    "columns": lambda A: A.tocsc(),
    "a part": lambda A: A[0:3],
    "a multiple": lambda A: 1.0 * A,
    "in the same dtype": lambda A: A.astype(float),
}


@pytest.mark.parametrize("name", SHARED)
def test_who_sees_a_write(name: str) -> None:
    """What shares its entries in SciPy shares them here, and nothing else does."""

    def beside(x: Any) -> Any:
        A = matrix(x * 1.0)
        other = SHARED[name](A)
        A[0, 1] = x[3] * 7
        return np.sum(np.sin(other.toarray())) + np.sum(np.cos(A.toarray()))

    assert ad.value_and_grad(beside)(X)[0] == pytest.approx(beside(X), rel=1e-14)
    agrees_in_all_modes(beside, X)


@pytest.mark.parametrize("kind", ["bsr_array", "dia_array"])
def test_formats_that_take_no_writes(kind: str) -> None:
    def write(A: Any) -> None:
        A[0, 1] = 2.0

    with pytest.raises((TypeError, NotImplementedError)) as expected:
        write(matrix(X, kind))
    with pytest.raises(expected.type):
        ad.grad(lambda x: write(matrix(x, kind)))(X)


def test_writes_that_lose_imaginary_parts_warn() -> None:
    def written(x: Any) -> Any:
        A = matrix(x)
        A[[0, 1], [1, 1]] = x[:2] * 1j
        return A.sum()

    with pytest.warns(np.exceptions.ComplexWarning):
        ad.grad(written)(X)


@pytest.mark.parametrize("kind", ["lil_array", "dok_array", "csr_array"])
def test_known_matrices_take_no_traced_numbers(kind: str) -> None:
    def written(x: Any) -> Any:
        A = getattr(sp, kind)((3, 3))
        A[0, 1] = x[0]
        return A.sum()

    with pytest.raises(ad.errors.DroppedDerivativeError, match="coo_array"):
        ad.grad(written)(X)


ROW_METHODS: dict[str, Callable[[Any], Any]] = {
    "nonzero": lambda row: row.nonzero()[0] * row.sum(),
    "argmax": lambda row: row.argmax() * row.sum(),
    "argmin": lambda row: row.argmin() * row.sum(),
    "count_nonzero": lambda row: row.count_nonzero() * row.sum(),
    "coords": lambda row: row.coords[0] * row.sum(),
    "sqrt": lambda row: abs(row).sqrt(),
    "sin": lambda row: row.sin(),
    "real": lambda row: (row * (2 + 1j)).real,
    "imag": lambda row: (row * (2 + 1j)).conj().imag,
    "round": lambda row: round(row * 1.234, 1) + row,
}


@pytest.mark.parametrize("name", ROW_METHODS)
def test_methods_of_rows(name: str) -> None:
    def found(x: Any) -> Any:
        return dense_of(ROW_METHODS[name](matrix(x)[4]))

    agrees(found, X)


@pytest.mark.parametrize("shape", [(4, 3), (7, 4), (3, 9)])
@pytest.mark.parametrize("kind", FORMS)
def test_resizing(kind: str, shape: tuple[int, int]) -> None:
    def resized(x: Any) -> Any:
        A = matrix(x, kind)
        A.resize(shape)
        assert A.shape == shape
        return A.toarray()

    agrees(resized, X)


def test_rounding() -> None:
    agrees(lambda x: (round(matrix(x) * 1.234, 1) + matrix(x)).toarray(), X)
    agrees(lambda x: round(matrix(x) * 1.234).toarray(), X)


# --- extremes without NaN -------------------------------------------------------------------------

EXTREMES: dict[str, Callable[[Any], Any]] = {
    "nanmax": lambda A: A.nanmax(),
    "nanmin": lambda A: A.nanmin(),
    "nanmax in columns": lambda A: A.nanmax(axis=0),
    "nanmin in rows": lambda A: A.nanmin(axis=1),
    "of a row": lambda A: A[0].nanmin(),
    "of entries": lambda A: A.nanmax(explicit=True),
    "of a row's entries": lambda A: A[0].max(explicit=True),
    "of columns' entries": lambda A: A.max(axis=0, explicit=True),
    "of rows' entries": lambda A: A.nanmin(axis=1, explicit=True),
}


@pytest.mark.parametrize("has_nan", [False, True])
@pytest.mark.parametrize("name", EXTREMES)
@pytest.mark.parametrize("kind", ["csr_array", "csc_array", "coo_array", "csr_matrix"])
def test_extremes_without_nan(kind: str, name: str, has_nan: bool) -> None:
    x = X.copy()
    x[[1, 5]] = np.nan if has_nan else x[[1, 5]]

    def extreme(x: Any) -> Any:
        return dense_of(EXTREMES[name](matrix(x, kind)))

    found, slope = ad.jvp(extreme, (x,), (np.arange(8.0),))
    np.testing.assert_array_equal(found, extreme(x))
    assert np.shape(found) == np.shape(extreme(x))
    if has_nan:  # an entry's place may be taken by another one, and never by one that is no number
        assert np.isfinite(np.asarray(slope)[np.isfinite(found)]).all()
    else:
        agrees_in_all_modes(lambda x: np.sum(np.sin(extreme(x))), x)


def test_all_nan_is_not_warned_of() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(ad.jvp(lambda x: matrix(x).nanmax(explicit=True), (X * np.nan,), (X,))[0])


# --- graphs ---------------------------------------------------------------------------------------


def test_questions_about_graphs() -> None:
    def permuted(x: Any) -> Any:
        A = matrix(x)[:4]
        count, labels = csgraph.connected_components(A, directed=False)
        order = csgraph.reverse_cuthill_mckee(A)
        assert csgraph.structural_rank(A) == csgraph.structural_rank(matrix(X)[:4])
        return count * np.sum(np.sin((A[order] @ (labels + 1.0)) * np.arange(4)))

    agrees(permuted, X)


@pytest.mark.parametrize("name", ["shortest_path", "minimum_spanning_tree"])
def test_choices_of_edges_are_refused(name: str) -> None:
    with pytest.raises(ad.errors.UnsupportedFunctionError, match=r"stop_gradient\(A\.data\)"):
        ad.grad(lambda x: getattr(csgraph, name)(matrix(abs(x))[:4]).sum())(X)


def test_a_length_by_edges_that_are_chosen() -> None:
    def length(x: Any) -> Any:
        A = matrix(abs(x))[:4]
        known = A.copy()
        known.data = ad.stop_gradient(A.data)
        tree = csgraph.minimum_spanning_tree(known)
        return A[tree.nonzero()].sum()

    slope = ad.grad(length)(X)
    assert set(np.abs(slope)) == {0.0, 1.0}
