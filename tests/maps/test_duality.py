"""Riesz maps, the natural pairing, and the transposition diagram in any pair of spaces."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjoint.base.errors import ArgumentTypeError, MissingTransposeError
from adjoint.maps import (
    LinearMap,
    TranspositionDiagram,
    adjoint_error,
    from_matrix,
    linearity_error,
    natural_pairing,
    riesz_map,
)
from adjoint.spaces import Euclidean, Product, Symmetric, Weighted
from tests.spaces.strategies import spaces
from tests.spaces.test_dual_basis import some_basis

EXAMPLES = settings(max_examples=40, deadline=None)
SEEDS = st.integers(0, 99)


def random_map(domain, codomain, seed):
    generator = np.random.default_rng(seed)
    return from_matrix(
        generator.standard_normal((codomain.dimension, domain.dimension)), domain, codomain
    )


def same(one, other):
    """Equal maps between equal spaces."""
    assert (one.domain, one.codomain) == (other.domain, other.codomain)
    np.testing.assert_allclose(one.matrix(), other.matrix(), rtol=1e-8, atol=1e-9)


# --- the Riesz map --------------------------------------------------------------------------------


@given(spaces())
@EXAMPLES
def test_riesz_map_is_the_gram_matrix_symmetric_and_unitary(space):
    """E.1.30: (R x)(y) = <x, y> = <y, x>, and <R x, R y>' = <x, y>."""
    riesz = riesz_map(space)
    np.testing.assert_allclose(riesz.matrix(), space.gram(), rtol=1e-10, atol=1e-12)
    assert linearity_error(riesz) < 1e-12
    assert adjoint_error(riesz) < 1e-9
    same(riesz.T, riesz)
    same(riesz.H, riesz.inverse)
    same(riesz.inverse.inverse, riesz)
    same(riesz.inverse.T, riesz.inverse)


@given(spaces(), SEEDS)
@EXAMPLES
def test_riesz_map_agrees_with_riesz_and_represent(space, seed):
    x = space.random(seed)
    riesz = riesz_map(space)
    dual = space.dual
    np.testing.assert_array_equal(dual.coordinates(riesz(x)), dual.coordinates(space.riesz(x)))
    back = space.coordinates(riesz.inverse(riesz(x)))
    np.testing.assert_allclose(back, space.coordinates(x), rtol=1e-8, atol=1e-9)


@given(spaces())
@EXAMPLES
def test_riesz_map_of_the_dual_is_the_inverse(space):
    same(riesz_map(space.dual), riesz_map(space).inverse)


# --- the natural pairing --------------------------------------------------------------------------


@given(spaces(), SEEDS)
@EXAMPLES
def test_natural_pairing(space, seed):
    """E.1.30: l[x] = <y, x> for the y that represents l."""
    w, u = space.dual.random(seed), space.random(seed + 1)
    pairing = natural_pairing(space)
    expected = float(space.inner(space.represent(w), u))
    assert float(pairing(w, u)) == pytest.approx(expected, rel=1e-8, abs=1e-9)
    assert adjoint_error(pairing(w)) < 1e-9


# --- the diagram ----------------------------------------------------------------------------------


@given(spaces(), spaces(), SEEDS)
@EXAMPLES
def test_the_diagram_commutes(domain, codomain, seed):
    """E.1.52: <D u, v> = <u, D.H v> is R_E D.H = D.T R_F, in any pair of spaces."""
    diagram = TranspositionDiagram.of(random_map(domain, codomain, seed))
    assert diagram.commutation_error(seed) < 1e-9
    same(
        diagram.adjoint,
        diagram.domain_riesz.inverse @ diagram.transpose @ diagram.codomain_riesz,
    )


@given(spaces(), spaces(), SEEDS)
@EXAMPLES
def test_the_fourth_corner(domain, codomain, seed):
    """The adjoint of the transpose is the transpose of the adjoint, E' -> F': R_F D R_E^-1."""
    linear_map = random_map(domain, codomain, seed)
    diagram = TranspositionDiagram.of(linear_map)
    assert diagram.dual_adjoint.domain == domain.dual
    assert diagram.dual_adjoint.codomain == codomain.dual
    same(diagram.dual_adjoint, linear_map.H.T)
    same(
        diagram.dual_adjoint,
        diagram.codomain_riesz @ linear_map @ diagram.domain_riesz.inverse,
    )
    assert adjoint_error(linear_map.T) < 1e-9


