"""Spans, ranges and kernels."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import ArgumentError, ArgumentTypeError, MembershipError
from adjoint.base.pytrees import tree_map
from adjoint.maps import adjoint_error, embedding, from_matrix, space_error
from adjoint.spaces import Euclidean, Product, Span, Symmetric, TraceFree, Weighted
from tests.spaces.strategies import positive_matrix

GENERATOR = np.random.default_rng(0)
MATRIX = GENERATOR.standard_normal((5, 2)) @ GENERATOR.standard_normal((2, 4))
MAP = from_matrix(MATRIX, Euclidean(4), Euclidean(5))


def test_span_of_dependent_elements():
    u, v = np.array([1.0, 1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0, -1.0])
    space = Span([u, v, u + v, np.zeros(4)], Euclidean(4))
    assert space.dimension == 2
    assert space.contains(3 * u - v)
    assert not space.contains(u + 1e-9 * np.eye(4)[0])
    projector = (np.outer(u, u) + np.outer(v, v)) / 2
    x = Euclidean(4).random(0)
    np.testing.assert_allclose(space.restrict(x), projector @ x, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(embedding(space).H(x), projector @ x, rtol=1e-13, atol=1e-15)
    assert Span([], Euclidean(4)).dimension == 0


def test_range_and_kernel_are_orthogonal_complements():
    """The kernel of D is the orthogonal complement of the range of D.H."""
    image, kernel, coimage = Span.range(MAP), Span.kernel(MAP), Span.range(MAP.H)
    assert (image.dimension, kernel.dimension, coimage.dimension) == (2, 2, 2)
    assert image.contains(MAP(np.ones(4)))
    assert not image.contains(np.ones(5))
    np.testing.assert_allclose(MAP(kernel.random(0)), np.zeros(5), atol=1e-13)
    x = Euclidean(4).random(1)
    np.testing.assert_allclose(kernel.restrict(x) + coimage.restrict(x), x, rtol=1e-12)
    full = from_matrix(np.eye(3), Euclidean(3), Euclidean(3))
    assert Span.kernel(full).dimension == 0
    assert Span.range(full).dimension == 3


@pytest.mark.parametrize(
    "space",
    [
        Span.kernel(MAP),
        Span([np.ones(3) + 1j], Euclidean(3, complex)),
        Span([Symmetric(3).random(seed) for seed in range(3)], Symmetric(3)),
        Span([{"a": np.ones(2), "b": 3.0}], Product({"a": Euclidean(2), "b": Euclidean(())})),
        Span([np.ones(3, np.float32)], Euclidean(3, np.float32)),
    ],
    ids=repr,
)
def test_laws(space):
    tolerance = 1e-6 if space._real_dtype == np.float32 else 1e-13
    assert space_error(space) < tolerance
    assert space_error(Weighted(space, positive_matrix(space.dimension, 0))) < tolerance
    assert adjoint_error(embedding(space)) < tolerance
    np.testing.assert_allclose(space.gram(), np.eye(space.dimension), atol=tolerance)
    assert space.contains(space.zero())


def test_a_real_span_of_complex_arrays_is_real():
    space = Span([np.array([1.0 + 0j, 1j])], Euclidean(2, complex))
    assert space.dimension == 1
    assert not space.contains(np.array([1j, -1.0]))


def test_trace_free_matrices_are_a_kernel():
    trace = ad.derivative(lambda x: np.trace(x), np.zeros((3, 3)))
    kernel = Span.kernel(trace)
    assert kernel.dimension == TraceFree(3).dimension
    x = Euclidean((3, 3)).random(0)
    np.testing.assert_allclose(kernel.restrict(x), TraceFree(3).restrict(x), atol=1e-14)


def test_gradient_along_a_span():
    """E.1.37: the gradient under constraints that are linear is the projected one."""
    space = Span.kernel(from_matrix(np.ones((1, 3)), Euclidean(3), Euclidean(1)))
    x = np.array([1.0, -2.0, 1.0])
    gradient = ad.grad(lambda x: np.sum(x**3), space=space)(x)
    np.testing.assert_allclose(gradient, 3 * x**2 - np.mean(3 * x**2), rtol=1e-13)


def test_equality_and_repr():
    elements = [np.ones(3)]
    assert Span(elements, Euclidean(3)) == Span(elements, Euclidean(3))
    assert hash(Span(elements, Euclidean(3))) == hash(Span(elements, Euclidean(3)))
    assert Span(elements, Euclidean(3)) != Span([np.eye(3)[0]], Euclidean(3))
    assert repr(Span(elements, Euclidean(3))) == "Span(1 of Euclidean((3,)))"


def test_errors():
    with pytest.raises(ArgumentError, match="basis is orthonormal, so that its projections are"):
        Span([np.ones(2)], Weighted(Euclidean(2), 2.0))
    with pytest.raises(ArgumentTypeError, match="Got the Python int 3 for the space"):
        Span([np.ones(2)], 3)
    with pytest.raises(MembershipError, match=r"elements\[1\] must be an element of Euclidean"):
        Span([np.ones(2), np.ones(3)], Euclidean(2))
    with pytest.raises(MembershipError, match=r"does not lie in the span: space\.restrict\(x\)"):
        Span([np.ones(2)], Euclidean(2)).check(np.array([1.0, 0.0]))
    with pytest.raises(MembershipError, match=r"x must be an element of Span\(1 of Euclidean"):
        Span([np.ones(2)], Euclidean(2)).check(np.ones(3))


@pytest.mark.parametrize("entry", [np.nan, np.inf])
def test_what_is_not_finite_spans_nothing(entry):
    with pytest.raises(ArgumentError, match="NaN or infinity"):
        Span([np.array([entry, 1.0])], Euclidean(2))


def test_spans_of_covectors_are_those_of_their_representatives():
    for make in (lambda space: Span([], space), lambda space: Weighted(space, 2.0)):
        with pytest.raises(ArgumentError, match="a space of vectors"):
            make(Euclidean(2).dual)


def test_range_and_kernel_are_those_of_a_map():
    for method in (Span.range, Span.kernel):
        with pytest.raises(ArgumentTypeError, match="LinearMap"):
            method(np.eye(2))


def test_elements_of_lower_precision_are_members_to_theirs():
    for space in (Euclidean(3), Symmetric(2), Product([Euclidean(2), Euclidean(())])):
        span = Span([space.random(0), space.random(1)], space)
        x = span.random(2)
        single = tree_map(lambda leaf: np.asarray(leaf, np.float32), x)
        assert span.contains(single)
        assert not span.contains(tree_map(lambda leaf: leaf + np.float32(1e-2), single))
