"""The derivative audit: what is right passes; each planted fault fails the test that is for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.testing import Outcome, Report, check, check_map, check_space
from adjoint.testing.remainders import Ladder, differentiate

RNG = np.random.default_rng(3)
X, A = RNG.normal(size=3), RNG.normal(size=(3, 3))


@dataclass
class Layer:
    weights: Any
    bias: Any


def filled(x: Any) -> Any:
    out = np.zeros(4)
    for i in range(4):
        out[i] = np.sin(x[i % 3]) * i
    return np.sum(out**2)


def newton(a: Any) -> Any:
    y = 1.0
    while abs(y * y - a) > 1e-13:
        y = 0.5 * (y + a / y)
    return y


def in_place(x: Any) -> Any:
    y = x.copy()
    y[1:] += y[:-1] ** 2
    y *= 2
    return y


def mixed(n: int, tree: Any) -> Any:
    return {"power": tree["a"] ** n, "count": n, "rest": [np.sum(tree["b"] * tree["a"])]}


RIGHT: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "scalar": (np.sin, (1.0,)),
    "constant": (lambda x: 0.0 * x + 3.0, (1.0,)),
    "linear": (lambda x: A @ x, (X,)),
    "quadratic": (lambda x: x @ A @ x, (X,)),
    "stationary point": (lambda x: np.sum(x**2), (np.zeros(3),)),
    "matrix": (lambda X: X.T @ X, (A,)),
    "two arguments": (lambda x, y: np.tanh(x) * np.exp(y), (X, X[::-1].copy())),
    "pytree": (lambda layer, x: np.tanh(layer.weights @ x + layer.bias), (Layer(A, X), X)),
    "static arguments, integers in the result": (mixed, (3, {"a": 2.0, "b": X})),
    "complex": (lambda z: np.exp(z) * z, (X + 1j * X[::-1],)),
    "complex to real": (lambda z: np.sum(np.abs(z) ** 2), (X + 1j,)),
    "real to complex": (lambda x: np.exp(1j * x), (X,)),
    "single precision": (
        lambda x: np.sum(np.tanh(x) ** 2 * np.exp(-x)),
        (X.astype(np.float32),),
    ),
    "loop that fills": (filled, (X,)),
    "loop on values": (newton, (2.0,)),
    "in-place writes": (in_place, (X,)),
    "large values": (lambda x: np.sum(1e8 + x**2 * 1e8), (X,)),
    "small values": (lambda x: np.sum(1e-9 * np.sin(x)), (X,)),
    "fast oscillation": (lambda x: np.sin(1e4 * x), (X,)),
    "near a kink": (lambda x: np.sum(np.abs(x)), (np.array([1e-4, 1.0, -1.0]),)),
    "many numbers": (lambda x: np.cumsum(x) if False else np.sin(x) * np.sum(x), (np.ones(200),)),
}


@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.parametrize("seed", [0, 1])
def test_what_is_right_passes(name: str, seed: int) -> None:
    function, args = RIGHT[name]
    report = check(function, *args, seed=seed)
    assert report.passed, str(report)
    made = {test.name for test in report.tests if test.passed}
    assert {"value under capture", "jvp = differences", "adjoint identity"} <= made, str(report)


def test_a_report_reads_as_a_table() -> None:
    report = check(np.sin, 1.0)
    text = str(report).splitlines()
    assert text[0] == "sin: passed (16 passed, 0 failed, 0 skipped)"
    assert text[2].split() == ["test", "where", "error", "allowed"]
    assert any("jvp = differences" in line and "argument 0" in line for line in text)
    assert bool(report)
    assert report.failures == report.skipped == ()


def test_the_seed_decides() -> None:
    one, same, other = (check(np.tanh, X, seed=seed) for seed in (1, 1, 2))
    assert one == same
    assert one != other


def test_first_order_alone() -> None:
    names = {test.name for test in check(np.sin, X, order=1).tests}
    assert "second-order modes" not in names
    assert "second remainder ~ h^3" not in names


# --- spaces ---------------------------------------------------------------------------------------


def test_spaces_given() -> None:
    domain = ad.spaces.Symmetric(3)
    codomain = ad.spaces.Weighted(ad.spaces.Euclidean((3, 3)), RNG.uniform(1, 2, (3, 3)))
    report = check(lambda S: S @ S, A + A.T, spaces=(domain, codomain))
    assert report.passed, str(report)
    assert any(test.where == "the spaces given" for test in report.tests)
    with pytest.raises(ad.errors.MembershipError):
        check(lambda S: S @ S, A, spaces=(domain, None))
    with pytest.raises(ad.errors.ArgumentError, match="pair"):
        check(np.sin, X, spaces=(domain,))


def test_check_space_and_check_map() -> None:
    space = ad.spaces.Weighted(ad.spaces.Euclidean(3), A @ A.T + np.eye(3))
    assert check_space(space).passed
    plane = ad.spaces.Euclidean(2)
    right = ad.maps.from_matrix(A[:2, :2], plane, plane)
    assert check_map(right).passed
    bent = ad.LinearMap(plane, plane, lambda u: u**2, lambda c: c)
    assert {test.name for test in check_map(bent).failures} == {"linearity", "adjoint identity"}
    blind = ad.LinearMap(plane, plane, lambda u: 2 * u)
    assert {test.outcome for test in check_map(blind).tests} == {Outcome.PASSED, Outcome.SKIPPED}


# --- planted faults -------------------------------------------------------------------------------


def failing(report: Report) -> set[str]:
    return {test.name for test in report.failures}


def planted(rule: Any, **more: Any) -> Any:
    sine = ad.primitive(lambda x: np.sin(x))
    sine.jvp(rule)
    for name, other in more.items():
        getattr(sine, name)(other)
    return sine


def right(p: Any, t: Any) -> Any:
    return np.sin(p[0]), np.cos(p[0]) * t[0]


def test_a_right_rule_passes() -> None:
    report = check(planted(right), X)
    assert report.passed, str(report)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_derivative_wrong_by_a_thousandth(dtype: Any) -> None:
    wrong = planted(lambda p, t: (np.sin(p[0]), np.cos(p[0]) * t[0] * dtype(1.001)))
    report = check(wrong, X.astype(dtype))
    assert {"first remainder ~ h^2", "jvp = differences", "vjp = differences"} <= failing(report)
    assert "adjoint identity" not in failing(report)
    (fault,) = (test for test in report.failures if test.name == "jvp = differences")
    assert fault.where == "argument 0"
    assert fault.error == pytest.approx(1e-3, rel=0.1)
    assert "FAILED" in str(report)


def test_the_argument_that_is_wrong_is_named() -> None:
    product = ad.primitive(lambda tree: tree["a"] * tree["b"])
    product.jvp(
        lambda p, t: (
            p[0]["a"] * p[0]["b"],
            p[0]["a"] * t[0]["b"] + 1.001 * t[0]["a"] * p[0]["b"],
        )
    )
    report = check(product, {"a": X, "b": X + 1})
    places = {test.where for test in report.failures if test.name == "jvp = differences"}
    assert places == {"argument 0['a']"}


def test_a_transpose_that_is_not_the_transpose() -> None:
    wrong = planted(right, vjp=lambda x: (np.sin(x), lambda w: 1.001 * np.cos(x) * w))
    found = failing(check(wrong, X))
    assert {"adjoint identity", "forward = reverse", "vjp = differences"} <= found
    assert "jvp = differences" not in found
    assert "first remainder ~ h^2" not in found


def test_a_transpose_wrong_by_very_little() -> None:
    """Differences could not tell; the identities can."""
    wrong = planted(right, vjp=lambda x: (np.sin(x), lambda w: (1 + 1e-10) * np.cos(x) * w))
    found = failing(check(wrong, X))
    assert {"adjoint identity", "forward = reverse"} <= found
    assert "vjp = differences" not in found


def test_a_transposed_matrix_that_is_not() -> None:
    wrong = ad.linear(lambda x: A @ x, lambda w: A @ w)
    report = check(wrong, X)
    assert {"adjoint identity", "forward = reverse", "vjp = differences"} <= failing(report)
    assert any("entry (" in test.detail for test in report.failures)


def test_a_second_derivative_wrong_by_a_thousandth() -> None:
    cosine = ad.primitive(lambda x: np.cos(x))
    cosine.jvp(lambda p, t: (np.cos(p[0]), -1.001 * np.sin(p[0]) * t[0]))
    wrong = planted(lambda p, t: (np.sin(p[0]), cosine(p[0]) * t[0]))
    assert failing(check(wrong, X)) == {"second remainder ~ h^3"}


def test_a_second_derivative_that_is_lost() -> None:
    wrong = planted(lambda p, t: (np.sin(p[0]), np.cos(ad.stop_gradient(p[0])) * t[0]))
    assert failing(check(wrong, X)) == {"second remainder ~ h^3"}


def test_second_orders_that_differ() -> None:
    """The pullback's own derivative is wrong: only compositions with reverse mode inside see it."""
    wrong = planted(right, vjp=lambda x: (np.sin(x), lambda w: np.cos(ad.stop_gradient(x)) * w))
    found = failing(check(wrong, X))
    assert "second-order modes" in found
    assert not found & {"jvp = differences", "vjp = differences", "adjoint identity"}


