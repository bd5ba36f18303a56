"""The derivatives of the Cholesky factor: block by block, and as the equations they solve."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.primitives import PRIMITIVES
from adjoint.primitives.linear_algebra import cholesky
from tests.checker import check_primitive

NAMES = ("cholesky", "cholesky_pushforward", "cholesky_pullback")
RNG = np.random.default_rng(8)


def draw(size: int, dtype: Any) -> Any:
    parts = RNG.normal(size=(2, size, size))
    return (parts[0] + 1j * parts[1] if np.dtype(dtype).kind == "c" else parts[0]).astype(dtype)


@pytest.mark.parametrize("name", NAMES)
def test_in_blocks_of_two(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cholesky, "_BLOCK", 2)
    check_primitive(PRIMITIVES[name])


@pytest.mark.parametrize("dtype", [float, complex, np.float32, np.complex64])
@pytest.mark.parametrize("size", [1, 64, 65, 150])
def test_the_derivative_solves_its_equation(size: int, dtype: Any) -> None:
    # L T^H + T L^H = H', of which the lower triangle is read; and T is lower triangular.
    root = draw(size, dtype)
    matrix = root @ root.conj().T + size * np.eye(size, dtype=dtype)
    direction = draw(size, dtype)
    hermitian = np.tril(direction, -1)
    hermitian = hermitian + hermitian.conj().T + np.diag(np.diagonal(direction).real)
    factor, moved = ad.jvp(np.linalg.cholesky, (matrix,), (direction,))
    assert moved.dtype == factor.dtype == dtype
    assert not np.triu(moved, 1).any()
    assert not np.diagonal(moved).imag.any()
    precision = np.finfo(dtype).eps
    image = factor @ moved.conj().T + moved @ factor.conj().T
    np.testing.assert_allclose(image, hermitian, atol=100 * precision * np.abs(hermitian).max())
    # The pullback is its transpose.
    cotangent = draw(size, dtype)
    (pulled,) = ad.vjp(np.linalg.cholesky, matrix)[1](cotangent)
    left = np.vdot(cotangent, moved).real
    right = np.vdot(pulled, direction).real
    scale = np.linalg.norm(cotangent) * np.linalg.norm(moved)
    assert abs(left - right) <= 10 * precision * scale
    assert not np.triu(pulled, 1).any()


def test_the_reverse_rule_is_that_of_the_inverse_factor() -> None:
    # Abar = L^-T Phi(L^T Lbar) L^-1, of which both triangles fall to the lower one that is read.
    root = draw(100, float)
    matrix, cotangent = root @ root.T + 10 * np.eye(100), draw(100, float)
    factor = np.linalg.cholesky(matrix)
    back = np.linalg.inv(factor)
    inner = np.tril(factor.T @ np.tril(cotangent))
    inner -= np.diag(np.diagonal(inner)) / 2
    both = back.T @ inner @ back
    expected = np.tril(both + both.T) - np.diag(np.diagonal(both))
    found = ad.grad(lambda a: np.sum(cotangent * np.linalg.cholesky(a)))(matrix)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13)


def test_a_third_derivative_of_a_large_factor() -> None:
    # Along A = B B^T with a diagonal path scaling: chol(s A) = sqrt(s) chol(A).
    root = draw(70, float)
    matrix = root @ root.T + 70 * np.eye(70)
    found = ad.taylor(lambda s: np.linalg.cholesky(s * matrix), 1.0, 1.0, order=3)
    factor = np.linalg.cholesky(matrix)
    for coefficient, binomial in zip(found, (1, 1 / 2, -1 / 8, 1 / 16), strict=True):
        np.testing.assert_allclose(coefficient, binomial * factor, rtol=1e-12, atol=1e-12)


def test_shapes_that_do_not_fit_are_named() -> None:
    with pytest.raises(ad.errors.ShapeError, match="does not fit a tangent"):
        PRIMITIVES["cholesky_pullback"].infer(
            *(ad.program(lambda x: x, np.ones(s)).program.input_types[0] for s in ((2, 2), (3, 3)))
        )
