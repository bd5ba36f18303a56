"""Spaces of the user's own are spaces: laws, gradients, adjoints, second order, jit, vmap."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import adjoint as ad
from adjoint.base import pytrees
from adjoint.maps import adjoint_error, space_error
from adjoint.spaces import (
    CustomSpace,
    Dual,
    Euclidean,
    Metric,
    Product,
    Skew,
    Span,
    TraceFree,
    Weighted,
)
from tests.spaces.custom.own import (
    INERTIA,
    SPACES,
    Axes,
    ComplexMeanFree,
    Differences,
    MeanFree,
    Singles,
    Skews,
    Spline,
    Splines,
    Twist,
    Twists,
    WeightedMeanFree,
    smooth,
)

STEP = 1e-5
each_space = pytest.mark.parametrize("space", SPACES, ids=repr)


def flat(tree: Any) -> Any:
    return np.concatenate([np.ravel(leaf) for leaf in pytrees.leaves(tree)])


def moved(space: Any, x: Any, step: float, u: Any) -> Any:
    return space._add(x, space._scale(step, u))


def slope(space: Any, function: Any, x: Any, u: Any) -> float:
    above, below = function(moved(space, x, STEP, u)), function(moved(space, x, -STEP, u))
    return float((above - below) / (2 * STEP))


# --- the laws -------------------------------------------------------------------------------------


@each_space
def test_laws_of_an_inner_product_space(space: Any) -> None:
    """Of the space, its dual, and a product that it is a part of."""
    together = Product({"own": space, "plain": Euclidean(2)})
    for seed in range(3):
        assert max(space_error(v, seed) for v in (space, space.dual, together)) < 1e-11
    assert isinstance(space.dual, Dual)
    assert space.dual.dual is space


@each_space
def test_the_basis_has_the_gram_matrix_that_is_told(space: Any) -> None:
    if space.dimension > 50:
        return
    basis = list(space.basis())
    assert len(basis) == space.dimension
    products = [[float(space.inner(x, y)) for y in basis] for x in basis]
    gram = space.gram()
    gram = gram.toarray() if scipy.sparse.issparse(gram) else gram
    gram = np.diag(gram) if gram.ndim == 1 else gram
    np.testing.assert_allclose(products, gram, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(space._gram(), gram, rtol=1e-12, atol=1e-13)


@each_space
def test_coordinates_and_covectors_refer_to_the_basis(space: Any) -> None:
    x, basis = space.random(0), space.basis()
    coordinates = space.coordinates(x)
    again = space.from_coordinates(coordinates)
    np.testing.assert_allclose(flat(again), flat(x), rtol=1e-12, atol=1e-14)
    covector = space.riesz(x)
    paired = [covector(basis[k]) for k in range(min(8, space.dimension))]
    told = space.dual.coordinates(covector)[: len(paired)]
    np.testing.assert_allclose(paired, told, rtol=1e-11, atol=1e-13)


@each_space
def test_equal_by_parameters_also_in_another_process(space: Any) -> None:
    used = space.random(0)
    for twin in (pickle.loads(pickle.dumps(space)), copy.deepcopy(space), copy.copy(space)):
        assert twin == space
        assert hash(twin) == hash(space)
        np.testing.assert_array_equal(flat(twin.random(0)), flat(used))
    covector = pickle.loads(pickle.dumps(space.riesz(used)))
    assert space.dual.contains(covector)


def test_spaces_with_other_parameters_differ() -> None:
    spaces = [
        Twists(2.0, INERTIA),
        Twists(3.0, INERTIA),
        Twists(2.0, 2 * INERTIA),
        Skews(),
        Axes(),
        MeanFree(3),
        MeanFree(4),
        Differences(3),
        Differences(4),
    ]
    assert len(set(spaces)) == len(spaces)
    assert Twists(2.0, INERTIA) == Twists(2.0, INERTIA.copy())


# --- derivatives ----------------------------------------------------------------------------------


@each_space
def test_the_gradient_is_paired_with_differences(space: Any) -> None:
    """<grad f(x), u> = the derivative of f along u, in the inner product of the space (E.1.37)."""
    x, u = space.random(0), space.random(1)
    gradient = ad.grad(smooth, space=space)(x)
    space.check(gradient)
    expected = slope(space, smooth, x, u)
    np.testing.assert_allclose(float(space.inner(gradient, u)), expected, rtol=1e-7, atol=1e-8)
    pushed = ad.jvp(smooth, (x,), (u,))[1]
    np.testing.assert_allclose(space.inner(gradient, u), pushed, rtol=1e-10, atol=1e-11)


@each_space
def test_compiled_and_batched_gradients_are_the_same(space: Any) -> None:
    points = [space.random(seed) for seed in range(3)]
    gradient = ad.grad(smooth, space=space)
    expected = [flat(gradient(x)) for x in points]
    compiled = ad.jit(gradient)
    for x, right in zip(points, expected, strict=True):
        np.testing.assert_allclose(flat(compiled(x)), right, rtol=1e-10, atol=1e-12)
    batch = pytrees.tree_map(lambda *leaves: np.stack(leaves), *points)
    for function in (ad.vmap(gradient), ad.jit(ad.vmap(gradient))):
        rows = function(batch)
        for number, right in enumerate(expected):
            row = flat(pytrees.tree_map(lambda leaf, k=number: leaf[k], rows))
            np.testing.assert_allclose(row, right, rtol=1e-10, atol=1e-12)


@each_space
def test_the_adjoint_is_one_in_both_inner_products(space: Any) -> None:
    """<D u, v> = <u, D* v> (E.1.52), into a weighted space and into the space itself."""
    x = space.random(0)

    def to_numbers(x: Any) -> Any:
        return np.stack([smooth(x), smooth(moved(space, x, 0.5, x)) ** 2])

    onto = Weighted(Euclidean(2), np.array([[2.0, 0.5], [0.5, 1.0]]))
    outward = ad.derivative(to_numbers, x, domain=space, codomain=onto)
    assert adjoint_error(outward) < 1e-11
    gradient = ad.derivative(ad.grad(smooth, space=space), x, domain=space, codomain=space)
    assert adjoint_error(gradient) < 1e-10
    w = onto.covector(np.array([1.0, -2.0]))
    u = space.random(3)
    np.testing.assert_allclose(outward.T(w)(u), w(outward(u)), rtol=1e-10)
    if space.dimension < 50:
        columns = [onto.coordinates(outward(e)) for e in space.basis()]
        np.testing.assert_allclose(outward.matrix(), np.stack(columns, axis=1), rtol=1e-9)


@each_space
def test_second_order(space: Any) -> None:
    """The Hessian is self-adjoint in the inner product, and the slope of the gradient."""
    x, u, v = (space.random(seed) for seed in range(3))
    gradient = ad.grad(smooth, space=space)
    bent = ad.hvp(smooth, x, u, space=space)
    other = ad.hvp(smooth, x, v, space=space)
    value = float(space.inner(bent, v))
    np.testing.assert_allclose(value, float(space.inner(other, u)), rtol=1e-9, atol=1e-10)
    expected = slope(space, lambda x: space.inner(gradient(x), v), x, u)
    np.testing.assert_allclose(value, expected, rtol=1e-6, atol=1e-7)
    bilinear = ad.second_derivative(smooth, x, domain=space)
    np.testing.assert_allclose(float(bilinear(u, v)), value, rtol=1e-9, atol=1e-10)


@each_space
def test_the_gradient_of_a_norm_of_a_gradient(space: Any) -> None:
    gradient = ad.grad(smooth, space=space)

    def steepness(x: Any) -> Any:
        return space.norm(gradient(x)) ** 2

    x, u = space.random(0), space.random(1)
    found = float(space.inner(ad.grad(steepness, space=space)(x), u))
    np.testing.assert_allclose(found, slope(space, steepness, x, u), rtol=1e-6, atol=1e-7)
    jitted = ad.jit(ad.grad(steepness, space=space))(x)
    np.testing.assert_allclose(float(space.inner(jitted, u)), found, rtol=1e-8, atol=1e-10)


def test_the_gradient_of_a_quadratic_form() -> None:
    """x'Ax under <x, y> = x'Wy has the gradient W^-1 (A + A')x (E.1.39), in an own space too."""
    W = INERTIA

    class Own(CustomSpace):
        dimension = 3

        def from_coordinates(self, c: Any) -> Any:
            return c

        def inner(self, x: Any, y: Any) -> Any:
            return x @ W @ y

    A, x = np.arange(9.0).reshape(3, 3), np.array([1.0, -2.0, 0.5])
    found = ad.grad(lambda x: x @ A @ x, space=Own())(x)
    np.testing.assert_allclose(found, np.linalg.solve(W, (A + A.T) @ x), rtol=1e-13)
    weighted = ad.grad(lambda x: x @ A @ x, space=Weighted(Euclidean(3), W))(x)
    np.testing.assert_allclose(found, weighted, rtol=1e-14)


def test_the_same_space_in_four_ways() -> None:
    """The gradient depends on the elements and the inner product, not on how they are given."""
    x = MeanFree(5).random(0)
    spanned = Span(list(Differences(5).basis()), Euclidean(5))
    for space in (MeanFree(5), Differences(5), spanned):
        found = ad.grad(lambda x: np.sum(x**3), space=space)(x)
        np.testing.assert_allclose(found, 3 * x**2 - np.mean(3 * x**2), rtol=1e-12)
    W = np.random.default_rng(0).standard_normal((3, 3))
    X = W - W.T
    for skew in (Skews(), Skew(3)):
        found = ad.grad(lambda X: X[0, 1] ** 3, space=skew)(X)
        np.testing.assert_allclose(found[0, 1], 1.5 * X[0, 1] ** 2, rtol=1e-14)
        assert found[1, 0] == -found[0, 1]


def test_the_momentum_of_a_body() -> None:
    """The velocity of one point, as a functional of twists: an impulse there moves the body so."""
    space, arm, push = Twists(2.0, INERTIA), np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 3.0])
    still = space.zero()
    assert type(still) is Twist
    moved = ad.grad(lambda twist: push @ twist.moved(arm), space=space)(still)
    assert type(moved) is Twist
    np.testing.assert_allclose(moved.translation, push / 2.0)
    np.testing.assert_allclose(moved.rotation, np.linalg.solve(INERTIA, np.cross(arm, push)))