@given(spaces(), spaces(), SEEDS)
@EXAMPLES
def test_transposing_twice_and_taking_the_adjoint_twice(domain, codomain, seed):
    linear_map = random_map(domain, codomain, seed)
    same(linear_map.T.T, linear_map)
    same(linear_map.H.H, linear_map)
    same(linear_map.T.H.T, linear_map.H)


@given(spaces(), spaces(), spaces(), SEEDS)
@EXAMPLES
def test_both_reverse_products(first, second, third, seed):
    """(A B)' = B' A' and (A B)* = B* A*."""
    inner, outer = random_map(first, second, seed), random_map(second, third, seed + 1)
    same((outer @ inner).H, inner.H @ outer.H)
    same((outer @ inner).T, inner.T @ outer.T)


def test_the_adjoint_under_weights_is_not_the_transpose():
    """Footnote to E.1.53, corrected: (A u)' W v = u' W (A* v) gives A* = W^-1 A' W."""
    generator = np.random.default_rng(3)
    matrix, root = generator.standard_normal((2, 3, 3))
    weight = root @ root.T + np.eye(3)
    space = Weighted(Euclidean(3), weight)
    found = from_matrix(matrix, space, space).H.matrix()
    np.testing.assert_allclose(found, np.linalg.inv(weight) @ matrix.T @ weight, rtol=1e-10)
    assert not np.allclose(found, weight @ matrix.T @ weight)


def test_a_wrong_adjoint_is_seen():
    wrong = LinearMap(Euclidean(2), Euclidean(2), lambda u: 2 * u, lambda c: 3 * c)
    right = TranspositionDiagram.of(from_matrix(np.eye(2), Euclidean(2), Euclidean(2)))
    planted = TranspositionDiagram(
        right.map, right.transpose, wrong.H, *(riesz_map(Euclidean(2)),) * 2, right.dual_adjoint
    )
    assert planted.commutation_error() > 0.1


# --- matrices in any bases ------------------------------------------------------------------------


@given(spaces(), spaces(), SEEDS)
@EXAMPLES
def test_matrices_of_a_map_and_its_transpose_in_dual_bases(domain, codomain, seed):
    """E.1.36 in any bases, of products and duals too: D b_j = sum_i M_ij c_i, and D.T has M'."""
    from adjoint.spaces import dual_basis

    linear_map = random_map(domain, codomain, seed)
    b, c = some_basis(domain, seed), some_basis(codomain, seed + 1)
    matrix = linear_map.matrix_in(b, c)
    coordinates = np.random.default_rng(seed).standard_normal(domain.dimension)
    u = domain._zero()
    for number, vector in zip(coordinates, b, strict=True):
        u = domain._add(u, domain._scale(float(number), vector))
    image = codomain._zero()
    for number, vector in zip(matrix @ coordinates, c, strict=True):
        image = codomain._add(image, codomain._scale(float(number), vector))
    np.testing.assert_allclose(
        codomain.coordinates(image), codomain.coordinates(linear_map(u)), rtol=1e-7, atol=1e-8
    )
    transposed = linear_map.T.matrix_in(dual_basis(codomain, c), dual_basis(domain, b))
    np.testing.assert_allclose(transposed, matrix.T, rtol=1e-7, atol=1e-8)


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [riesz_map, natural_pairing])
def test_what_is_no_space_is_refused(function):
    with pytest.raises(ArgumentTypeError, match="A space was expected"):
        function(np.ones(3))


def test_what_is_no_map_is_refused():
    with pytest.raises(ArgumentTypeError, match="A LinearMap was expected"):
        TranspositionDiagram.of(np.eye(2))


def test_a_map_without_transpose_has_no_diagram():
    space = Product((Symmetric(2),))
    with pytest.raises(MissingTransposeError):
        TranspositionDiagram.of(LinearMap(space, space, lambda u: u))
