"""Functions of `scipy.linalg` on stacks of matrices: SciPy's values, and right derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import linalg, special

import adjoint as ad
from tests.capture.comparing import captured_value, same_derivative, same_values

RANDOM = np.random.default_rng(3)
A = RANDOM.random((2, 3, 3)) + 3 * np.eye(3)
SYMMETRIC = A @ np.swapaxes(A, -1, -2)
VECTOR = RANDOM.random(3)
COLUMNS = RANDOM.random((2, 3, 2))
ROWS = RANDOM.random((2, 4)) + 1
CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "solve": (linalg.solve, (A, VECTOR)),
    "solve of one matrix": (linalg.solve, (A[0], COLUMNS)),
    "solve_triangular": (linalg.solve_triangular, (A, VECTOR)),
    "solve_triangular, transposed": (lambda a, b: linalg.solve_triangular(a, b, 1), (A, COLUMNS)),
    "cho_solve": (
        lambda a, b: linalg.cho_solve((np.linalg.cholesky(a), True), b),
        (SYMMETRIC, VECTOR),
    ),
    "lu": (lambda a: linalg.lu(a)[1:], (A,)),
    "lu_solve": (lambda a, b: linalg.lu_solve(linalg.lu_factor(a), b), (A, VECTOR)),
    "lu_solve, transposed": (lambda a, b: linalg.lu_solve(linalg.lu_factor(a), b, 1), (A, COLUMNS)),
    "lstsq": (lambda a, b: linalg.lstsq(a, b)[0], (A, COLUMNS)),
    "solve_banded": (lambda ab, b: linalg.solve_banded((1, 1), ab, b), (A, VECTOR)),
    "solveh_banded": (
        linalg.solveh_banded,
        (np.array([[0.1, 0.2, 0.3], [3, 4, 5.0]]) + A[:, :2] * 0.1, VECTOR),
    ),
    "qr": (lambda a: linalg.qr(a, mode="r"), (A,)),
    "toeplitz": (linalg.toeplitz, (ROWS,)),
    "toeplitz of two": (linalg.toeplitz, (ROWS, ROWS[0, :3])),
    "companion": (linalg.companion, (ROWS,)),
    "block_diag": (linalg.block_diag, (A, COLUMNS, VECTOR)),
    "khatri_rao": (linalg.khatri_rao, (A, A[0])),
    "polar": (linalg.polar, (A,)),
    "polar of wide matrices, left": (lambda a: linalg.polar(a, "left"), (A[:, :2],)),
    "expm_frechet": (linalg.expm_frechet, (A, A[0])),
    "solve_sylvester": (linalg.solve_sylvester, (A, A[0], A)),
    "solve_continuous_lyapunov": (linalg.solve_continuous_lyapunov, (A, SYMMETRIC)),
    "solve_discrete_lyapunov": (linalg.solve_discrete_lyapunov, (A * 0.1, SYMMETRIC)),
}


@pytest.mark.parametrize("name", CASES)
def test_stacks(name: str) -> None:
    function, arguments = CASES[name]
    same_values(captured_value(function, *arguments), function(*arguments), 1e-10)
    same_derivative(function, arguments, 1e-5)


@pytest.mark.parametrize("shift", [0.0, 2.0, 20.0])
def test_the_phase_of_a_complex_sum_is_within_a_turn(shift: float) -> None:
    z = np.array([1.0 + 4j, 2.0 + 9j, 0.5 - 3j]) + 1j * shift
    same_values(captured_value(special.logsumexp, z), special.logsumexp(z))
    size, sign = captured_value(lambda z: special.logsumexp(z, return_sign=True), z)
    same_values((size, sign), special.logsumexp(z, return_sign=True))
    weights = np.exp(z) / np.sum(np.exp(z))
    np.testing.assert_allclose(ad.jvp(special.logsumexp, (z,), (z,))[1], np.sum(weights * z))


def test_eigenvalues_of_sparse_solvers_take_dense_matrices_too() -> None:
    from scipy.sparse.linalg import eigsh, svds

    matrix = SYMMETRIC[0]
    values, vectors = np.linalg.eigh(matrix)
    largest = np.argmax(np.abs(values))
    for function in (lambda a: eigsh(a, k=1)[0], lambda a: svds(a, k=1)[1]):
        value, pull = ad.vjp(function, matrix)
        assert abs(value[0]) == pytest.approx(abs(values[largest]))
        outer = np.outer(vectors[:, largest], vectors[:, largest])
        sign = np.sign(value[0] * values[largest])
        np.testing.assert_allclose(pull(np.ones(1))[0], sign * outer, atol=1e-9)


def test_zeta_of_complex_numbers_is_refused() -> None:
    with pytest.raises(ad.errors.UnsupportedFunctionError, match="zeta of complex"):
        ad.vjp(lambda z: special.zeta(z, 1.5), np.array([2.0 + 1j]))


@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (5, 2), (1, 3)])
@pytest.mark.parametrize("kind", [np.float32, float, complex])
def test_factors_of_tall_and_wide_matrices_in_vmap_and_loops(
    shape: tuple[int, int], kind: type
) -> None:
    stack: Any = RANDOM.normal(size=(3, *shape)).astype(kind)
    accuracy = 1e-4 if kind is np.float32 else 1e-12
    for part in (0, 1):
        expected = np.stack([linalg.lu_factor(a)[part] for a in stack])
        found = ad.vmap(lambda a: linalg.lu_factor(a)[part])(stack)  # noqa: B023
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=accuracy, atol=accuracy)

    def rolled(stack: Any) -> Any:
        return ad.scan(lambda total, a: (total + np.sum(np.abs(linalg.lu(a)[2])), 0.0), 0.0, stack)

    def written(stack: Any) -> Any:
        return sum(np.sum(np.abs(linalg.lu(a)[2])) for a in stack)

    slopes = ad.grad(lambda stack: rolled(stack)[0])(stack)
    np.testing.assert_allclose(slopes, ad.grad(written)(stack), rtol=1e-3, atol=accuracy)