def test_objects_of_a_registered_class() -> None:
    space = Splines(6)
    x = space.random(0)
    gradient = ad.grad(lambda s: np.sum(s.values() ** 2), space=space)(x)
    assert type(gradient) is Spline
    assert gradient.degree == 1
    plain = ad.grad(lambda s: np.sum(s.values() ** 2))(x)
    np.testing.assert_allclose(space.gram() @ gradient.coefficients, plain.coefficients, rtol=1e-12)
    assert not space.contains(Spline(x.coefficients, 3))


# --- with what else there is ----------------------------------------------------------------------


def test_members_meet_arrays_of_numpy_alone() -> None:
    """Whatever is traced: they may call compiled code, which takes no traced array."""
    seen: list[type] = []

    class Watched(Differences):
        def from_coordinates(self, c: Any) -> Any:
            seen.append(type(c))
            return super().from_coordinates(c)

        def coordinates(self, x: Any) -> Any:
            seen.append(type(x))
            return -np.cumsum(x[::-1])[::-1][1:]

        def gram(self) -> Any:
            return np.arange(1.0, self.dimension + 1)

        def restrict(self, x: Any) -> Any:
            seen.append(type(x))
            return x - np.mean(x)

    space = Watched(5)
    gradient = ad.grad(lambda x: np.sum(x**3), space=space)
    x = space.random(0)
    twice = ad.jit(ad.grad(lambda x: space.norm(gradient(x)), space=space))(x)
    ad.vmap(gradient)(np.stack([x, x]))
    ad.hvp(lambda x: np.sum(x**3), x, x, space=space)
    assert set(seen) == {np.ndarray}
    expected = slope(space, lambda x: space.norm(gradient(x)), x, x)
    np.testing.assert_allclose(float(space.inner(twice, x)), expected, rtol=1e-7)


