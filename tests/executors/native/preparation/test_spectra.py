"""Eigenvalues, singular values and their derivatives as machine code, which agrees with NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import adjoint as ad
from adjoint.base.arrays import type_of
from adjoint.base.errors import DegenerateError, LinearAlgebraError
from adjoint.base.pytrees import leaves
from adjoint.executors import NumpyExecutor
from adjoint.executors.native.lowering.lower import lowerable, lowerable_within
from adjoint.executors.native.preparation.spectra import FORMULAS
from adjoint.executors.native.rows.matrices import ALL
from adjoint.primitives import Primitive
from adjoint.primitives.linear_algebra.least_squares import LSTSQ, PINV
from adjoint.primitives.linear_algebra.orthogonal import DIVIDE
from adjoint.primitives.linear_algebra.spectra.rotations import (
    CLUSTER_MEAN,
    relative_closeness,
)
from adjoint.primitives.linear_algebra.spectra.spectral import FRECHET
from adjoint.program import Builder, Program, operation
from tests.cases import Case, cases
from tests.executors.native.comparing import run_native

RNG = np.random.default_rng(0)
CASES = [
    case
    for primitive in sorted({*FORMULAS, *ALL, PINV}, key=lambda primitive: primitive.name)
    for case in cases(primitive)
    if all(variable.type.size for variable in case.program.inputs)
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_samples(case: Case) -> None:
    (equation,) = case.program.equations
    assert lowerable(equation, case.primitive is not DIVIDE)
    assert lowerable_within(equation, False)
    found = run_native(case.program, case.operands)
    expected = NumpyExecutor().compile(case.program).run(*case.operands)
    if case.primitive in (CLUSTER_MEAN, DIVIDE, PINV):
        np.testing.assert_allclose(found, expected, rtol=1e-5 if case.bytes == 4 else 1e-13)
    else:
        same(found, expected)


def same(found: Any, expected: Any) -> None:
    """The same bits."""
    assert found is not None
    for one, other in zip(found, expected, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("name", ["eig", "eigvals", "eigh", "eigvalsh", "qr", "svd", "svdvals"])
@pytest.mark.parametrize("dtype", [float, complex, np.float32, int])
def test_stacks_in_any_order(name: str, dtype: Any) -> None:
    """Matrices that lie otherwise than NumPy's own do, and the same one again and again."""
    call: Any = getattr(np.linalg, name)
    x = RNG.normal(size=(3, 2, 4, 4)) * 9
    x = (x + 1j * x[::-1] if dtype is complex else x).astype(dtype)

    order = (1, 0, 3, 2) if name.startswith("eig") else (3, 0, 2, 1)

    def turned(x: Any) -> Any:
        return call(np.transpose(x, order)[::2])

    def repeated(x: Any) -> Any:
        return call(np.broadcast_to(x[0, 1], (2, 3, 4, 4)))

    for function in (turned, repeated):
        assert ad.program(function, x).native().left() == ()
        same(*both(function, x))


def both(function: Callable[..., Any], *arguments: Any) -> list[list[Any]]:
    """What machine code finds, and NumPy."""
    found = []
    for native in (True, False):
        with ad.config(native=native):
            found.append(leaves(ad.jit(function)(*arguments)))
    return found


def test_failures_are_those_of_numpy() -> None:
    def total(x: Any) -> Any:
        return np.sum(np.linalg.svd(np.exp(x), compute_uv=False) * 2)

    with ad.config(native=True):
        jitted = ad.jit(total)
        jitted(np.eye(3))
        with pytest.raises(np.linalg.LinAlgError, match="did not converge"):
            jitted(np.full((3, 3), np.nan))


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [(0, 0), (2, 1)])
def test_matrices_that_are_not_finite_are_refused_by_numpy(
    wrong: float, place: tuple[int, int]
) -> None:
    """LAPACK is not asked, which might not make an end of them."""

    def total(x: Any) -> Any:
        return np.sum(np.abs(np.linalg.eigvals(x + 0j)))

    x = RNG.normal(size=(3, 3))
    with ad.config(native=True):
        jitted = ad.jit(total)
        np.testing.assert_allclose(jitted(x), total(x))
        x[place] = wrong
        with pytest.raises(np.linalg.LinAlgError, match="infs or NaNs"):
            jitted(x)


def test_eigenvectors_that_are_no_basis_are_refused_by_numpy() -> None:
    slope = ad.grad(lambda x: np.sum(np.abs(np.linalg.eig(x + 0j)[1])))
    with ad.config(native=True):
        jitted = ad.jit(slope)
        jitted(np.array([[1.0, 2.0], [0.5, 3.0]]))
        with pytest.raises(LinearAlgebraError, match="linearly dependent up to rounding"):
            jitted(np.array([[1.0, 2.0], [0.0, 1.0]]))


