"""`numpy.linalg` whole: values as NumPy has them for all arguments, derivatives, errors."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.capture.numpy.table import FUNCTIONS
from adjoint.spaces import Symmetric

linalg = np.linalg
ORDERS = (None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf, 0, 3, 0.5, -3)
AXES = (None, 0, -1, (0, 1), (1, 0), (-1, -2))


def drawn(*shape: int, dtype: Any = float, seed: int = 4) -> Any:
    generator = np.random.default_rng(seed)
    found = generator.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        found = found + 1j * generator.normal(size=shape)
    return found.astype(dtype)


def plus(a: Any) -> Any:
    return a + np.swapaxes(a, -1, -2).conj()


OF_ANY: dict[str, Callable[[Any], Any]] = {
    "qr": linalg.qr,
    "qr complete": lambda a: linalg.qr(a, "complete"),
    "qr r": lambda a: linalg.qr(a, mode="r"),
    "svd": linalg.svd,
    "svd reduced": lambda a: linalg.svd(a, full_matrices=False),
    "svd values": lambda a: linalg.svd(a, compute_uv=False),
    "svdvals": linalg.svdvals,
    "pinv": linalg.pinv,
    "pinv rtol": lambda a: linalg.pinv(a, rtol=None),
    "pinv rcond": lambda a: linalg.pinv(a, rcond=0.1),
    "rank": linalg.matrix_rank,
    "rank tol": lambda a: linalg.matrix_rank(a, tol=0.3),
    "cond": linalg.cond,
    "cond -2": lambda a: linalg.cond(a, -2),
    "matrix_norm": linalg.matrix_norm,
    "matrix_norm nuc": lambda a: linalg.matrix_norm(a, keepdims=True, ord="nuc"),
    "vector_norm": linalg.vector_norm,
    "vector_norm axes": lambda a: linalg.vector_norm(a, axis=(0, 1), ord=3, keepdims=True),
    "vector_norm 0": lambda a: linalg.vector_norm(a, ord=0),
    "trace": linalg.trace,
    "trace offset": lambda a: linalg.trace(a, offset=1),
    "diagonal": lambda a: linalg.diagonal(a, offset=-1),
    "matrix_transpose": linalg.matrix_transpose,
}
OF_SQUARE: dict[str, Callable[[Any], Any]] = {
    "eigh": linalg.eigh,
    "eigh U": lambda a: linalg.eigh(a, "U"),
    "eigvalsh": linalg.eigvalsh,
    "eigvalsh u": lambda a: linalg.eigvalsh(a, "u"),
    "eig": linalg.eig,
    "eigvals": linalg.eigvals,
    "eig of symmetric": lambda a: linalg.eig(a + np.swapaxes(a, -1, -2)),
    "eigvals of symmetric": lambda a: linalg.eigvals(a + np.swapaxes(a, -1, -2)),
    "svd hermitian": lambda a: linalg.svd(plus(a), hermitian=True),
    "svd hermitian values": lambda a: linalg.svd(a, compute_uv=False, hermitian=True),
    "pinv hermitian": lambda a: linalg.pinv(plus(a), hermitian=True),
    "rank hermitian": lambda a: linalg.matrix_rank(a, hermitian=True),
    "inv": linalg.inv,
    "det": linalg.det,
    "slogdet": linalg.slogdet,
    "matrix_power": lambda a: linalg.matrix_power(a, -3),
    **{
        f"cond {p}": (lambda a, p=p: linalg.cond(a, p))  # type: ignore[misc]
        for p in (1, -1, 2, np.inf, -np.inf, "fro", "nuc")
    },
}
OF_TALL: dict[str, Callable[[Any], Any]] = {
    f"lstsq {rcond} {columns}": (
        lambda a, rcond=rcond, columns=columns: linalg.lstsq(
            a, np.ones((a.shape[0], columns)) if columns else np.arange(a.shape[0]) + 1.0, rcond
        )
    )
    for rcond in (None, 0.2, -1)
    for columns in (0, 2)
}
SHAPES = ((3, 3), (4, 2), (2, 3, 4), (2, 2, 2), (1, 1), (0, 0), (2, 0, 0), (0, 3), (3, 0))


def functions_of(shape: tuple[int, ...]) -> dict[str, Callable[[Any], Any]]:
    found = dict(OF_ANY)
    found.update(OF_SQUARE if shape[-1] == shape[-2] else {})
    found.update(OF_TALL if len(shape) == 2 else {})
    for how in itertools.product(ORDERS, AXES, (False, True)):
        found[f"norm {how}"] = lambda a, how=how: linalg.norm(a, *how)
    return found


def outcome(f: Callable[[Any], Any], a: Any) -> Any:
    with np.errstate(all="ignore"):
        try:
            return f(a)
        except (ValueError, TypeError, IndexError) as error:
            return error


def assert_same(name: str, found: Any, expected: Any) -> None:
    """Equal values, dtypes, shapes and kinds of tuples; or an error of NumPy's kind."""
    if isinstance(expected, Exception):
        assert isinstance(found, type(expected)), (name, found, expected)
        return
    assert not isinstance(found, Exception), (name, found)
    if isinstance(expected, tuple):
        assert type(found) is type(expected), name
    pairs = zip(
        found if isinstance(expected, tuple) else (found,),
        expected if isinstance(expected, tuple) else (expected,),
        strict=True,
    )
    for one, other in pairs:
        one, other = np.asarray(one), np.asarray(other)
        assert (one.shape, one.dtype) == (other.shape, other.dtype), name
        bound = 2e-3 if other.dtype.char in "fF" else 1e-10
        np.testing.assert_allclose(one, other, rtol=bound, atol=bound, err_msg=name)