def test_members_called_by_name_are_differentiated_as_they_stand() -> None:
    x, y = (Twists(1.0, INERTIA).random(seed) for seed in range(2))

    def energy(mass: Any) -> Any:
        return Twists(mass, INERTIA).inner(x, y)

    np.testing.assert_allclose(ad.grad(energy)(2.0), x.translation @ y.translation)
    inner = ad.grad(lambda mass: ad.grad(smooth, space=Twists(mass, INERTIA))(x).translation[0])
    with pytest.raises(ad.errors.DroppedDerivativeError):
        inner(2.0)


def test_a_weight_a_span_and_a_metric_on_it() -> None:
    heavy = Weighted(MeanFree(4), np.diag([1.0, 2.0, 3.0]))
    assert space_error(heavy) < 1e-12
    line = Span([MeanFree(4).random(0)], MeanFree(4))
    assert (line.dimension, space_error(line) < 1e-12) == (1, True)
    bundle = Metric(lambda x: Twists(1.0 + x.translation @ x.translation, INERTIA))
    x = Twist(np.ones(3), np.array([1.0, 0.0, 0.0]))
    found = ad.grad(lambda twist: np.sum(twist.translation), space=bundle)(x)
    np.testing.assert_allclose(found.translation, 0.5)


def test_descent_and_an_audit() -> None:
    space = WeightedMeanFree(4)
    goal = space.random(5)
    result = ad.optimize.descend(lambda x: np.sum((x - goal) ** 2), space.zero(), space=space)
    np.testing.assert_allclose(result.x, goal, atol=1e-5)
    report = ad.testing.check(smooth, space.random(0), spaces=(space, None))
    assert report.passed, str(report)


