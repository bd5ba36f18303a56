"""Matrices with traced entries: whatever SciPy makes of one, its format, order and derivative."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse import linalg as sparse_solvers

import adjoint as ad
from tests.scipy.comparing import agrees, agrees_in_all_modes

ROWS, COLUMNS = np.array([0, 2, 1, 0, 3, 2, 3]), np.array([1, 0, 1, 3, 3, 2, 0])
D = np.random.default_rng(0).uniform(1.0, 2.0, 7)
K = sp.csr_array(sp.random_array((4, 4), density=0.4, rng=1))
M = sp.csr_matrix(K)
X = np.arange(4.0) + 0.5


def csr(data: Any) -> Any:
    return sp.coo_array((data, (ROWS, COLUMNS)), shape=(4, 4)).tocsr()


def old(data: Any) -> Any:
    return sp.csr_matrix((data, (ROWS, COLUMNS)), shape=(4, 4))


MADE: dict[str, Callable[[Any], Any]] = {
    "entries at one place": lambda d: sp.coo_array((d, (ROWS // 2, COLUMNS // 2))).tocsr(),
    "csr by coordinates": lambda d: sp.csr_array((d, (ROWS // 2, COLUMNS // 2))),
    "csc": lambda d: sp.csc_array((d, np.array([2, 0, 1, 0, 3, 1, 0]), np.array([0, 3, 5, 7]))),
    "not in order": lambda d: sp.csr_array(
        (d, np.array([2, 0, 1, 0, 3, 1, 0]), np.array([0, 3, 5, 7]))
    ).tocsc(),
    "dia": lambda d: sp.dia_array((np.stack([d[:4], d[3:]]), np.array([0, -1])), (4, 4)).tocsr(),
    "bsr": lambda d: sp.bsr_array((np.reshape(d[:4], (1, 2, 2)), [1], [0, 1, 1])).tocsr(),
    "dense": lambda d: sp.csr_array(np.reshape(d[:6], (2, 3))),
    "from ours": lambda d: sp.csc_matrix(csr(d)),
    "spdiags": lambda d: sp.spdiags(np.stack([d[:4], d[3:]]), [0, 1], 4, 4).tocsc(),
    "diags": lambda d: sp.diags([d[:4], d[4:], 2.0], [0, -1, 2], shape=(4, 4)).tocsr(),
    "transposed": lambda d: csr(d).T,
    "sum": lambda d: csr(d) + K,
    "difference": lambda d: K - csr(d) - sp.eye_array(4),
    "multiple": lambda d: d[0] * csr(d) / d[1] - (-csr(d)),
    "known times a number": lambda d: K * d[0] + K / d[1],
    "product": lambda d: csr(d) @ csr(d).T,
    "known product": lambda d: K @ csr(d) @ K.T,
    "old product": lambda d: old(d) * M,
    "old power": lambda d: old(d) ** 3,
    "power": lambda d: csr(d) ** 3,
    "entrywise": lambda d: csr(d).multiply(K) + csr(d) * csr(d).T,
    "known entrywise": lambda d: K.multiply(d[:4]) + K.multiply(csr(d)),
    "rows scaled": lambda d: csr(d).multiply(d[:4, None]),
    "columns scaled": lambda d: csr(d) * d[:4],
    "functions": lambda d: csr(d).sqrt() + csr(d).expm1() + abs(-csr(d)),
    "part": lambda d: csr(d)[1:, [3, 0]],
    "mask": lambda d: csr(d)[:, X > 1],
    "tril": lambda d: sp.tril(csr(d)) + sp.triu(csr(d), 1, format="csr"),
    "blocks": lambda d: sp.block_array([[csr(d), K], [None, d[0] * K]], format="csr"),
    "bmat": lambda d: sp.bmat([[None, old(d)], [M.T, None]]).tocsr(),
    "stacks": lambda d: sp.vstack([sp.hstack([csr(d), K]), sp.hstack([K, csr(d)])]).tocsc(),
    "block_diag": lambda d: sp.block_diag([csr(d), d[0], K], format="csr"),
    "kron": lambda d: sp.kron(csr(d), K, format="csr") + sp.kron(K, csr(d)).tocsr(),
    "kron of dense": lambda d: sp.kron(np.ones((2, 2)), csr(d)).tocsr(),
    "kronsum": lambda d: sp.kronsum(csr(d), K),
    "matrix_power": lambda d: sparse_solvers.matrix_power(csr(d), 3),
    "setdiag": lambda d: with_diagonal(csr(d), d[:4]),
    "start of a diagonal set": lambda d: with_diagonal(csr(d), d[:2]),
    "start of a lower one set": lambda d: with_diagonal(csr(d), d[:1], -2),
    "data set": lambda d: with_data(csr(d), d**2),
    "format by its name": lambda d: csr(d).asformat(format="csc"),
    "kron with nothing": lambda d: sp.kron(csr(d), sp.csr_array((2, 2))),
    "copies": lambda d: with_data(csr(d).tocsr(copy=True), d**2) + copied_and_left(csr(d)),
}
NUMBERS: dict[str, Callable[[Any], Any]] = {
    "vector": lambda d: csr(d) @ X,
    "left": lambda d: X @ csr(d),
    "dense": lambda d: csr(d).toarray(),
    "plus dense": lambda d: csr(d) + np.ones((4, 4)),
    "dense plus known": lambda d: np.outer(d[:4], d[:4]) + K,
    "dense in place": lambda d: added_in_place(np.outer(d[:4], d[:4])),
    "diagonal": lambda d: csr(d).diagonal(-1),
    "entry": lambda d: csr(d)[0, 3] + csr(d)[1, 0],
    "sums": lambda d: csr(d).sum(axis=0) + csr(d).sum(axis=1) * csr(d).sum(),
    "sums over axes": lambda d: csr(d).sum(axis=(0, 1)) + csr(d).sum(axis=(0,)) + csr(d).mean(-2),
    "sum of all of the old": lambda d: old(d).sum(axis=1) * old(d).mean(),
    "mean and trace": lambda d: csr(d).mean() * csr(d).trace() + csr(d).mean(axis=1)[0],
    "data": lambda d: (csr(d) + K).data,
    "known with data": lambda d: sp.csr_array((d[0] * K.data, K.indices, K.indptr)) @ X,
    "find": lambda d: sp.find(csr(d))[2],
    "norms": lambda d: sum(sparse_solvers.norm(csr(d), ord) for ord in ("fro", 1, np.inf)),
}


def with_diagonal(matrix: Any, values: Any, k: int = 0) -> Any:
    matrix.setdiag(values, k)
    return matrix


def copied_and_left(matrix: Any) -> Any:
    with_data(matrix.tocsr(copy=True), matrix.data * 2)
    with_data(matrix.asformat("csr", copy=True), matrix.data * 2)
    return matrix


def added_in_place(dense: Any) -> Any:
    dense += K
    dense -= csr(dense[0, 0] * D)
    return dense


def with_data(matrix: Any, values: Any) -> Any:
    matrix.data = values
    return matrix


@pytest.mark.filterwarnings("ignore:Changing the sparsity structure")
@pytest.mark.parametrize("name", MADE)
def test_matrices(name: str) -> None:
    function = MADE[name]
    expected = function(D)
    seen = []

    def looked_at(d: Any) -> Any:
        made = function(d)
        seen.append((made.format, made.shape, made.nnz, isinstance(made, type(expected))))
        return made.toarray()

    ad.grad(lambda d: np.sum(looked_at(d)))(D)
    assert seen[0][:2] == (expected.format, expected.shape)
    assert seen[0][2] == expected.nnz
    assert seen[0][3]
    agrees(lambda d: np.asarray(function(d).toarray()), D)
    if expected.format in ("csr", "csc"):
        for name in ("indices", "indptr"):
            kept: list[Any] = []
            ad.grad(
                lambda d, kept=kept, name=name: kept.append(getattr(function(d), name)) or d[0]
            )(D)
            np.testing.assert_array_equal(kept[0], getattr(expected, name))
        agrees(lambda d: function(d).data, D)


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers(name: str) -> None:
    agrees(NUMBERS[name], D)


def test_all_modes() -> None:
    agrees_in_all_modes(lambda d: np.sum((csr(d).T @ (csr(d) @ csr(d)) @ X) ** 2), D)
    agrees_in_all_modes(lambda d: np.sum((csr(d) * csr(d).T + K).data ** 2), D)
    agrees_in_all_modes(lambda d: np.sum(sp.kron(csr(d), csr(d)) @ np.arange(16.0)), D)


def test_complex_entries() -> None:
    def energy(d: Any) -> Any:
        matrix = csr(d * (1 + 2j))
        return np.sum(np.abs((matrix.H @ matrix).data) ** 2) + (matrix.conj() @ X).real[0]

    agrees_in_all_modes(energy, D)


def test_what_is_asked_of_a_matrix() -> None:
    def questions(d: Any) -> Any:
        matrix = csr(d)
        assert sp.issparse(matrix)
        assert isinstance(matrix, sp.csr_array)
        assert not sp.isspmatrix(matrix)
        assert sp.isspmatrix(old(d))
        assert sp.isspmatrix_csr(old(d))
        assert not sp.isspmatrix_csc(old(d))
        assert not sp.isspmatrix_csr(matrix)
        assert matrix.nnz == 7
        return np.sum(matrix.data)

    np.testing.assert_array_equal(ad.grad(questions)(D), np.ones(7))


def test_refusals() -> None:
    unsupported = ad.errors.UnsupportedFunctionError
    for function, words in (
        (lambda d: csr(d).maximum(0.5).sum(), "maximum of a sparse matrix"),
        (lambda d: csr(d)[1].tobsr(), r"A\[\[i\], :\]"),
        (lambda d: sp.diags([d], [0]).data.sum(), "in the format 'dia'"),
        (lambda d: (csr(d) / csr(d)).sum(), "quotient of two sparse"),
        (lambda d: sparse_solvers.norm(csr(d), 2), "Frobenius"),
        (lambda d: sp.lil_array(csr(d)).data, "in the format 'lil'"),
    ):
        with pytest.raises(unsupported, match=words):
            ad.grad(function)(D)
    with pytest.raises(ValueError, match="axis out of range"):
        ad.grad(lambda d: csr(d).sum(axis=2).sum())(D)
    with pytest.raises(ValueError, match="inconsistent shapes"):
        ad.grad(lambda d: (csr(d) + sp.eye_array(3)).sum())(D)
    with pytest.raises(ad.errors.ShapeError, match="were set to"):
        ad.grad(lambda d: with_data(csr(d), d[:3]).sum())(D)
    with pytest.raises(ValueError, match="exceeds matrix dimension"):
        ad.grad(lambda d: sp.csr_array((d, (ROWS + 1, COLUMNS)), shape=(4, 4)).sum())(D)


def test_a_gradient_lies_on_the_pattern() -> None:
    """At 20 000 unknowns a dense matrix takes 3.2 GB."""
    n = 20_000

    def energy(k: Any) -> Any:
        A = sp.diags([k[:-1] + k[1:], -k[1:-1], -k[1:-1]], [0, 1, -1]).tocsr()
        B = A.T @ A + sp.eye_array(n)
        return np.sum((B @ np.ones(n)) ** 2) + np.sum(sparse_solvers.spsolve(B.tocsc(), k[1:]) ** 2)

    tracemalloc.start()
    gradient = ad.grad(energy)(np.linspace(1.0, 2.0, n + 1))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert gradient.shape == (n + 1,)
    assert peak < 1.5e8


@pytest.mark.parametrize(
    "function",
    [
        lambda A: np.sqrt(A).toarray(),
        lambda A: np.abs(-A).toarray(),
        lambda A: np.multiply(A, 3.0).toarray(),
        lambda A: np.add(A, A).toarray(),
        lambda A: A.max() * A.min(),
        lambda A: A.max(explicit=True) + (-A).min() + A.T.max(),
        lambda A: A.data @ A.nonzero()[1],
        lambda A: np.arange(3.0) + A,
    ],
)
def test_functions_of_numpy_and_extremes(function: Any) -> None:
    places = (np.array([0, 1, 2, 2]), np.array([1, 0, 2, 1]))

    def of_data(x: Any) -> Any:
        return function(sp.csr_array((x, places), shape=(3, 3)))

    agrees(of_data, np.array([0.7, 1.3, 2.5, 0.4]))


def test_what_scipy_refuses_is_refused_alike() -> None:
    full = np.array([[1.0, 2.0], [3.0, 4.0]])
    for function, error, words in (
        (lambda A: np.exp(A), TypeError, "no callable exp"),
        (lambda A: A + 1.0, NotImplementedError, "nonzero scalar"),
        (lambda A: A.max(out=np.zeros(2)), ValueError, "'out' parameter"),
        (lambda A: A.maximum(1.0), ad.errors.UnsupportedFunctionError, "the place of zeros"),
    ):
        with pytest.raises(error, match=words):
            ad.grad(lambda x, function=function: np.sum(function(sp.csr_array(x)).data))(full)