@pytest.mark.parametrize("dtype", [float, complex, np.float32, np.complex64])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_values_dtypes_shapes_and_errors_are_numpys(shape: tuple[int, ...], dtype: Any) -> None:
    a = drawn(*shape, dtype=dtype)
    for name, f in functions_of(shape).items():
        assert_same(name, outcome(ad.jit(f), a), outcome(f, a))


def test_every_public_callable_is_there() -> None:
    names = [name for name in linalg.__all__ if name != "LinAlgError"]
    assert [name for name in names if getattr(linalg, name) not in FUNCTIONS] == []


OF_TWO: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {
    "multi_dot of two": (lambda a: linalg.multi_dot([a, a.T]), (3, 2)),
    "multi_dot": (lambda a: linalg.multi_dot([a[0], a, a.T, a, a.T[:, 0], a[:1]][:5]), (3, 2)),
    "multi_dot of vectors": (lambda a: linalg.multi_dot([a[0], a.T, a[:, 0]]), (3, 2)),
    "tensorsolve": (
        lambda a: linalg.tensorsolve(a.reshape(2, 3, 6) + np.eye(6).reshape(2, 3, 6), a[:2, :3]),
        (6, 6),
    ),
    "tensorsolve axes": (
        lambda a: linalg.tensorsolve(a.reshape(2, 6, 3), a[:2, :3].T @ a[:2, :2], (0, 2)),
        (6, 6),
    ),
    "tensorinv": (lambda a: linalg.tensorinv(a.reshape(6, 2, 3), ind=1), (6, 6)),
    "cross": (lambda a: linalg.cross(a, a[::-1], axis=0), (3, 4)),
    "outer": (lambda a: linalg.outer(a[0], a[1]), (3, 2)),
    "tensordot": (lambda a: linalg.tensordot(a, a, axes=((0,), (0,))), (3, 2)),
    "matmul": (lambda a: linalg.matmul(a, a.T), (3, 2)),
    "vecdot": (lambda a: linalg.vecdot(a, a[::-1], axis=0), (3, 2)),
    "trace of a stack": (linalg.trace, (2, 3, 3)),
    "diagonal of a stack": (linalg.diagonal, (2, 3, 3)),
    "trace in another dtype": (lambda a: linalg.trace(a, dtype=np.float32), (2, 3, 3)),
}


@pytest.mark.parametrize("name", OF_TWO)
def test_products_and_tensors(name: str) -> None:
    f, shape = OF_TWO[name]
    a = drawn(*shape)
    assert_same(name, outcome(ad.jit(f), a), outcome(f, a))
    if not isinstance(outcome(f, a), Exception) and name != "trace in another dtype":
        check_derivatives(f, a)