def test_a_value_that_capture_changes() -> None:
    state = {"calls": 0}

    def unsteady(x: Any) -> Any:
        state["calls"] += 1
        return np.sin(x) + (1e-6 if state["calls"] % 2 else 0.0)

    assert not check(unsteady, X).passed


def test_a_batch_that_is_not_a_loop() -> None:
    """A function that looks at the number of axes of what its primitive is given."""
    odd = ad.primitive(result=lambda x: x)(lambda x: np.sin(x))
    odd.jvp(right)
    report = check(odd, X)
    assert report.passed, str(report)
    assert any(test.name == "vmap = loop" and test.passed for test in report.tests)


def test_raise_on_failure() -> None:
    wrong = planted(lambda p, t: (np.sin(p[0]), 1.001 * np.cos(p[0]) * t[0]))
    with pytest.raises(ad.errors.CheckFailedError, match="first remainder"):
        check(wrong, X, raise_on_failure=True)
    assert check(np.sin, X, raise_on_failure=True).passed


# --- tests that cannot be made --------------------------------------------------------------------


def reasons(report: Report) -> dict[str, str]:
    return {test.name: test.detail for test in report.skipped}


def test_a_kink_is_not_a_fault() -> None:
    report = check(lambda x: np.sum(np.abs(x)), np.array([0.0, 1.0]))
    assert report.passed, str(report)
    assert "kink" in reasons(report)["Taylor remainders"]


