"""Sparse Jacobians and Hessians against dense ones, in every way a user may ask for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import optimize, sparse

import adjoint as ad
from adjoint.spaces import Euclidean, Symmetric, Weighted

RNG = np.random.default_rng(11)
X = RNG.normal(size=12)
PLACES = np.array([3, 3, 0, 7, 11, 5])
K = sparse.random_array((9, 12), density=0.2, rng=RNG, format="csr")


def differences(x: Any) -> Any:
    return (x[1:] - x[:-1]) ** 2


def brusselator(x: Any) -> Any:
    u, v = x.reshape(2, 2, 3)
    around = sum(np.roll(u, shift, axis) for shift in (1, -1) for axis in (0, 1)) - 4 * u
    return np.stack([around + u**2 * v - 2 * u, u - u**2 * v]).ravel()


def arrow(x: Any) -> Any:
    return np.concatenate([[np.sum(x**2)], x[0] * x[1:] + x[1:] ** 2])


def looped(x: Any) -> Any:
    for _ in range(3):
        x = x + 0.1 * np.sin(x) * np.roll(x, 1)
    return x


def filled(x: Any) -> Any:
    result = np.zeros(20)
    for k in range(12):
        result[k] = x[k] * x[(k + 1) % 12]
    result[15:18] += x[:3] ** 2
    return result


def scanned(x: Any) -> Any:
    def step(state: Any, row: Any) -> Any:
        return state, np.sin(row) * row

    return ad.scan(step, 0.0, x.reshape(4, 3))[1]


def summed_by_loop(x: Any) -> Any:
    return ad.fori_loop(0, 4, lambda k, total: total + x[3 * k] * x[k], 0.0)


def sought(x: Any) -> Any:
    return ad.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, np.cos(s[1]) * x), (0, x))[1]


def chosen(x: Any) -> Any:
    return ad.cond(x[0] > 0, lambda x: x[:4] * 2, lambda x: x[4:8] ** 2, x)


JACOBIANS: list[Callable[[Any], Any]] = [
    *(differences, brusselator, arrow, looped, filled, scanned, summed_by_loop, sought, chosen),
    lambda x: np.where(x[PLACES] > 0, np.sin(x[PLACES]), x[:6]),
    lambda x: np.cumsum(x.reshape(3, 4), axis=1),
    lambda x: K @ np.tanh(x),
    lambda x: np.maximum(x, 0)[::3],
    lambda x: np.fft.rfft(x.reshape(3, 4)).real,
    lambda x: np.einsum("ij,kj->ki", x.reshape(3, 4), np.ones((2, 4))),
    lambda x: np.convolve(x, [1.0, 2.0]),
    lambda x: ad.checkpoint(differences)(x),
    lambda x: np.linalg.solve(np.eye(4) + np.ones((4, 4)), x.reshape(4, 3)),
    lambda x: np.sort(x),
    lambda x: np.ones(3),
    lambda x: x[:0],
]
HESSIANS: list[Callable[[Any], Any]] = [
    lambda x: np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2),
    lambda x: x[0] * np.sum(np.sin(x[1:])) + np.sum(x**3),
    lambda x: np.sum(np.sin(x[PLACES] * x[PLACES[::-1]])) + x[3],
    lambda x: np.prod(x[:4]) + np.sum(x[4:] ** 2),
    lambda x: np.sum(looped(x)),
    lambda x: np.sum(scanned(x) ** 2),
    lambda x: np.sum(x[:3]),
    lambda x: np.sum(np.exp(K @ x)),
]


def dense(block: Any, rows: int, columns: int) -> Any:
    return np.reshape(block, (rows, columns))


def close(found: Any, expected: Any) -> None:
    assert isinstance(found, sparse.csr_array)
    assert found.has_sorted_indices
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
@pytest.mark.parametrize("function", JACOBIANS)
def test_jacobians(function: Any, mode: Any) -> None:
    jacobian = ad.jacobian(function, sparse=True, mode=mode)
    for point in (X, -X, X + 0.1, X):  # the last ones by replay
        expected = ad.jacobian(function)(point)
        close(jacobian(point), dense(expected, np.size(function(point)), 12))
        pattern = ad.sparsity(function, point).toarray()
        near = ad.sparsity(function, point, local=True).toarray()
        assert not (~near & (dense(expected, *near.shape) != 0)).any()
        assert not (near & ~pattern).any()


@pytest.mark.parametrize("function", HESSIANS)
def test_hessians(function: Any) -> None:
    hessian = ad.hessian(function, sparse=True)
    for point in (X, -X, X + 0.1, X):
        close(hessian(point), ad.hessian(function)(point))
    pattern = ad.sparsity(function, X, order=2)
    assert (pattern != pattern.T).nnz == 0


def test_machine_code() -> None:
    with ad.config(native=True):
        close(ad.jacobian(brusselator, sparse=True)(X), ad.jacobian(brusselator)(X))
        close(ad.hessian(HESSIANS[1], sparse=True)(X), ad.hessian(HESSIANS[1])(X))


def test_exact_patterns() -> None:
    """Where the pattern is known it is found, and no more."""
    near = np.eye(11, 12, dtype=bool) | np.eye(11, 12, 1, dtype=bool)
    np.testing.assert_array_equal(ad.sparsity(differences, X).toarray(), near)
    lower = np.kron(np.eye(3), np.tril(np.ones((4, 4)))) != 0
    np.testing.assert_array_equal(ad.sparsity(JACOBIANS[10], X).toarray(), lower)
    np.testing.assert_array_equal(ad.sparsity(JACOBIANS[11], X).toarray(), K.toarray() != 0)
    np.testing.assert_array_equal(ad.sparsity(scanned, X).toarray(), np.eye(12, dtype=bool))
    assert ad.sparsity(chosen, X).nnz == 8
    assert ad.sparsity(chosen, X, local=True).nnz == 4
    assert ad.sparsity(np.sort, X, local=True).nnz == 12


def test_counters_of_loops_are_known() -> None:
    def filled_by_python(x: Any) -> Any:
        result = np.zeros(len(x))
        for k in range(1, len(x) - 1):
            result[k] = x[k - 1] - 2 * x[k] + x[k + 1] + np.sin(x[k])
        return result

    point = np.linspace(0, 1, 40)
    assert ad.sparsity(filled_by_python, point).nnz == 3 * 38
    close(ad.jacobian(filled_by_python, sparse=True)(point), ad.jacobian(filled_by_python)(point))


def test_long_loops_count_as_any_round() -> None:
    def carried(x: Any) -> Any:
        return ad.fori_loop(0, 30_000, lambda k, s: 0.5 * s + x, 0.0 * x)

    np.testing.assert_array_equal(ad.sparsity(carried, X).toarray(), np.eye(12, dtype=bool))


def test_containers_and_several_arguments() -> None:
    def function(p: Any, s: Any) -> Any:
        return {"x": p["a"][1:] * s, "y": (np.sum(p["b"]) * p["a"][0],)}

    point = {"a": RNG.normal(size=4), "b": RNG.normal(size=(2, 1))}, RNG.normal(size=3)
    found = ad.jacobian(function, argnums=(0, 1), sparse=True)(*point)
    expected = ad.jacobian(function, argnums=(0, 1))(*point)
    for block, whole, rows, columns in [
        (found["x"][0]["a"], expected["x"][0]["a"], 3, 4),
        (found["x"][0]["b"], expected["x"][0]["b"], 3, 2),
        (found["x"][1], expected["x"][1], 3, 3),
        (found["y"][0][0]["a"], expected["y"][0][0]["a"], 1, 4),
        (found["y"][0][1], expected["y"][0][1], 1, 3),
    ]:
        close(block, dense(whole, rows, columns))

    def energy(p: Any) -> Any:
        return np.sum(p["a"][:2] * p["b"][:, 0]) + np.sum(p["a"] ** 3)

    second, wanted = (ad.hessian(energy, sparse=flag)(point[0]) for flag in (True, False))
    for one, rows in (("a", 4), ("b", 2)):
        for other, columns in (("a", 4), ("b", 2)):
            close(second[one][other], dense(wanted[one][other], rows, columns))


def test_auxiliary_outputs() -> None:
    jacobian, aux = ad.jacobian(lambda x: (differences(x), x[0]), has_aux=True, sparse=True)(X)
    close(jacobian, ad.jacobian(differences)(X))
    assert aux == X[0]
    hessian, aux = ad.hessian(lambda x: (np.sum(x**3), {"x": x}), has_aux=True, sparse=True)(X)
    close(hessian, np.diag(6 * X))
    np.testing.assert_array_equal(aux["x"], X)


def test_what_indices_come_from_may_change() -> None:
    """Index arrays from the closure and from arguments, changed in place and put in anew."""
    places, weights = np.arange(12), np.ones(12)

    def function(x: Any, more: Any) -> Any:
        return weights * np.sin(x[places]) * x[more]

    jacobian = ad.jacobian(function, sparse=True)
    compiled = ad.jit(jacobian)
    more = np.arange(12)
    for number in range(60):
        if number % 7 == 3:
            places[:] = RNG.integers(0, 12, 12)
        if number % 11 == 5:
            more = RNG.integers(0, 12, 12)
        if number % 5 == 1:
            weights[:] = RNG.normal(size=12)
        if number == 30:
            places = RNG.integers(0, 12, 12)
        point = X + number
        expected = ad.jacobian(function)(point, more)
        close(jacobian(point, more), expected)
        close(compiled(point, more), expected)


def test_the_pattern_of_another_branch() -> None:
    def function(x: Any) -> Any:
        return x[1:] * x[:-1] if x[0] > 0 else x[1:] * x[0]

    jacobian = ad.jacobian(function, sparse=True)
    for _ in range(20):
        point = RNG.normal(size=6)
        close(jacobian(point), ad.jacobian(function)(point))


def test_results_are_the_users_own() -> None:
    jacobian = ad.jacobian(differences, sparse=True)
    for _ in range(4):
        result = jacobian(X)
        result.data[:] = 7
        result.indices[:] = 0
        result.indptr[:] = 0
    close(jacobian(X), ad.jacobian(differences)(X))


def test_inside_other_transforms() -> None:
    def product(x: Any) -> Any:
        return ad.jacobian(differences, sparse=True)(x) @ x

    def dense_product(x: Any) -> Any:
        return ad.jacobian(differences)(x) @ x

    np.testing.assert_allclose(
        ad.grad(lambda x: np.sum(product(x)))(X), ad.grad(lambda x: np.sum(dense_product(x)))(X)
    )
    points = RNG.normal(size=(3, 12))
    np.testing.assert_allclose(ad.vmap(product)(points), np.stack([*map(dense_product, points)]))
    np.testing.assert_allclose(ad.jit(product)(X), dense_product(X))


def test_single_precision() -> None:
    result = ad.jacobian(differences, sparse=True)(X.astype(np.float32))
    assert result.dtype == np.float32


def test_infinite_slopes_are_not_spread() -> None:
    """A zero of a seed is hard: an infinite entry is not added to others of its colour."""
    point = np.array([0.0, 1.0, 4.0])
    with np.errstate(divide="ignore"):
        close(ad.jacobian(np.sqrt, sparse=True)(point), np.diag([np.inf, 0.5, 0.25]))


def test_matrices_of_maps() -> None:
    for function in (differences, arrow, brusselator, lambda x: np.ones(3)):
        D = ad.derivative(function, X)
        close(D.matrix(sparse=True), D.matrix())
    D = ad.derivative(lambda p: {"a": p[0][1:] * p[1], "b": np.ones(2)}, (X, 2.0))
    close(D.matrix(sparse=True), D.matrix())
    close((D.H @ D).matrix(sparse=True), (D.H @ D).matrix())
    weighted = ad.derivative(differences, X, domain=Weighted(Euclidean(12), 1 + X**2))
    close(weighted.matrix(sparse=True), weighted.matrix())
    close(weighted.H.matrix(sparse=True), weighted.H.matrix())
    S = Symmetric(2)
    D = ad.derivative(lambda A: A @ A, np.array([[1.0, 2.0], [2.0, 0.0]]), domain=S)
    close(D.matrix(sparse=True), D.matrix())


def test_hessian_of_a_lagrangian() -> None:
    operator = ad.lagrangian_hessian(
        lambda x: np.sum(x**3), lambda x: x[1:] * x[:-1], X, np.arange(11.0)
    )
    close(operator.matrix(sparse=True), operator.matrix())


def test_plans_show_the_products() -> None:
    candidate = ad.plan(arrow, np.ones(100)).sparse
    assert candidate is not None
    assert (candidate.columns, candidate.rows, candidate.entries) == (2, 1, 298)
    assert candidate.operations < ad.plan(arrow, np.ones(100))["forward"].operations / 20
    assert "2 columns, 1 row for 298 entries" in str(ad.plan(arrow, np.ones(100)))
    assert ad.plan(np.sort, X).sparse is None


def test_large_ones_hold_no_dense_matrix() -> None:
    size = 30_000  # whose dense Jacobian has 7 GB
    point = np.linspace(0, 1, size)
    jacobian = ad.jacobian(differences, sparse=True)(point)
    assert jacobian.nnz == 2 * (size - 1)
    slopes = 2 * (point[1:] - point[:-1])
    np.testing.assert_allclose(jacobian.diagonal(), -slopes)
    hessian = ad.hessian(lambda x: np.sum(differences(x) ** 2), sparse=True)(point)
    assert hessian.nnz == 3 * size - 2


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: ad.jacobian(np.sin, sparse=1)(X), ad.errors.ArgumentTypeError, "sparse"),
        (
            lambda: ad.derivative(np.sin, X).matrix(sparse="yes"),
            ad.errors.ArgumentTypeError,
            "sparse",
        ),
        (
            lambda: ad.jacobian(np.sin, sparse=True, mode="optimal"),
            ad.errors.ArgumentError,
            "'optimal'",
        ),
        (
            lambda: ad.hessian(np.sum, sparse=True, composition="reverse-on-reverse"),
            ad.errors.ArgumentError,
            "'reverse-on-reverse'",
        ),
        (lambda: ad.sparsity(np.sin, X, order=3), ad.errors.ArgumentError, "order must be 1"),
        (lambda: ad.sparsity(np.sin, X, order=2.0), ad.errors.ArgumentTypeError, "order"),
        (lambda: ad.sparsity(np.sin, np.arange(3)), ad.errors.NotDifferentiableError, "int64"),
        (lambda: ad.sparsity(np.sin, X, order=2), ad.errors.NotDifferentiableError, "scalar"),
        (
            lambda: ad.jacobian(lambda x: x * 1j, sparse=True)(X),
            ad.errors.NotDifferentiableError,
            "real",
        ),
        (
            lambda: ad.hessian(lambda x: x, sparse=True)(X),
            ad.errors.NotDifferentiableError,
            "scalar",
        ),
    ],
)
def test_errors(call: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        call()


def test_scipy_takes_them() -> None:
    def rosenbrock(x: Any) -> Any:
        return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    def residuals(x: Any) -> Any:
        return np.concatenate([10 * (x[1:] - x[:-1] ** 2), 1 - x[:-1]])

    start = np.full(30, 1.2)
    fit = optimize.least_squares(residuals, start, jac=ad.jacobian(residuals, sparse=True))
    np.testing.assert_allclose(fit.x, 1, atol=1e-6)
    least = optimize.minimize(
        rosenbrock,
        start,
        method="trust-constr",
        jac=ad.grad(rosenbrock),
        hess=ad.hessian(rosenbrock, sparse=True),
    )
    np.testing.assert_allclose(least.x, 1, atol=1e-4)