# --- derivatives ----------------------------------------------------------------------------------


def real_sum(results: Any) -> Any:
    """A number out of whatever comes: sums with fixed weights."""
    total: Any = 0.0
    for result in results if isinstance(results, tuple) else (results,):
        if np.asarray(result.dtype.type(0)).dtype.kind in "fc" and result.size:
            weights = np.cos(np.arange(result.size) + 1.0).reshape(result.shape)
            total = total + np.sum(weights * result.real)
            if result.dtype.kind == "c":
                total = total + np.sum(weights[..., ::-1] * result.imag)
    return total


def extrapolated(f: Callable[[float], Any]) -> Any:
    steps = [2.0**-power for power in range(9, 13)]
    table = [(f(h) - f(-h)) / (2 * h) for h in steps]
    weight = 1
    while len(table) > 1:
        weight *= 4
        table = [(weight * b - a) / (weight - 1) for a, b in itertools.pairwise(table)]
    return table[0]


def check_derivatives(f: Callable[[Any], Any], a: Any) -> None:
    """Forward and reverse against differences, and second order in all four ways."""

    def number(x: Any) -> Any:
        return real_sum(f(x))

    def dot(x: Any, y: Any) -> Any:
        return np.sum(x.real * y.real) + (np.sum(x.imag * y.imag) if a.dtype.kind == "c" else 0)

    u, v = (drawn(*a.shape, dtype=a.dtype, seed=seed) for seed in (1, 2))
    slope = extrapolated(lambda h: number(a + h * u))
    np.testing.assert_allclose(ad.jvp(number, (a,), (u,))[1], slope, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(dot(ad.grad(number)(a), u), slope, rtol=1e-7, atol=1e-9)
    expected = extrapolated(lambda h: ad.jvp(number, (a + h * v,), (u,))[1])

    def along(x: Any) -> Any:
        return ad.jvp(number, (x,), (u,))[1]

    found = [
        ad.jvp(along, (a,), (v,))[1],
        dot(ad.hvp(number, a, v), u),
        dot(ad.grad(along)(a), v),
        dot(ad.grad(lambda x: dot(ad.grad(number)(x), u))(a), v),
    ]
    np.testing.assert_allclose(found, [expected] * 4, rtol=1e-6, atol=1e-8)


def spread(*shape: int, dtype: Any = float) -> Any:
    """Matrices with well-separated eigenvalues and singular values."""
    a = 0.2 * drawn(*shape, dtype=dtype)
    places = np.arange(min(shape[-2:]))
    a[..., places, places] += 1.0 + places
    return a


DIFFERENTIABLE: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "eigh": (linalg.eigh, spread(3, 3)),
    "eigh U": (lambda a: linalg.eigh(a, "U"), spread(2, 2, 2)),
    "eigvalsh, complex": (linalg.eigvalsh, spread(3, 3, dtype=complex)),
    "projectors of eigh, complex": (
        lambda a: (lambda v: v[:, :1] @ v[:, :1].conj().T)(linalg.eigh(a)[1]),
        spread(3, 3, dtype=complex),
    ),
    "sizes of eigenvectors, complex": (
        lambda a: np.abs(linalg.eigh(a)[1]) ** 4,
        spread(3, 3, dtype=complex),
    ),
    "eig, real": (linalg.eig, spread(3, 3)),
    "eig, pairs": (linalg.eig, np.array([[1.0, -2.0, 0.1], [1.5, 1.0, 0.2], [0.1, 0.3, 3.0]])),
    "eig, complex": (linalg.eig, spread(3, 3, dtype=complex)),
    "eigvals": (lambda a: linalg.eigvals(a), spread(2, 3, 3)),
    "eigvals, complex": (linalg.eigvals, spread(3, 3, dtype=complex)),
    "svd": (linalg.svd, spread(3, 3)),
    "svd, tall and reduced": (lambda a: linalg.svd(a, False), spread(4, 2)),
    "svd, values and sizes, complex": (
        lambda a: np.abs(linalg.svd(a, False)[0]) ** 4 * linalg.svd(a)[1],
        spread(3, 2, dtype=complex),
    ),
    "svd hermitian": (lambda a: linalg.svd(a, hermitian=True), spread(3, 3)),
    "svdvals hermitian": (
        lambda a: linalg.svd(a, compute_uv=False, hermitian=True),
        spread(3, 3) - 1.4 * np.eye(3),
    ),
    "qr": (linalg.qr, spread(3, 3)),
    "qr, tall, complex": (linalg.qr, spread(4, 2, dtype=complex)),
    "qr, wide": (linalg.qr, spread(2, 2, 4)),
    "qr r": (lambda a: linalg.qr(a, "r"), spread(4, 2)),
    "qr complete": (lambda a: linalg.qr(a, "complete"), spread(3, 2)),
    "pinv, tall": (linalg.pinv, spread(4, 2)),
    "pinv, wide, complex": (linalg.pinv, spread(2, 3, dtype=complex)),
    "pinv hermitian": (lambda a: linalg.pinv(a, hermitian=True), spread(3, 3)),
    "lstsq": (lambda a: linalg.lstsq(a[:, :2], a[:, 2:], None), spread(4, 4)),
    "lstsq, wide": (lambda a: linalg.lstsq(a[:2], a[2, :2], None), spread(3, 4)),
    "cond": (linalg.cond, spread(3, 3)),
    "cond 1": (lambda a: linalg.cond(a, 1), np.array([[2.0, -0.7], [0.9, 1.4]])),
    "cond fro": (lambda a: linalg.cond(a, "fro"), spread(2, 3, 3)),
    **{
        f"matrix norm {order}": (
            (lambda a, order=order: linalg.norm(a, order, (1, 0))),  # type: ignore[misc]
            np.array([[2.0, -0.7], [0.9, 1.4], [-0.5, 3.1]]),
        )
        for order in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)
    },
    **{
        f"vector norm {order}": (
            (lambda a, order=order: linalg.norm(a, order, 0)),  # type: ignore[misc]
            spread(3, 2, dtype=complex),
        )
        for order in (None, 1, 2, 3, 0.5, -2, np.inf, -np.inf)
    },
}


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_derivatives_agree_with_differences_and_with_one_another(name: str) -> None:
    check_derivatives(*DIFFERENTIABLE[name])