def test_a_jump_is_not_a_fault() -> None:
    report = check(lambda x: x * np.where(x > 1, 1.0, 2.0), 1.0)
    assert report.passed, str(report)
    assert "jump" in reasons(report)["Taylor remainders"]


def test_values_that_are_not_finite() -> None:
    with np.errstate(all="ignore"):
        report = check(lambda x: np.sum(np.log(x)), np.array([1.0, -1.0]))
        assert "not finite" in reasons(report)["Taylor remainders"]
        report = check(lambda x: np.sqrt(x), 0.0)
    assert "not finite" in reasons(report)["Taylor remainders"]
    assert report.passed, str(report)


def test_a_domain_that_ends_nearby() -> None:
    report = check(lambda x: np.sum(np.log(x)), np.array([1e-5, 1.0]))
    assert report.passed, str(report)
    assert not report.skipped


def test_a_vjp_rule_alone() -> None:
    square = ad.primitive(lambda x: x**2)
    doubled = ad.primitive(lambda x, w: 2 * x * w)  # which is not entered, so not transposed
    doubled.vjp(lambda x, w: (doubled(x, w), lambda v: (doubled(w, v), doubled(x, v))))
    square.vjp(lambda x: (x**2, lambda w: doubled(x, w)))
    report = check(lambda x: np.sum(square(x)), X)
    assert report.passed, str(report)
    assert "VJP rule" in reasons(report)["jvp = differences"]
    made = {test.name for test in report.tests if test.passed}
    assert {"vjp = differences", "first remainder ~ h^2", "second remainder ~ h^3"} <= made
    square.vjp(lambda x: (x**2, lambda w: 2.002 * x * w))
    found = failing(check(lambda x: np.sum(square(x)), X))
    assert {"vjp = differences", "first remainder ~ h^2"} <= found