def test_flags_are_left_as_they_were() -> None:
    """LAPACK neither raises floating-point errors for NumPy to warn of nor takes them away."""

    def warns(x: Any) -> Any:
        return np.log(x[0, 0]) + np.sum(np.linalg.eigvalsh(x + 3))

    with ad.config(native=True):
        jitted = ad.jit(warns)
        assert np.isfinite(jitted(np.eye(3)))
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            assert jitted(np.diag([0.0, 1, 2])) == -np.inf


# --- derivatives ----------------------------------------------------------------------------------


def _projected(x: Any) -> Any:
    w, v = np.linalg.eigh(x + x.T)
    return (v * np.tanh(w)) @ v.T


def _turned(x: Any) -> Any:
    w, v = np.linalg.eigh(x + x.T)
    return np.abs(v) * w


def _polar(x: Any) -> Any:
    u, _, vh = np.linalg.svd(x)
    return u @ vh


def _values(x: Any) -> Any:
    return np.linalg.svd(x, compute_uv=False) + x


def _inverse(x: Any) -> Any:
    return np.linalg.pinv(x[:3]) @ x[:3] + x


def _orthogonal(x: Any) -> Any:
    q, r = np.linalg.qr(x)
    return q * np.sign(np.diagonal(r)) + np.abs(r)


def _general(x: Any) -> Any:
    w, v = np.linalg.eig(x + 0j)
    return ((v * np.tanh(w)) @ np.linalg.inv(v)).real + np.abs(v)


@pytest.mark.parametrize(
    "step", [_projected, _turned, _polar, _values, _orthogonal, _inverse, _general]
)
def test_loops_and_their_gradients(step: Callable[[Any], Any]) -> None:
    """A loop that takes a decomposition in each round is one piece of machine code."""
    x = RNG.normal(size=(4, 4))

    def total(x: Any) -> Any:
        end = ad.fori_loop(0, 6, lambda _, x: 0.8 * x + 0.1 * np.cos(step(x)), x)
        return np.sum(np.sin(end) * np.arange(16.0).reshape(4, 4))

    for function in (total, ad.grad(total)):
        assert ad.program(function, x).native().left() == ()
        for one, other in zip(*both(function, x), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-9)


def _thin_polar(x: Any) -> Any:
    u, _, vh = np.linalg.svd(x, full_matrices=False)
    return u @ vh


def _thin_soft(x: Any) -> Any:
    u, s, vh = np.linalg.svd(x, full_matrices=False)
    return (u * np.tanh(s)) @ vh


def _complement(x: Any) -> Any:
    """What only the columns that complete a basis make."""
    u, _, vh = np.linalg.svd(x)
    rows, columns = x.shape
    if rows > columns:
        return u[:, columns:] @ (u[:, columns:].T @ np.cos(x))
    return (np.cos(x) @ vh[rows:].T) @ vh[rows:]


@pytest.mark.parametrize("step", [_thin_polar, _thin_soft, _complement])
@pytest.mark.parametrize("shape", [(5, 3), (3, 5)])
def test_loops_over_matrices_that_are_not_square(
    step: Callable[[Any], Any], shape: tuple[int, int]
) -> None:
    """Bases are completed by Q as NumPy does it, and their zeros coincide."""
    x = RNG.normal(size=shape)

    def total(x: Any) -> Any:
        end = ad.fori_loop(0, 6, lambda _, x: 0.8 * x + 0.1 * np.cos(step(x)), x)
        return np.sum(np.sin(end) * np.arange(15.0).reshape(shape))

    for function in (total, ad.grad(total)):
        held = ad.program(function, x)
        assert held.native().left() == ()
        assert run_native(held.program, held.values or ()) is not None
        for one, other in zip(*both(function, x), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-9)


def test_what_depends_on_how_a_basis_was_completed_is_refused_by_numpy() -> None:
    slope = ad.grad(lambda x, w: np.sum(w * np.linalg.svd(x)[0][:, 3:]))
    with ad.config(native=True):
        jitted = ad.jit(slope)
        x = RNG.normal(size=(5, 3))
        np.testing.assert_allclose(jitted(x, 0.0), np.zeros((5, 3)))
        with pytest.raises(DegenerateError, match="complete an orthonormal basis"):
            jitted(x, 1.0)