def test_bounds_on_entries_are_none_on_coordinates() -> None:
    """In a turned basis, which is orthonormal, a box is another one: it is refused."""

    class Turned(CustomSpace):
        dimension = 2

        def from_coordinates(self, c: Any) -> Any:
            return np.array([c[0] + c[1], c[0] - c[1]]) / np.sqrt(2)

    space = Turned()
    assert space._orthonormal
    found = ad.optimize.minimize(lambda x: np.sum((x - 2.0) ** 2), np.zeros(2), space=space)
    np.testing.assert_allclose(found.x, 2.0, atol=1e-6)
    for constrained in (space, Weighted(space, np.array([1.0, 2.0]))):
        with pytest.raises(ad.errors.ArgumentError, match="Bounds on x"):
            ad.optimize.minimize(
                np.sum, np.zeros(2), space=constrained, method="L-BFGS-B", bounds=(0.0, 1.0)
            )


def test_single_precision() -> None:
    space = Singles()
    assert space.ambient == Euclidean(3, np.float32)
    assert space.random(0).dtype == np.float32
    assert space_error(space) < 1e-6
    found = ad.grad(lambda x: np.sum(x**2) / 2, space=space)(space.from_coordinates([1.0, 2.0]))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, [1.0, 2.0, 3.0], rtol=1e-6)


def test_a_complex_space_takes_complex_factors() -> None:
    space = ComplexMeanFree(3)
    x = space.random(0)
    assert space.contains(1j * x)
    turned = 1j * ad.maps.identity(space)
    np.testing.assert_allclose(turned(x), 1j * x)
    assert not Differences(3)._complex


def test_infinities_stay_where_they_are() -> None:
    x = Skews().from_coordinates(np.array([np.inf, 1.0, np.nan]))
    assert np.count_nonzero(np.isfinite(x)) == 5
    assert Skews().contains(x)


def test_a_large_projection_needs_no_basis() -> None:
    space = MeanFree(100_000)
    x = space.random(0)
    found = ad.jit(ad.grad(lambda x: np.sum(x**3), space=space))(x)
    np.testing.assert_allclose(found, 3 * x**2 - np.mean(3 * x**2), rtol=1e-9, atol=1e-9)
    with pytest.raises(ad.errors.ArgumentError, match="from_coordinates give it a basis"):
        _ = space.dimension