def test_values_asked_for_inside_vmap() -> None:
    report = check(newton, 2.0)
    assert "batch" in reasons(report)["vmap"]


def test_noise_that_hides_everything() -> None:

    noisy = ad.primitive(lambda x: np.sin(x) + 1e-2 * np.sin(1e9 * x))
    noisy.jvp(right)
    report = check(noisy, 1.0)
    assert "noise" in reasons(report)["Taylor remainders"], str(report)


# --- what has no derivative -----------------------------------------------------------------------


def test_functions_without_a_derivative() -> None:
    with pytest.raises(ad.errors.NotDifferentiableError, match="value is i8"):
        check(lambda x: np.argmax(x), X)
    with pytest.raises(ad.errors.NotDifferentiableError, match="argument of floating"):
        check(lambda n: n * 2, 3)
    with pytest.raises(ad.errors.NotDifferentiableError):
        check(lambda: 1.0)
    with pytest.raises(ad.errors.MissingRuleError, match="has none"):
        check(ad.primitive(lambda x: x**2), X)


# --- the measures ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("power", "rate"), [(1.5, 1.5), (2.0, 2.0), (3.0, 3.0)])
def test_rates(power: float, rate: float) -> None:
    ladder = Ladder(lambda h: np.array([1.0 + h + abs(h) ** power]), 1.0, np.ones(1), 2e-16)
    assert ladder.first(2e-16).rate == pytest.approx(rate, abs=0.05)


def test_differences_tell_how_good_they_are() -> None:
    found = differentiate(lambda h: np.array([np.exp(h)]), 1.0)
    assert found.value[0] == pytest.approx(1, abs=1e-11)
    assert found.error < 1e-10
    rough = differentiate(lambda h: np.array([np.exp(h) + 1e-6 * np.sin(1e12 * h)]), 1.0)
    assert abs(rough.value[0] - 1) < 1e3 * rough.error


# --- arguments that hold what carries no derivative -----------------------------------------------


@dataclass
class NamedLayer:
    weights: Any
    name: str
    count: int = 2


@pytest.mark.parametrize(
    "point",
    [
        NamedLayer(np.array([1.0, 2.0]), "first"),
        {"weights": np.ones(2), "name": "first", "count": 2},
    ],
    ids=["dataclass", "dict"],
)
def test_text_and_counts_in_an_argument_are_held(point: Any) -> None:
    def parts(layer: Any) -> Any:
        return layer if isinstance(layer, dict) else vars(layer)

    def value(layer: Any) -> Any:
        assert parts(layer)["name"] == "first"
        return np.sum(parts(layer)["weights"] ** parts(layer)["count"])

    @ad.primitive
    def cube(x: Any) -> Any:
        return x**3

    # Its factor should be 3.
    cube.jvp(lambda x, u: (x[0] ** 3, 2 * x[0] ** 2 * u[0]))
    report = ad.testing.check(value, point)
    assert report.passed
    assert len(report.tests) > 10
    assert not ad.testing.check(lambda layer: np.sum(cube(parts(layer)["weights"])), point).passed


def test_an_object_that_is_no_container_is_told_how_to_be_one() -> None:
    class Bare:
        weights = np.ones(2)

    with pytest.raises(ad.errors.NotDifferentiableError, match=r"register_container\(.*Bare"):
        ad.testing.check(lambda bare: np.sum(bare.weights), Bare())
    with pytest.raises(ad.errors.ArgumentTypeError, match="Keep it out of the tree"):
        ad.optimize.minimize(lambda layer: np.sum(layer.weights), NamedLayer(np.ones(2), "first"))