def test_least_squares_and_their_gradient() -> None:
    x, y = RNG.normal(size=(5, 3)), RNG.normal(size=(5, 2))

    def total(x: Any, y: Any) -> Any:
        solution = np.linalg.lstsq(x, y)[0]
        return np.sum(np.sin(y @ solution.T) * x) + np.sum(solution**2)

    for function in (total, ad.grad(total, (0, 1))):
        assert ad.program(function, x, y).native().left() == ()
        for one, other in zip(*both(function, x, y), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("cutoff", [None, 0.5])
def test_stacks_of_least_squares(cutoff: float | None) -> None:
    """The same right-hand side counts again and again; a large cutoff drops singular values."""
    builder = Builder()
    operands = [RNG.normal(size=(2, 3, 5, 3)), RNG.normal(size=(5, 2))]
    inputs = [builder.input(type_of(operand)) for operand in operands]
    program = builder.build(builder.emit(operation(LSTSQ, rcond=cutoff), inputs))
    same(run_native(program, operands), NumpyExecutor().compile(program).run(*operands))


def frechet(values: Any, v: Any, directions: list[Any]) -> tuple[Program, list[Any]]:
    """The program of the derivative of the exponential, and its operands."""
    g = [np.exp(values)] * 4
    operands = [values, v, v, *g, *g, *directions]
    builder = Builder()
    inputs = [builder.input(type_of(operand)) for operand in operands]
    return builder.build(builder.emit(operation(FRECHET, lower=True), inputs)), operands


@pytest.mark.parametrize("gap", [0.5, 1e-3, 1e-5, 1e-8, 1e-12])
@pytest.mark.parametrize("count", [0, 1])
def test_functions_of_matrices(gap: float, count: int) -> None:
    """Of values that are near one another, and in no order, the form is chosen as NumPy does."""
    values = np.array([[0.3, -0.9, 0.3 + gap, 0.3 - gap / 3], [1.0, 2.0, 1.0 + gap, 4.0]])
    v = np.linalg.qr(RNG.normal(size=(2, 4, 4)))[0]
    direction = RNG.normal(size=(2, 4, 4))
    direction[0, 1] = 0
    program, operands = frechet(values, v, [direction] * count)
    (found,) = run_native(program, operands) or (None,)
    (expected,) = NumpyExecutor().compile(program).run(*operands)
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13 * np.abs(expected).max())


def test_coinciding_values_are_left_to_numpy() -> None:
    v = np.eye(3)
    program, operands = frechet(np.array([1.0, 2.0, np.nextafter(1.0, 2.0)]), v, [v])
    assert run_native(program, operands) is None
    x = np.diag([1.0, 1.0, 2.0])
    with ad.config(native=True):
        slope = ad.jit(ad.grad(lambda x: np.sum(np.linalg.eigvalsh(x) ** 2)))(x)
        np.testing.assert_allclose(slope, 2 * x)
        with pytest.raises(DegenerateError, match="coincide"):
            ad.jit(ad.grad(lambda x: np.linalg.eigh(x)[1][0, 0]))(x)


@pytest.mark.parametrize("count", [0, 1])
def test_values_that_are_the_very_same_are_not(count: int) -> None:
    """As the zeros of a matrix that is not square; unless a function of them differs."""
    v = np.linalg.qr(RNG.normal(size=(4, 4)))[0]
    values = np.array([0.0, 2.0, 0.0, 0.0])
    program, operands = frechet(values, v, [RNG.normal(size=(4, 4))] * count)
    (found,) = run_native(program, operands) or (None,)
    (expected,) = NumpyExecutor().compile(program).run(*operands)
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13 * np.abs(expected).max())
    for place in (3, 8):  # what decides on the form, and what it is applied to
        changed = list(operands)
        changed[place] = np.where(np.arange(4) == 2, 1.5, operands[place])
        assert run_native(program, changed) is None
    near = [np.array([0.0, 2.0, 0.0, 1e-17]), *operands[1:]]
    assert run_native(program, near) is None


def test_chains_of_close_values_are_left_to_numpy() -> None:
    """The first is close to the second, and that to the third, which is not close to the first."""
    step = 0.7 * relative_closeness(3, np.dtype(float))
    (case, *_) = cases(CLUSTER_MEAN)
    values = np.array([1 - step, 1.0, 1 + step])
    assert run_native(case.program, [values, np.arange(3.0)]) is None
    values[2] = 2.0
    (mean,) = run_native(case.program, [values, np.array([1.0, 4.0, np.inf])]) or (None,)
    np.testing.assert_array_equal(mean, [2.5, 2.5, np.inf])


def test_more_directions_are_left_to_numpy() -> None:
    v = np.eye(3)
    program, _ = frechet(np.arange(3.0), v, [v, v])
    assert not lowerable(program.equations[0], False)


def test_every_formula_is_tried() -> None:
    tried: set[Primitive] = {case.primitive for case in CASES}
    assert tried >= {*FORMULAS, *ALL}