@pytest.mark.parametrize("name", ["eigh", "svd, tall and reduced", "qr", "pinv, tall"])
def test_batches_compiled_functions_and_machine_code(name: str) -> None:
    f, a = DIFFERENTIABLE[name]

    def number(x: Any) -> Any:
        return real_sum(f(x))

    moved = 0.1 * drawn(*a.shape, seed=1)
    many = np.stack([a, a + moved, a - moved])
    rows = [ad.grad(number)(each) for each in many]
    np.testing.assert_allclose(ad.vmap(ad.grad(number))(many), rows, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(ad.jit(ad.grad(number))(a), rows[0], rtol=1e-11, atol=1e-12)
    with ad.config(native=True):
        np.testing.assert_allclose(ad.grad(number)(a), rows[0], rtol=1e-11, atol=1e-12)
    single = ad.grad(number)(a.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, rows[0], rtol=2e-3, atol=2e-3)


def test_eigh_reads_one_triangle_and_so_does_its_derivative() -> None:
    a = spread(3, 3)
    lower = ad.grad(lambda x: np.sum(linalg.eigh(x)[1][:, 0]))(a)
    np.testing.assert_array_equal(np.triu(lower, 1), 0)
    upper = ad.grad(lambda x: linalg.eigvalsh(x, "U")[0])(a)
    np.testing.assert_array_equal(np.tril(upper, -1), 0)
    whole = a + a.T
    v = linalg.eigh(whole)[1][:, 0]
    gradient = ad.grad(lambda x: linalg.eigvalsh(x)[0], space=Symmetric(3))(whole)
    np.testing.assert_allclose(gradient, np.outer(v, v), atol=1e-13)


# --- lower rank, and what is refused --------------------------------------------------------------


def test_pinv_and_lstsq_of_lower_rank_along_tangents_that_keep_it() -> None:
    b, c = drawn(4, 2), drawn(2, 3, seed=5)

    def product(factors: Any) -> Any:
        return factors[0] @ factors[1]

    for f in (linalg.pinv, lambda a: linalg.lstsq(a, b, None)[0]):
        f_of = lambda t, f=f: real_sum(f((b + t) @ (c - t * c[::-1])))  # noqa: E731
        slope = extrapolated(lambda h, f_of=f_of: f_of(0.1 * h))
        np.testing.assert_allclose(ad.jvp(f_of, (0.0,), (0.1,))[1], slope, rtol=1e-6)
        np.testing.assert_allclose(0.1 * ad.grad(f_of)(0.0), slope, rtol=1e-6)
    assert product((b, c)).shape == (4, 3)


def test_lstsq_of_lower_rank_gives_its_rank_and_no_residuals() -> None:
    a = np.outer([1.0, 2, 3], [1.0, 1])
    x, rest, rank, sizes = ad.jit(lambda a: linalg.lstsq(a, np.ones(3), None))(a)
    expected = linalg.lstsq(a, np.ones(3), None)
    np.testing.assert_allclose(x, expected[0])
    assert (rest.shape, rank, sizes.shape) == ((0,), 1, (2,))


def test_a_cutoff_that_drops_more_than_rounding_is_refused() -> None:
    a = np.diag([1.0, 0.05])
    with pytest.raises(ad.errors.LinearAlgebraError, match="Lower the cutoff"):
        ad.grad(lambda x: np.sum(linalg.pinv(x, rcond=0.1)))(a)
    with pytest.raises(ValueError, match="ambiguous"):
        ad.jit(lambda x: linalg.lstsq(x, x, rcond=np.array([0.1, 0.2])))(a)


def test_each_matrix_can_have_a_cutoff_of_its_own() -> None:
    a = np.stack([np.outer(row, [1.0, 2.0]) for row in drawn(6, 3)]).reshape(2, 3, 3, 2)
    cutoffs = np.array([[1e-3, 1e-4, 1e-3], [1e-8, 1e-2, 1e-4]])

    def inverse(x: Any) -> Any:
        return linalg.pinv(x, rtol=cutoffs)

    np.testing.assert_allclose(ad.jit(inverse)(a), inverse(a))
    np.testing.assert_allclose(ad.jit(lambda x: linalg.pinv(x, cutoffs[:1]))(a), inverse(a))
    np.testing.assert_allclose(
        ad.grad(lambda x: np.sum(inverse(x) ** 2))(a),
        ad.grad(lambda x: np.sum(linalg.pinv(x, 1e-5) ** 2))(a),
    )
    # A cutoff decides which singular values count; of this there is no derivative.
    x = a[0, :2]
    by_cutoff = ad.grad(lambda c: np.sum(linalg.pinv(x, rtol=c)))(cutoffs[0, :2])
    np.testing.assert_array_equal(by_cutoff, [0.0, 0.0])
    with pytest.raises(ValueError, match=r"broadcast"):
        ad.jit(lambda x: linalg.pinv(x, rtol=np.ones(2)))(a)


@pytest.mark.parametrize("mode", ["reduced", "r"])
def test_qr_of_dependent_columns_has_no_derivative(mode: str) -> None:
    a = np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]])
    with pytest.raises(ad.errors.LinearAlgebraError, match="independent columns"):
        ad.grad(lambda x: real_sum(linalg.qr(x, mode)))(a)


