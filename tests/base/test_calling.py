"""Calls that do not fit: the words of other tools, near misses, and what is left out."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from scipy import optimize

import adjoint as ad
from adjoint.base.errors import ArgumentTypeError
from adjoint.base.signatures.calling import named

# What hands words on to the function, and what answers when it is entered.
TAKES_ANY = {
    "draw",
    "colouring",
    "explain",
    "explain_nan",
    "kinks",
    "nodes",
    "plan",
    "program",
    "config",
    "sparsity",
}
FUNCTIONS = {
    f"{home.__name__}.{name}": value
    for home in (ad, ad.optimize, ad.implicit, ad.testing)
    for name, value in vars(home).items()
    if name not in TAKES_ANY and not name.startswith("_") and inspect.isfunction(value)
}


def square(x: Any) -> Any:
    return np.sum(x**2)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_answers_for_an_unknown_word(name: str) -> None:
    with pytest.raises(ad.errors.AdjointError, match="no_such_word"):
        FUNCTIONS[name](square, np.ones(2), no_such_word=1)


@pytest.mark.parametrize(
    ("call", "advice"),
    [
        (lambda: ad.grad(square, argnum=1), "Write argnums"),
        (lambda: ad.value_and_grad(square, wrt=1), "Write argnums"),
        (lambda: ad.jacobian(square, argnum=1), "Write argnums"),
        (lambda: ad.hessian(square, has_auxiliary=True), "Write has_aux"),
        (lambda: ad.jit(square, static_argnums=1), "It is not needed: arrays and numbers are"),
        (lambda: ad.grad(square, static_argnums=1), "It is not needed"),
        (lambda: ad.vmap(square, in_dims=0), "Write in_axes"),
        (lambda: ad.hvp(square, np.ones(2), v=np.ones(2)), "Write direction"),
        (lambda: ad.optimize.minimize(square, np.ones(2), tolerance=1), "Write tol"),
        (lambda: ad.implicit.root(square, x0=np.ones(2)), "Write initial"),
        (lambda: ad.optimize.LineSearch(shrinkage=0.5), "It takes"),
    ],
)
def test_a_word_of_another_tool_is_told_the_one_here(call: Any, advice: str) -> None:
    with pytest.raises(ArgumentTypeError, match=advice):
        call()


@pytest.mark.parametrize(
    ("derivatives", "advice"),
    [
        ({"jac": ad.grad}, r"for SciPy, jac=ad\.grad\(f\)"),
        ({"jac": ad.grad(square), "hess": ad.hessian}, r"for SciPy, hess=ad\.hessian\(f\)"),
        (
            {"jac": ad.grad(square), "hessp": ad.hvp},
            r"for SciPy, hessp=lambda x, u: ad\.hvp\(f, x, u\)",
        ),
    ],
)
def test_what_scipy_is_to_be_given(derivatives: Any, advice: str) -> None:
    with pytest.raises(ArgumentTypeError, match=advice):
        optimize.minimize(square, np.ones(2), method="Newton-CG", **derivatives)


def test_what_is_missing_is_named() -> None:
    with pytest.raises(ArgumentTypeError, match=r"'tangents'\. Write jvp\(f, primals, tangents\)"):
        ad.jvp(square, (np.ones(2),))
    with pytest.raises(ArgumentTypeError, match=r"grad.*Write grad\(f\)\(x\)"):
        ad.grad()


def test_errors_from_within_are_passed_on() -> None:
    @named
    def failing(function: Any) -> Any:
        return function(1, 2)

    with pytest.raises(TypeError, match=r"takes 1 positional argument but 2 were given") as caught:
        failing(lambda x: x)
    assert type(caught.value) is TypeError


def test_a_named_function_looks_as_it_did() -> None:
    assert list(inspect.signature(ad.grad).parameters) == [
        "function",
        "argnums",
        "space",
        "has_aux",
    ]
    assert (
        ad.grad.__globals__["__name__"] == "adjoint.calculus.first_order.gradient"
    )  # where doctest looks
