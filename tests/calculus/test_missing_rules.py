"""Functions with one derivative rule: what is not told which mode to use takes one that it has."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import optree
import pytest

import adjoint as ad

RNG = np.random.default_rng(29)
MODES = list(ad.Mode)
X, U, V = RNG.normal(size=(3, 4))


def close(found, expected):
    for one, two in zip(optree.tree_leaves(found), optree.tree_leaves(expected), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-10, atol=1e-12)


@ad.primitive
def reversed_only(x):
    return np.sin(x)


@ad.primitive
def times_cosine(x, w):
    return np.cos(x) * w


@times_cosine.vjp
def _(x, w):
    return times_cosine(x, w), lambda v: (-np.sin(x) * w * v, times_cosine(x, v))


@reversed_only.vjp
def _(x):  # which cannot be transposed, since capture does not enter what it calls
    return reversed_only(x), lambda w: times_cosine(x, w)


def forward_only(x):
    return ad.linear(lambda x: 2 * x)(x)


def no_rule(x):
    return ad.primitive(np.sin, result=lambda x: x)(x)


# --- Jacobians ------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [ad.Mode.MIDDLE, ad.Mode.OPTIMAL, ad.Mode.AUTO])
@pytest.mark.parametrize("lengths", [(4, 4), (2, 9), (9, 2), (9, 2, 9), (3, 5, 2, 5, 3)])
@pytest.mark.parametrize("inner", [reversed_only, forward_only])
def test_a_mode_that_lacks_a_rule_is_not_taken(inner, lengths, mode):
    """A VJP rule alone, and a linear function without its transpose."""
    first, *rest = [RNG.normal(size=(after, before)) for before, after in pairwise(lengths)]

    def function(inner):
        def composed(x):
            x = inner(first @ inner(x))
            for factor in rest:
                x = factor @ x
            return inner(x)

        return composed

    known = np.sin if inner is reversed_only else lambda x: 2 * x
    x = RNG.normal(size=lengths[0])
    close(ad.jacobian(function(inner), mode=mode)(x), ad.jacobian(function(known))(x))
    found = ad.plan(function(inner), x)
    missing = ad.Mode.FORWARD if inner is reversed_only else ad.Mode.REVERSE
    assert found[missing].operations == np.inf
    assert found[ad.Mode.AUTO].operations < np.inf
    assert "inf       inf" in str(found)
    with pytest.raises(ad.errors.MissingRuleError):
        ad.jacobian(function(inner), mode=missing)(x)


@pytest.mark.parametrize("mode", [ad.Mode.MIDDLE, ad.Mode.OPTIMAL, ad.Mode.AUTO])
@pytest.mark.parametrize("inner", [reversed_only, forward_only])
def test_a_mode_that_lacks_a_rule_within_a_loop_is_not_taken(inner, mode):
    def looped(x):
        return ad.fori_loop(0, 3, lambda i, y: inner(y) * 0.5, x)

    expected = np.eye(4) if inner is forward_only else _slopes_of_sines(X)
    close(ad.jacobian(looped, mode=mode)(X), expected)


def _slopes_of_sines(x):
    """Of three rounds of sin(x) / 2."""
    slope = np.ones(4)
    for _ in range(3):
        slope, x = slope * np.cos(x) / 2, np.sin(x) / 2
    return np.diag(slope)


def test_a_jacobian_without_any_rule():
    function = ad.primitive(np.sin, result=lambda x: x)
    for mode in MODES:
        with pytest.raises(ad.errors.MissingRuleError, match="and it has none"):
            ad.jacobian(function, mode=mode)(np.ones(3))
    with pytest.raises(ad.errors.MissingRuleError, match="and it has none"):
        ad.plan(function, np.ones(3))


# --- second derivatives ---------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 3, 20])
@pytest.mark.parametrize("inner", [reversed_only, forward_only])
def test_auto_takes_a_composition_that_has_its_rules(inner, size):
    """A VJP rule alone, or a linear function without its transpose; and what lies around it."""

    def known(x):
        return np.sin(x) if inner is reversed_only else 2 * x

    def function(inner):
        return lambda x: np.sum(inner(x[::-1] * x) ** 3 * x)

    x, u, v = np.random.default_rng(size).uniform(0.5, 1, (3, size))
    close(ad.hvp(function(inner), x, u), ad.hvp(function(known), x, u))
    close(ad.hessian(function(inner))(x), ad.hessian(function(known))(x))
    if inner is reversed_only:  # debug mode checks what is linear, and cannot see it there
        return
    B = ad.second_derivative(lambda x: inner(x * x) * np.sum(x), x)
    expected = ad.second_derivative(lambda x: known(x * x) * np.sum(x), x)
    close(B(u, v), expected(u, v))
    close(B(u).T(B.codomain.covector(v))(u), expected(u).T(B.codomain.covector(v))(u))


@pytest.mark.parametrize("composition", list(ad.Composition))
def test_a_second_derivative_without_any_rule(composition):
    def function(x):
        return np.sum(no_rule(x))

    with pytest.raises(ad.errors.MissingRuleError, match="and it has none"):
        ad.hvp(function, X, U, composition=composition)
    with pytest.raises(ad.errors.MissingRuleError, match="and it has none"):
        ad.hessian(function, composition=composition)(X)
    with pytest.raises(ad.errors.MissingRuleError, match="and it has none"):
        ad.second_derivative(function, X, composition=composition)(U, V)