def test_what_merely_completes_a_basis_is_refused_unless_it_does_not_matter() -> None:
    a = spread(4, 2)
    for f in (lambda x: linalg.qr(x, "complete")[0], lambda x: linalg.svd(x)[0]):
        with pytest.raises(ad.errors.DegenerateError, match="complete"):
            ad.grad(lambda x, f=f: f(x)[0, 3])(a)

        def outside(x: Any, f: Any = f) -> Any:
            rest = f(x)[:, 2:]
            return real_sum(rest @ rest.T)

        def inside(x: Any) -> Any:
            return real_sum(np.eye(4) - x @ linalg.pinv(x))

        np.testing.assert_allclose(ad.grad(outside)(a), ad.grad(inside)(a), atol=1e-11)


def test_defective_matrices_are_refused() -> None:
    jordan = np.array([[1.0, 1.0], [0.0, 1.0]])
    turned = np.array([[2.0, 1.0], [-1.0, 0.0]])
    for a in (jordan, turned):
        for f in (linalg.eigvals, lambda x: linalg.eig(x)[1]):
            with pytest.raises(ad.errors.LinearAlgebraError, match="defective"):
                ad.grad(lambda x, f=f: real_sum(f(x)))(a)


def test_equal_eigenvalues_of_a_general_matrix_share_what_they_do() -> None:
    a = np.diag([1.0, 1.0, 2.0]) + np.outer([0, 0, 1.0], [0.3, 0.4, 0])
    gradient = ad.grad(lambda x: np.sum(linalg.eigvals(x) ** 2).real)(a)
    np.testing.assert_allclose(gradient, 2 * a.T, atol=1e-12)
    with pytest.raises(ad.errors.DegenerateError, match="coincide"):
        ad.grad(lambda x: real_sum(linalg.eig(x)[1]))(a)


