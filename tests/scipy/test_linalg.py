"""`scipy.linalg` under capture."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import linalg

import adjoint as ad
from tests.capture.comparing import same_derivative
from tests.scipy.comparing import agrees, agrees_in_all_modes

RNG = np.random.default_rng(1)
A = RNG.standard_normal((3, 3)) + 3 * np.eye(3)
S = A @ A.T
b, B, c, r = (RNG.standard_normal(shape) for shape in (3, (3, 2), 4, 3))
W = np.array([[2.0, 0.3], [0.1, 1.5]])
V = np.array([[1.0, 0.2], [0.4, 3.0]])
BAND = RNG.standard_normal((3, 4)) + np.array([[0.0], [4.0], [0.0]])
HALF = RNG.standard_normal((2, 4)) + np.array([[0.0], [4.0]])
LONG = c + np.array([4.0, 0.0, 0.0, 0.0])


def sym(a: Any) -> Any:
    return a + a.T


MATRIX_FUNCTIONS = ("expm", "sinm", "cosm", "tanm", "sinhm", "coshm", "tanhm", "logm", "sqrtm")

CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    **{name: (getattr(linalg, name), (W,)) for name in MATRIX_FUNCTIONS},
    "polar": (linalg.polar, (W,)),
    "polar left": (lambda a: linalg.polar(a, side="left"), (W,)),
    "expm_frechet": (linalg.expm_frechet, (W, V)),
    "fractional_matrix_power that is whole": (
        lambda a: linalg.fractional_matrix_power(a, 2.0),
        (-W,),
    ),
    "lstsq of a vector": (lambda a: linalg.lstsq(a, np.ones(3))[:2], (A[:, :2],)),
    "fractional_matrix_power": (lambda a: linalg.fractional_matrix_power(a, 0.3), (W,)),
    "solve_sylvester": (linalg.solve_sylvester, (W, V, V)),
    "solve_continuous_lyapunov": (linalg.solve_continuous_lyapunov, (W, V)),
    "solve_discrete_lyapunov": (linalg.solve_discrete_lyapunov, (W / 4, V)),
    "solve": (linalg.solve, (A, b)),
    "solve pos": (lambda a, b: linalg.solve(sym(a), b, assume_a="pos"), (S, B)),
    "solve sym lower": (lambda a, b: linalg.solve(sym(a), b, assume_a="sym", lower=True), (S, b)),
    "solve transposed": (lambda a, b: linalg.solve(a, b, transposed=True), (A, b)),
    "solve_triangular": (lambda a, b: linalg.solve_triangular(a, b, lower=True), (A, B)),
    "solve_triangular T": (lambda a, b: linalg.solve_triangular(a, b, trans="T"), (A, b)),
    "solve_triangular unit": (
        lambda a, b: linalg.solve_triangular(a, b, unit_diagonal=True),
        (A, b),
    ),
    "solve_triangular unit T lower": (
        lambda a, b: linalg.solve_triangular(a, b, 1, lower=True, unit_diagonal=True),
        (A, B),
    ),
    "solve lower": (lambda a, b: linalg.solve(a, b, assume_a="lower triangular"), (A, b)),
    "solve upper transposed": (
        lambda a, b: linalg.solve(a, b, assume_a="upper triangular", transposed=True),
        (A, b),
    ),
    **{
        name: (getattr(linalg, name), (A,))
        for name in ["inv", "det", "pinv", "norm", "svdvals", "lu", "lu_factor"]
        if name != "lu_factor"
    },
    "cholesky": (lambda a: linalg.cholesky(sym(a)), (S,)),
    "cholesky lower": (lambda a: linalg.cholesky(sym(a), lower=True), (S,)),
    "cho_solve": (lambda a, b: linalg.cho_solve(linalg.cho_factor(sym(a)), b), (S, b)),
    "cho_solve lower": (
        lambda a, b: linalg.cho_solve(linalg.cho_factor(sym(a), lower=True), b),
        (S, B),
    ),
    "lu wide": (lambda a: linalg.lu(a, p_indices=True)[1:], (A[:2],)),
    "lu tall": (lambda a: linalg.lu(a[:, :2]), (A[::-1],)),
    "lu_factor wide": (lambda a: linalg.lu_factor(a[:2])[0], (A[::-1],)),
    "lu_factor tall": (lambda a: linalg.lu_factor(a[:, :2])[0], (A[::-1],)),
    "lu permuted": (lambda a: linalg.lu(a, permute_l=True), (A[::-1],)),
    "lu_solve": (lambda a, b: linalg.lu_solve(linalg.lu_factor(a), b), (A[::-1], B)),
    "lu_solve T": (lambda a, b: linalg.lu_solve(linalg.lu_factor(a), b, trans=1), (A[::-1], b)),
    "eigh values": (lambda a: linalg.eigh(sym(a), eigvals_only=True), (A,)),
    "eigh general": (lambda a, b: linalg.eigh(sym(a), sym(b))[0], (A, S)),
    "eigh vectors": (lambda a, b: np.abs(linalg.eigh(sym(a), sym(b))[1]), (A, S)),
    "eigvals": (lambda a: linalg.eigvals(a).real, (S,)),
    "qr": (lambda a: linalg.qr(a, mode="economic"), (A,)),
    "rq": (linalg.rq, (A,)),
    "rq wide": (lambda a: linalg.rq(a[:2]), (A,)),
    "rq tall": (lambda a: linalg.rq(a[:, :2], mode="economic"), (A,)),
    "R of rq": (lambda a: linalg.rq(a, mode="r"), (A,)),
    "block_diag": (linalg.block_diag, (A, B)),
    "toeplitz": (linalg.toeplitz, (c,)),
    "toeplitz two": (linalg.toeplitz, (c, r)),
    "circulant": (linalg.circulant, (c,)),
    "hankel": (linalg.hankel, (c,)),
    "hankel two": (linalg.hankel, (c, LONG)),
    "companion": (linalg.companion, (LONG,)),
    "khatri_rao": (linalg.khatri_rao, (A, S)),
    "solve_banded": (lambda ab, b: linalg.solve_banded((1, 1), ab, b), (BAND, c)),
    "solveh_banded": (linalg.solveh_banded, (HALF, c)),
    "solve_toeplitz": (linalg.solve_toeplitz, (LONG, c)),
    "solve_circulant": (linalg.solve_circulant, (LONG, c)),
    "matmul_toeplitz": (lambda c, x: linalg.matmul_toeplitz((c, c), x), (LONG, c)),
}


@pytest.mark.parametrize("name", CASES)
def test_value_and_derivatives(name: str) -> None:
    function, args = CASES[name]
    agrees(function, *args)


@pytest.mark.parametrize(
    "function",
    [
        lambda a: np.sum(linalg.expm(0.3 * a) ** 2),
        lambda a: np.sum(linalg.sqrtm(a) * a),
        lambda a: np.sum(linalg.solve_sylvester(a, a.T, a @ a) ** 2),
        lambda a: np.sum(linalg.solve_triangular(a, a[:, 0], lower=True) ** 2),
        lambda a: np.sum(linalg.toeplitz(a[0]) @ a),
    ],
    ids=["expm", "sqrtm", "sylvester", "triangular", "toeplitz"],
)
def test_all_modes(function: Any) -> None:
    agrees_in_all_modes(function, W)


@pytest.mark.parametrize("name", ["solve_triangular", "cho_solve"])
def test_triangular_systems_are_not_factorised(name: str) -> None:
    def loss(a: Any, b: Any) -> Any:
        if name == "cho_solve":
            return np.sum(linalg.cho_solve((a, False), b) ** 2)
        return np.sum(linalg.solve_triangular(a, b) ** 2)

    program = ad.program(ad.grad(loss, (0, 1)), A, b).program
    names = {equation.primitive.name for equation in program.equations}
    assert "solve_triangular" in names
    assert names.isdisjoint({"solve", "lu_factors", "solve_factored", "inv"})


@pytest.mark.parametrize("left", ["f4", "f8", "c8", "c16", "i8"])
@pytest.mark.parametrize("right", ["f4", "f8", "c8", "c16", "i8"])
def test_triangular_systems_have_scipys_dtype(left: str, right: str) -> None:
    a, b = np.array([[2, 1], [0, 4]]).astype(left), np.array([[1], [2]]).astype(right)
    for trans in (0, 1, 2):
        expected = linalg.solve_triangular(a, b, trans)
        for native in (False, True):
            with ad.config(native=native):
                x = ad.jit(lambda a, b, t=trans: linalg.solve_triangular(a, b, t))(a, b)
            assert x.dtype == expected.dtype
            np.testing.assert_allclose(x, expected, rtol=1e-6)


def test_in_single_precision_and_complex() -> None:
    single = W.astype(np.float32)
    value, slope = ad.jvp(linalg.expm, (single,), (single,))
    assert value.dtype == slope.dtype == np.float32
    z = W + 0.2j * V
    direction = V + 0.1j * W
    _, slope = ad.jvp(linalg.logm, (z,), (direction,))
    step = 1e-6
    difference = linalg.logm(z + step * direction) - linalg.logm(z - step * direction)
    np.testing.assert_allclose(slope, difference / (2 * step), rtol=1e-6)
    gradient = ad.grad(lambda z: np.sum(np.abs(linalg.expm(z)) ** 2))(z)
    ahead, behind = (np.sum(np.abs(linalg.expm(z + s * direction)) ** 2) for s in (step, -step))
    slope = np.sum((np.conj(gradient) * direction).real)
    np.testing.assert_allclose(slope, (ahead - behind) / (2 * step), rtol=1e-6)


def parts(z: Any) -> tuple[Any, Any]:
    return z.real, z.imag


@pytest.mark.parametrize("name", ["sqrtm", "logm"])
def test_a_function_on_its_cut_takes_one_side(name: str) -> None:
    """Of real matrices with negative eigenvalues, and of complex ones that have them."""
    function = getattr(linalg, name)
    below = W - 3.0 * np.eye(2)
    agrees(lambda a: parts(function(a)), below)
    agrees(lambda a: parts(function(a.astype(complex))), below)
    agrees(lambda a: parts(function(np.stack([a, 4 * np.eye(2) + a]))), W - 1.9 * np.eye(2))
    agrees_in_all_modes(lambda a: np.sum(np.abs(function(a.astype(complex))) ** 2), below)
    compiled = ad.jit(ad.grad(lambda a: np.sum(np.abs(function(a)) ** 2)))
    for matrix in (W, below, W):  # another type on either side
        u = np.array([[0.3, -1.0], [0.2, 0.5]])
        ahead, behind = (np.sum(np.abs(function(matrix + h * u)) ** 2) for h in (1e-6, -1e-6))
        np.testing.assert_allclose(np.sum(compiled(matrix) * u), (ahead - behind) / 2e-6, 1e-6)


@pytest.mark.parametrize("name", ["sqrtm", "logm"])
def test_the_side_of_the_cut_is_that_of_the_real_matrix(name: str) -> None:
    """SciPy may take another one for the same numbers in a complex matrix."""
    function = getattr(linalg, name)
    for seed in range(8):
        a = np.random.default_rng(seed).standard_normal((3, 3))
        agrees(lambda a: parts(function(a)), a)


def test_a_function_with_eigenvalues_on_both_sides_of_its_cut_has_no_derivative() -> None:
    near = np.diag([-1 + 1e-9j, -2 - 1e-9j])
    with pytest.raises(ad.errors.DegenerateError, match="both sides of the negative axis"):
        ad.jvp(linalg.logm, (near,), (np.ones((2, 2), complex),))


def test_a_batch_of_real_matrices_has_real_roots() -> None:
    np.testing.assert_allclose(ad.vmap(linalg.sqrtm)(np.stack([W, V])), linalg.sqrtm([W, V]))
    with pytest.raises(ad.errors.LinearAlgebraError, match=r"A\.astype\(complex\)"):
        ad.vmap(linalg.sqrtm)(np.stack([W, -W]))


def test_what_is_refused_says_why() -> None:
    with pytest.raises(ad.errors.UnsupportedFunctionError, match=r"scipy.linalg.schur.*no rule"):
        ad.grad(lambda a: linalg.schur(a)[0].sum())(A)
    with pytest.raises(ad.errors.UnsupportedFunctionError, match="assume_a"):
        ad.grad(lambda a: linalg.solve(a, b, assume_a="banded").sum())(A)
    with pytest.raises(ad.errors.UnsupportedFunctionError, match="takes mode"):
        ad.grad(lambda a: linalg.qr(a, mode="raw")[1].sum())(A)
    with pytest.raises(ad.errors.UnsupportedFunctionError, match="type=1"):
        ad.grad(lambda a: linalg.eigh(a, S, type=2)[0].sum())(A)


def test_the_diagonal_of_a_hermitian_matrix_is_read_as_real() -> None:
    skew = np.diag([0.3j, -1.0j, 2.0j])
    b = np.array([1.0, 2.0, 3.0])

    def solution(a: Any) -> Any:
        return linalg.solve(a, b, assume_a="her")

    value, slope = ad.jvp(solution, (S + skew,), (skew,))
    np.testing.assert_allclose(value, solution(S + skew), rtol=1e-12)
    np.testing.assert_array_equal(slope, 0)


@pytest.mark.parametrize("part", [0, 1])
def test_polar_factors_at_coinciding_singular_values(part: int) -> None:
    def function(a: Any) -> Any:
        return linalg.polar(a)[part]

    same_derivative(function, (np.eye(3),), 1e-5)
    with pytest.raises(ad.errors.DegenerateError):
        ad.jvp(function, (np.diag([1.0, 0.0]),), (np.ones((2, 2)),))


@pytest.mark.parametrize("matrix", [np.zeros((2, 2)), np.diag([1.0, 0.0])])
def test_a_root_of_a_singular_matrix_has_no_derivative(matrix: Any) -> None:
    refused = pytest.raises(ad.errors.DegenerateError, match="no derivative at a singular matrix")
    with pytest.warns(linalg.LinAlgWarning, match="singular"), refused:
        ad.jvp(linalg.sqrtm, (matrix,), (np.ones((2, 2)),))


def symmetric(x: Any) -> Any:
    return (x + np.swapaxes(x, -1, -2)) / 2


GENERATOR = np.random.default_rng(7)
SQUARE, STACK = GENERATOR.standard_normal((4, 4)), GENERATOR.standard_normal((3, 4, 4))
INPUTS, MIXED = GENERATOR.standard_normal((4, 2)), 0.1 * GENERATOR.standard_normal((4, 2))
WEIGHT, COST = np.eye(4) + 0.1, np.array([[1.0, 0.2], [0.2, 2.0]])
EQUATIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "signm": (linalg.signm, (SQUARE + 0.3 * np.eye(4),)),
    "pinvh": (linalg.pinvh, (symmetric(STACK),)),
    "pinvh above": (lambda a: linalg.pinvh(a, lower=False), (WEIGHT,)),
    "pivoted qr": (lambda a: linalg.qr(a, pivoting=True)[:2], (SQUARE,)),
    "R of a tall matrix": (lambda a: linalg.qr(a, mode="r")[0], (INPUTS,)),
    "pivoted R": (lambda a: linalg.qr(a, pivoting=True, mode="r")[0], (INPUTS,)),
    **{
        name: (
            lambda a, b, q, r, name=name: getattr(linalg, name)(a, b, symmetric(q), symmetric(r)),
            (SQUARE, INPUTS, WEIGHT, COST),
        )
        for name in ("solve_continuous_are", "solve_discrete_are")
    },
    **{
        f"{name} with a mixed term": (
            lambda a, b, s, name=name: getattr(linalg, name)(a, b, WEIGHT, COST, s=s),
            (SQUARE, INPUTS, MIXED),
        )
        for name in ("solve_continuous_are", "solve_discrete_are")
    },
}


@pytest.mark.parametrize("name", EQUATIONS)
def test_equations_and_functions_of_matrices(name: str) -> None:
    function, args = EQUATIONS[name]
    agrees(function, *args)
    compiled = ad.jit(function)
    for point in (args, tuple(1.1 * x for x in args)):
        expected = function(*point)
        for one, other in zip(
            compiled(*point) if isinstance(expected, tuple) else (compiled(*point),),
            expected if isinstance(expected, tuple) else (expected,),
            strict=True,
        ):
            np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-9)


def test_riccati_in_a_batch_and_refused() -> None:
    solved = lambda a: linalg.solve_continuous_are(a, INPUTS, WEIGHT, COST)  # noqa: E731
    batch = ad.vmap(solved)(STACK)
    np.testing.assert_allclose(batch, np.stack([solved(a) for a in STACK]), rtol=1e-7)
    with pytest.raises(ad.errors.UnsupportedFunctionError, match=r"do not take e\..*solve\(e, a\)"):
        ad.grad(lambda a: linalg.solve_continuous_are(a, INPUTS, WEIGHT, COST, e=WEIGHT).sum())(
            SQUARE
        )


FACTORED: dict[str, Callable[..., Any]] = {
    "lu_factor": linalg.lu_factor,
    "lu": linalg.lu,
    "lu, permuted": lambda a: linalg.lu(a, permute_l=True),
    "lu, indices": lambda a: linalg.lu(a, p_indices=True),
    "lu_solve": lambda a: linalg.lu_solve(linalg.lu_factor(a), a[0]),
    "lu_solve, transposed": lambda a: linalg.lu_solve(linalg.lu_factor(a), a, trans=1),
}


@pytest.mark.parametrize("name", FACTORED)
def test_each_example_of_a_batch_has_pivots_of_its_own(name: str) -> None:
    stack = np.random.default_rng(3).normal(size=(6, 3, 3))
    whole = FACTORED[name]

    def results(a: Any) -> tuple[Any, ...]:
        values = whole(a)
        return values if isinstance(values, tuple) else (values,)

    expected = [results(a) for a in stack]
    for actual, *rows in zip(ad.vmap(results)(stack), *expected, strict=True):
        assert actual.dtype == rows[0].dtype
        np.testing.assert_allclose(actual, rows, rtol=1e-12)

    def loss(a: Any) -> Any:
        return sum(np.sum(np.sin(x)) for x in results(a))

    np.testing.assert_allclose(
        ad.vmap(ad.grad(loss))(stack), [ad.grad(loss)(a) for a in stack], rtol=1e-10
    )
    rounds = ad.fori_loop(0, 6, lambda k, total: total + loss(np.sin(total + stack[1])), 0.5)
    total = 0.5
    for _ in range(6):
        total = total + loss(np.sin(total + stack[1]))
    np.testing.assert_allclose(rounds, total, rtol=1e-10)
