"""Dense Jacobians by few products: the numbers that one product for each argument gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad

X = np.random.default_rng(7).normal(size=96)
STIFF = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e308, 5e-324, 2.0])


def differences(x: Any) -> Any:
    return (x[1:] - x[:-1]) ** 2


def reacting(x: Any) -> Any:
    u, v = x.reshape(2, 6, 8)
    around = sum(np.roll(u, shift, axis) for shift in (1, -1) for axis in (0, 1)) - 4 * u
    return np.stack([around + u**2 * v - 2 * u, u - u**2 * v])


FUNCTIONS: list[Any] = [
    differences,
    reacting,
    np.sin,
    lambda x: np.where(x > 0, np.log(x), x * x[::-1]),
    lambda x: np.sum(x.reshape(-1, 1) * np.array([1.0, 2.0]), axis=1),
    lambda x: np.concatenate([np.ones(5), x[3:] * x[:-3], np.zeros(2)]),
    lambda x: np.sqrt(x[1:]) / x[:-1] - np.abs(x[1:]),
    lambda x: np.maximum(x, np.roll(x, 5)) * 1e200 * np.exp(x * 300),
    lambda x: np.pad(x, 2)[4:] * x,
]


def is_by_few(function: Any, *args: Any, **options: Any) -> bool:
    with np.errstate(all="ignore"):
        program = str(ad.program(ad.jacobian(function, **options), *args))
    return "gather_set" in program


def test_plans_say_so() -> None:
    plan = ad.plan(differences, X)
    assert plan.by_colours
    assert "sparse: 2 columns for 190 entries" in repr(plan)
    assert str(plan).endswith("as the sparse one.")
    for function, x in ((differences, X[:20]), (np.cumsum, X), (lambda x: np.sum(x) * x, X)):
        plan = ad.plan(function, x)
        assert plan.by_colours == is_by_few(function, x)
        assert not plan.by_colours
        assert "sparse one" not in str(plan)
    with ad.config(strong_zeros=False):
        assert not ad.plan(differences, X).by_colours


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_numbers(function: Any, dtype: Any, native: bool) -> None:
    assert is_by_few(function, X)  # of narrow arguments and wide results, not always
    jacobian, each = ad.jacobian(function), ad.jacobian(function, mode="forward")
    rtol = 1e-14 if dtype == np.float64 else 1e-6
    with ad.config(native=native), np.errstate(all="ignore"):
        for point in (X, np.tile(STIFF, 12), np.repeat(STIFF, 12), -X, X):
            found, expected = jacobian(point.astype(dtype)), each(point.astype(dtype))
            assert found.dtype == expected.dtype
            np.testing.assert_allclose(found, expected, rtol=rtol)
            np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
            np.testing.assert_array_equal(found == 0, expected == 0)


def test_containers_and_auxiliary_results() -> None:
    def function(x: Any, y: Any) -> Any:
        return {"one": x * y["a"], "none": np.ones(70), "other": differences(y["a"])}, x[0]

    args = (X, {"a": X[::-1].copy()})
    found, aux = ad.jacobian(function, argnums=(0, 1), has_aux=True)(*args)
    expected, _ = ad.jacobian(function, argnums=(0, 1), has_aux=True, mode="forward")(*args)
    assert aux == X[0]
    for name in expected:
        np.testing.assert_allclose(found[name][0], expected[name][0], rtol=1e-14)
        np.testing.assert_allclose(found[name][1]["a"], expected[name][1]["a"], rtol=1e-14)


def test_what_is_not_computed_so() -> None:
    assert not is_by_few(differences, X[:40])  # few arguments
    assert not is_by_few(np.cumsum, X)
    assert not is_by_few(lambda x: x * np.sum(x), X)
    assert not is_by_few(lambda x: x * x[0], X[:63])
    assert not is_by_few(lambda x: np.eye(96) @ x, X)
    assert not is_by_few(lambda x: x[np.argsort(x)], X)  # what is read is not known
    assert not is_by_few(differences, X, mode="forward")
    with ad.config(strong_zeros=False):
        assert not is_by_few(differences, X)


def test_weak_zeros_are_those_of_each_product() -> None:
    point = X.copy()
    point[3] = np.inf
    forward = ad.jacobian(np.square, mode="forward")
    for jacobian in (ad.jacobian(np.square), ad.jit(ad.jacobian(np.square))):
        for strong in (False, True, True, True, False, True, False):  # also once it is kept
            with ad.config(strong_zeros=strong), np.errstate(all="ignore"):
                np.testing.assert_array_equal(jacobian(point), forward(point))
                assert np.isnan(jacobian(point)).any() != strong


def test_results_that_are_wider_than_arguments_lose_no_digits() -> None:
    point, factors = np.linspace(0.5, 2, 64).astype(np.float32), np.linspace(1, 2, 64) * np.pi

    def few_rows(x: Any) -> Any:
        y = x * factors
        product = y[:16] * y[16:32]
        while product.size > 1:
            product = product[: product.size // 2] + product[product.size // 2 :]
        return np.concatenate([y[1:] ** 2, product])

    expected = ad.jacobian(few_rows, mode="forward")(point)
    np.testing.assert_array_equal(ad.jacobian(few_rows)(point), expected)


def test_branches_by_value() -> None:
    def function(x: Any) -> Any:
        return x * x if x[0] > 0 else differences(x)

    jacobian = ad.jacobian(function)
    for _ in range(6):
        np.testing.assert_allclose(jacobian(np.abs(X)), np.diag(2 * np.abs(X)))
        each = ad.jacobian(differences, mode="forward")(-np.abs(X))
        np.testing.assert_allclose(jacobian(-np.abs(X)), each)


def test_derivatives_and_batches_of_it() -> None:
    def energy(x: Any, mode: Any) -> Any:
        return np.sum(np.sin(ad.jacobian(differences, mode=mode)(x)))

    one, other = (ad.grad(lambda x, m=mode: energy(x, m))(X) for mode in ("auto", "forward"))
    np.testing.assert_allclose(one, other, rtol=1e-12)
    batch = np.stack([X, X**2])
    one, other = (ad.vmap(ad.jacobian(differences, mode=m))(batch) for m in ("auto", "forward"))
    np.testing.assert_allclose(one, other, rtol=1e-14)
    tangents = [
        ad.jvp(ad.jacobian(differences, mode=m), (X,), (np.cos(X),))[1] for m in ("auto", "forward")
    ]
    np.testing.assert_allclose(*tangents, rtol=1e-14)


def test_jit_and_second_order() -> None:
    def function(x: Any) -> Any:
        return np.sum(differences(x) * x[1:])

    found = ad.jit(ad.jacobian(ad.grad(function)))(X)
    np.testing.assert_allclose(found, ad.hessian(function)(X), rtol=1e-12, atol=1e-12)