def test_eig_of_a_real_matrix_is_real_or_complex_as_its_eigenvalues_are() -> None:
    f = ad.jit(linalg.eigvals)
    real = np.linalg.eigvals(np.eye(2)).dtype  # complex from NumPy 2.5 on
    assert f(np.diag([1.0, 2.0])).dtype == real
    assert f(np.array([[0.0, 1.0], [-1.0, 0.0]])).dtype == np.complex128
    assert f(np.diag([1.0, 3.0])).dtype == real
    if real == np.float64:
        with pytest.raises(ad.errors.ValueNeededError, match="astype"):
            ad.vmap(linalg.eigvals)(np.stack([np.eye(2)] * 2))
    found = ad.vmap(lambda a: linalg.eigvals(a.astype(complex)))(np.stack([np.eye(2)] * 2))
    np.testing.assert_array_equal(found, np.ones((2, 2)))


def test_errors_at_values_can_be_caught_where_they_arise() -> None:
    def f(a: Any) -> Any:
        try:
            return np.sum(linalg.cholesky(a))
        except linalg.LinAlgError:
            return np.sum(linalg.cholesky(a + 3 * np.eye(2)))

    for a in (np.diag([1.0, 4.0]), np.diag([1.0, -1.0])):
        assert np.isfinite(ad.grad(f)(a)).all()


def test_arguments_that_numpy_refuses() -> None:
    a = spread(3, 3)
    for f, error in (
        (lambda x: linalg.qr(x, "q"), ValueError),
        (lambda x: linalg.qr(x, "raw"), ad.errors.UnsupportedFunctionError),
        (lambda x: linalg.eigh(x, "X"), ValueError),
        (lambda x: linalg.eigh(x[:2]), linalg.LinAlgError),
        (lambda x: linalg.svd(x[0]), linalg.LinAlgError),
        (lambda x: linalg.norm(x, "nuc", 0), ValueError),
        (lambda x: linalg.norm(x, 7), ValueError),
        (lambda x: linalg.norm(x, None, (0, 0)), ValueError),
        (lambda x: linalg.norm(x, None, "a"), TypeError),
        (lambda x: linalg.norm(x[None], 1), ValueError),
        (lambda x: linalg.lstsq(x, np.ones(2)), linalg.LinAlgError),
        (lambda x: linalg.multi_dot([x]), ValueError),
        (lambda x: linalg.multi_dot([x, x[None], x]), linalg.LinAlgError),
        (lambda x: linalg.tensorinv(x, 0), ValueError),
        (lambda x: linalg.tensorsolve(x[:2], np.ones(2)), linalg.LinAlgError),
        (lambda x: linalg.cross(x[:, :2], x[:, :2]), ValueError),
        (lambda x: linalg.outer(x, x), ValueError),
        (lambda x: linalg.pinv(x, 0.1, rtol=0.1), ValueError),
        (lambda x: linalg.matrix_rank(x, 0.1, rtol=0.1), ValueError),
    ):
        with pytest.raises(error):
            ad.jit(f)(a)
