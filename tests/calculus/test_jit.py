"""jit, stop_gradient, and looking at programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.spaces import Euclidean, Weighted
from tests.counting import counting

X = np.array([0.5, -1.0, 2.0])


# --- jit ------------------------------------------------------------------------------------------


def test_jit_gives_the_same_results_and_captures_once():
    function, calls = counting(lambda p, s: {"y": np.sin(p["x"]) * s})
    jitted = ad.jit(function)
    for scale in (1.0, 2.0, -3.0):
        np.testing.assert_allclose(jitted({"x": X}, s=scale)["y"], np.sin(X) * scale)
    assert len(calls) == 1


def test_a_new_signature_is_captured_anew():
    function, calls = counting(lambda x: x * 2)
    jitted = ad.jit(function)
    for x in (X, X[:2], X.astype(np.float32), 1.0, 3, np.float64(1.0), np.arange(3), 1j):
        result = jitted(x)
        np.testing.assert_array_equal(result, x * 2)
        assert np.asarray(result).dtype == np.asarray(x * 2).dtype
    assert len(calls) == 8
    jitted(X + 1)
    assert len(calls) == 8


@pytest.mark.parametrize("transform", [lambda f: f, ad.grad, lambda f: ad.jit(ad.grad(f))])
def test_functions_that_ask_for_values_take_the_right_branch(transform):
    def absolute(x):
        return x if x > 0 else -x

    jitted, plain = transform(ad.jit(absolute)), transform(absolute)
    for x in (2.0, -2.0, 3.0, -3.0, 0.0):
        assert jitted(x) == plain(x)


def test_loops_that_depend_on_values():
    @ad.jit
    def grow(x):
        count = 0
        while x < 100:
            x, count = x * 3, count + 1
        return x, count

    assert grow(1.0) == (243.0, 5)
    assert grow(50.0) == (150.0, 1)
    assert ad.grad(lambda x: grow(x)[0])(1.0) == 243
    assert ad.grad(lambda x: grow(x)[0])(50.0) == 3


def test_arguments_that_are_no_arrays_are_part_of_the_signature():
    function, calls = counting(lambda x, how, flag: np.sin(x) if how == "sin" else np.cos(x))
    jitted = ad.jit(function)
    for how in ("sin", "cos", "sin", "cos"):
        np.testing.assert_array_equal(jitted(X, how, None), getattr(np, how)(X))
    assert len(calls) == 2


def test_integers_that_decide_shapes():
    jitted = ad.jit(lambda x, shape: x.reshape(shape))
    assert jitted(np.ones(6), (2, 3)).shape == (2, 3)
    assert jitted(np.ones(6), (3, 2)).shape == (3, 2)


def test_arguments_that_cannot_be_hashed():
    powers = {1, 2}
    jitted = ad.jit(lambda x, s: sum(x**k for k in sorted(s)))
    for _ in range(2):
        np.testing.assert_array_equal(jitted(X, powers), X + X**2)
    powers.add(3)
    np.testing.assert_array_equal(jitted(X, powers), X + X**2 + X**3)


def test_what_is_read_besides_the_arguments_is_read_anew():
    scale = np.full(3, 2.0)
    jitted = ad.jit(lambda x: x * scale)
    np.testing.assert_array_equal(jitted(X), 2 * X)
    scale[:] = 5
    np.testing.assert_array_equal(jitted(X), 5 * X)


def test_a_closure_over_outer_traced_values():
    def outer(w):
        return np.sum(ad.jit(lambda x: np.sin(x * w))(X))

    for _ in range(2):
        np.testing.assert_allclose(ad.grad(outer)(2.0), np.sum(np.cos(2 * X) * X))


def test_one_jitted_function_under_two_outer_values():
    held = []
    inner = ad.jit(lambda x: np.sum(x * held[-1]))

    def outer(w):
        held.append(w)
        return inner(X * w)

    assert ad.grad(outer)(2.0) == pytest.approx(4 * np.sum(X))
    assert ad.grad(outer)(3.0) == pytest.approx(6 * np.sum(X))


@pytest.mark.parametrize(
    "build",
    [
        lambda f: ad.jit(ad.grad(f)),
        lambda f: ad.grad(ad.jit(f)),
        lambda f: ad.jit(ad.grad(ad.jit(f))),
        lambda f: ad.jit(ad.jit(ad.grad(f))),
    ],
)
def test_nesting_with_grad(build):
    gradient = build(lambda x: np.sum(np.sin(x) ** 2))
    for scale in (1.0, 2.0):
        np.testing.assert_allclose(gradient(scale * X), np.sin(2 * scale * X), rtol=1e-12)


def test_of_a_gradient_in_a_space():
    weight = np.array([[2.0, 1.0], [1.0, 3.0]])
    gradient = ad.jit(ad.grad(lambda x: x @ x, space=Weighted(Euclidean(2), weight)))
    for x in (X[:2], X[1:]):
        np.testing.assert_allclose(gradient(x), np.linalg.solve(weight, 2 * x), rtol=1e-13)


def test_the_kink_is_part_of_the_signature():
    slope = ad.jit(ad.grad(np.abs))
    found = []
    for weight in (0.0, 1.0, 0.0):
        with ad.config(kink=weight):
            found.append(slope(0.0))
    assert found == [-1, 1, -1]


# --- stop_gradient --------------------------------------------------------------------------------


def test_stop_gradient_cuts_the_derivative_and_keeps_the_value():
    value, gradient = ad.value_and_grad(lambda x: np.sum(x * ad.stop_gradient(x)))(X)
    assert value == np.sum(X**2)
    np.testing.assert_array_equal(gradient, X)


def test_stop_gradient_of_containers_and_constants():
    tree = ad.stop_gradient({"a": X, "b": [2.0, None]})
    np.testing.assert_array_equal(tree["a"], X)
    assert tree["b"] == [2.0, None]
    value, tangent = ad.jvp(lambda x: ad.stop_gradient({"a": x, "b": (2 * x,)}), (X,), (X,))
    np.testing.assert_array_equal(value["b"][0], 2 * X)
    np.testing.assert_array_equal(tangent["b"][0], np.zeros(3))


def test_stop_gradient_cuts_every_order_and_every_level():
    assert ad.grad(ad.grad(lambda x: x**2 * ad.stop_gradient(x)))(3.0) == 6
    assert ad.grad(lambda x: ad.grad(lambda y: y * ad.stop_gradient(x * y))(x))(3.0) == 0
    assert ad.vmap(ad.grad(lambda x: x * ad.stop_gradient(x)))(X).tolist() == X.tolist()


# --- programs to look at --------------------------------------------------------------------------


def test_a_view_shows_the_program_and_its_transforms():
    view = ad.program(lambda x, c: np.sum(np.sin(x) * c), X, 2.0)
    assert "sin" in str(view)
    assert len(view) == len(view.program.equations) == 3
    assert view.active == [True, True]
    assert "cos" in str(view.jvp())
    assert "cos" in str(view.vjp())
    assert "cos" not in str(view.linearize())
    assert "cos" not in str(view.transpose())
    assert "def program(" in view.source()
    assert view.vmap(7).program.inputs[0].type.shape == (7, 3)


def test_equal_structure_means_equal_programs():
    def build(scale):
        return lambda x: np.sum(np.sin(x) * scale)

    one, other = ad.program(build(2.0), X), ad.program(build(3.0), X + 1)
    assert one == other
    assert hash(one) == hash(other)
    assert one != ad.program(build(2.0), X[:2])
    assert one != ad.program(lambda x: np.sum(np.cos(x) * 2.0), X)


def test_constants_of_the_closure_are_inputs_of_the_program():
    view = ad.program(lambda x: x * X + 2.0, X)
    assert view.arguments == 1
    assert len(view.program.inputs) == 3


def test_program_needs_an_array():
    with pytest.raises(ad.errors.ArgumentTypeError, match="at least one array or number"):
        ad.program(lambda x: x, "text")


def test_integers_are_not_differentiated_in_views():
    view = ad.program(lambda x, n: x * n, X, np.arange(3))
    assert view.active == [True, False]
    assert len(view.vjp().program.outputs) == 2


def test_as_a_decorator_with_arguments() -> None:
    @ad.jit(paths=1, strict=True)
    def absolute(x: Any) -> Any:
        """Of a number."""
        return x if x > 0 else -x

    assert absolute.__doc__ == "Of a number."
    assert absolute(2.0) == 2.0
    with pytest.warns(ad.errors.ManyPathsWarning):
        assert absolute(-2.0) == 2.0
    with pytest.raises(ad.errors.ArgumentError, match="paths"):
        ad.jit(paths=0)


@pytest.mark.parametrize(
    ("call", "usage"),
    [
        (lambda: ad.hvp(np.ones(2), np.ones(2), np.ones(2)), "hvp(f, primal, direction)"),
        (lambda: ad.jvp(1.0, (1.0,), (1.0,)), "jvp(f, primals, tangents)"),
        (lambda: ad.vjp(1.0, 2.0), "vjp(f, *primals)"),
        (lambda: ad.taylor(1.0, 1.0, 1.0, 2), "taylor(f, x, directions, order)"),
        (lambda: ad.jit(3.0), "jit(f)(x)"),
    ],
)
def test_what_takes_a_function_says_how(call: Any, usage: str) -> None:
    with pytest.raises(ad.errors.ArgumentTypeError) as caught:
        call()
    assert f"Write {usage}" in str(caught.value)


def test_a_new_length_at_every_call_is_not_compiled_at_every_call() -> None:
    jitted = ad.jit(ad.grad(lambda x: np.sum(np.sin(x) ** 2)))
    for length in range(2, 6):
        jitted(np.ones(length))
    compiled = ad.cache_info().compiled
    for length in range(6, 20):
        np.testing.assert_allclose(jitted(np.ones(length)), np.full(length, np.sin(2.0)))
    assert ad.cache_info().compiled == compiled
    np.testing.assert_allclose(jitted(np.ones(10)), np.full(10, np.sin(2.0)))  # it comes again
    assert ad.cache_info().compiled + ad.cache_info().loaded > compiled