def test_a_space_of_nothing() -> None:
    class Nothing(CustomSpace):
        dimension = 0

        def from_coordinates(self, c: Any) -> Any:
            return np.zeros(2)

    space = Nothing()
    np.testing.assert_array_equal(ad.grad(np.sum, space=space)(np.zeros(2)), np.zeros(2))
    assert not space.contains(np.ones(2))


def test_a_projection_says_its_dimension() -> None:
    assert MeanFree(4).dimension == 3
    assert TraceFree(2).dimension == 3
    np.testing.assert_allclose(MeanFree(4).gram(), np.eye(3), atol=1e-14)


# --- against the formulas -------------------------------------------------------------------------


class Given(CustomSpace):
    """Trees of a scalar and a vector, by any matrix E, under any Gram matrix G."""

    def __init__(self, embedding: Any, gram: Any) -> None:
        self.embedding, self.matrix = embedding, gram
        self.dimension = embedding.shape[1]

    def from_coordinates(self, c: Any) -> Any:
        array = self.embedding @ c
        return {"rest": array[1:], "first": array[0]}

    def gram(self) -> Any:
        return self.matrix


@given(
    st.integers(0, 2**16),
    st.integers(1, 5),
    st.integers(0, 3),
    st.sampled_from(["dense", "diagonal", "scalar", "sparse"]),
)
@settings(max_examples=60, deadline=None)
def test_the_formulas(seed: int, count: int, more: int, kind: str) -> None:
    """R x = E K^-1 G c and R^-1 a = E G^-1 E' a, of any basis and any inner product."""
    generator = np.random.default_rng(seed)
    size = count + more
    E = generator.standard_normal((size, count)) + np.eye(size, count)
    if np.linalg.cond(E) > 1e4:
        return
    root = generator.standard_normal((count, count))
    full = root @ root.T + np.eye(count)
    G = {"dense": full, "diagonal": np.diag(np.diag(full)), "scalar": 3.0 * np.eye(count)}
    matrix = G.get(kind, full)
    told = {"diagonal": np.diag(full), "scalar": 3.0, "sparse": scipy.sparse.csr_array(full)}
    space = Given(E, told.get(kind, full))
    A = generator.standard_normal((size, size))

    def form(x: Any) -> Any:
        array = np.concatenate([np.reshape(x["first"], (1,)), x["rest"]])
        return array @ A @ array

    def array(x: Any) -> Any:
        return np.append(x["first"], x["rest"])

    x = space.random(seed)
    gradient = ad.grad(form, space=space)(x)
    plain = (A + A.T) @ array(x)
    expected = E @ np.linalg.solve(matrix, E.T @ plain)
    scale = np.max(np.abs(expected)) + 1e-30
    np.testing.assert_allclose(array(gradient) / scale, expected / scale, atol=1e-9)
    components = array(space.riesz(x).components)
    K = E.T @ E
    c = np.linalg.solve(K, E.T @ array(x))
    right = E @ np.linalg.solve(K, matrix @ c)
    np.testing.assert_allclose(components, right, rtol=1e-6, atol=1e-8 * np.max(np.abs(right)))
    assert space_error(space, seed) < 1e-8
    jitted = ad.jit(ad.grad(form, space=space))(x)
    np.testing.assert_allclose(array(jitted) / scale, expected / scale, atol=1e-9)
    np.testing.assert_array_equal(space._full, np.array_equal(E, np.eye(size)))


def test_a_projection_of_objects() -> None:
    """`restrict` takes and gives objects, also where it is one operation on traced parts."""

    class Balanced(CustomSpace):
        """Twists whose centre moves as they turn."""

        ambient = ad.spaces.infer(Twist(np.zeros(3), np.zeros(3)))

        def restrict(self, x: Any) -> Any:
            mean = (x.rotation + x.translation) / 2
            return Twist(mean, mean.copy())

    space = Balanced()
    assert space.dimension == 3
    assert space_error(space) < 1e-13
    x = space.random(0)
    gradient = ad.grad(smooth, space=space)
    for found in (gradient(x), ad.jit(gradient)(x)):
        assert type(found) is Twist
        assert space.contains(found)
    u = space.random(1)
    np.testing.assert_allclose(
        float(space.inner(gradient(x), u)), slope(space, smooth, x, u), rtol=1e-7
    )
