"""Inner products whose matrix is only applied."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sparse

import adjoint as ad
from adjoint.base.errors import (
    ArgumentError,
    ArgumentTypeError,
    NotConvergedError,
    NotPositiveDefiniteError,
    SpaceMismatchError,
)
from adjoint.maps import adjoint_error, from_matrix, identity, space_error
from adjoint.spaces import ConjugateGradient, Euclidean, Hermitian, Product, Symmetric, Weighted
from tests.spaces.strategies import positive_matrix

N = 40
STIFF = sparse.diags_array(
    [-np.ones(N - 1), 2.01 * np.ones(N), -np.ones(N - 1)], offsets=[-1, 0, 1]
)
LINE = Euclidean(N)


def smoothing(x):
    """The same matrix, never formed."""
    padded = np.pad(x, 1)
    return 2.01 * x - padded[:-2] - padded[2:]


@pytest.mark.parametrize(
    "operator", [smoothing, STIFF, STIFF.toarray(), from_matrix(STIFF, LINE, LINE)], ids=type
)
@pytest.mark.parametrize("preconditioner", [None, lambda r: r / 2.01, sparse.eye_array(N)])
def test_agrees_with_the_factorised_matrix(operator, preconditioner):
    direct = Weighted(LINE, STIFF)
    space = Weighted(LINE, ConjugateGradient(LINE, operator, preconditioner))
    x, y = LINE.random(0), LINE.random(1)
    np.testing.assert_allclose(space.inner(x, y), direct.inner(x, y), rtol=1e-12)
    covector = space.covector(x)
    np.testing.assert_allclose(
        space.represent(covector), direct.represent(direct.covector(x)), rtol=1e-7, atol=1e-8
    )
    assert space_error(space) < 1e-8


@pytest.mark.parametrize(
    "base",
    [
        Euclidean((3, 2), complex),
        Symmetric(3),
        Hermitian(3),
        Product({"a": Euclidean(2), "b": Symmetric(2)}),
    ],
    ids=repr,
)
def test_any_plain_space(base):
    matrix = positive_matrix(base.dimension, 0)
    space = Weighted(base, ConjugateGradient(base, matrix))
    assert space_error(space) < 1e-9
    assert space_error(Weighted(base, ConjugateGradient(base, 2 * identity(base)))) < 1e-12


def test_a_good_preconditioner_needs_few_steps():
    exact = from_matrix(np.linalg.inv(STIFF.toarray()), LINE, LINE)
    quick = ConjugateGradient(LINE, smoothing, exact, iterations=2)
    b = LINE.random(0)
    np.testing.assert_allclose(STIFF @ quick.inverse(b), b, rtol=1e-9, atol=1e-9)
    with pytest.raises(NotConvergedError):
        ConjugateGradient(LINE, smoothing, iterations=2).inverse(b)


def test_float32():
    base = Euclidean(N, np.float32)
    space = Weighted(base, ConjugateGradient(base, lambda x: 2 * x + np.mean(x)))
    x = base.random(0)
    assert space.represent(space.riesz(x)).dtype == np.float32
    assert space_error(space) < 1e-4


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_tiny_and_huge_right_hand_sides(scale):
    solver, b = ConjugateGradient(LINE, smoothing), LINE.random(0)
    np.testing.assert_allclose(solver.inverse(scale * b) / scale, solver.inverse(b), rtol=1e-9)


def test_zero_and_nan_pass_through():
    solver = ConjugateGradient(LINE, smoothing)
    np.testing.assert_array_equal(solver.inverse(np.zeros(N)), np.zeros(N))
    broken = np.zeros(N)
    broken[3] = np.nan
    assert np.isnan(solver.inverse(broken)).all()


def test_gradients_batches_and_compiled_functions():
    """E.1.39 without the matrix: grad f = W^-1 (A + A') x; in grad, vmap, jit and derivative."""
    space = Weighted(LINE, ConjugateGradient(LINE, smoothing))
    a = np.random.default_rng(0).standard_normal((N, N)) / N

    def f(x):
        return x @ a @ x

    points = np.stack([LINE.random(seed) for seed in range(3)])
    expected = np.linalg.solve(STIFF.toarray(), (a + a.T) @ points.T).T
    gradient = ad.grad(f, space=space)
    for point, value in zip(points, expected, strict=True):
        np.testing.assert_allclose(gradient(point), value, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(ad.jit(gradient)(point), value, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(ad.vmap(gradient)(points), expected, rtol=1e-6, atol=1e-8)
    slope = ad.derivative(np.sin, points[0], domain=space, codomain=Weighted(LINE, STIFF))
    assert adjoint_error(slope) < 1e-9


def test_not_converged_says_the_numbers():
    solver = ConjugateGradient(LINE, smoothing, tolerance=1e-12, iterations=3)
    space = Weighted(LINE, solver)  # inner products need no solution
    assert float(space.norm(np.ones(N))) > 0
    message = r"After 3 iterations the residual is .* of the right-hand side, and 1e-12 was asked"
    with pytest.raises(NotConvergedError, match=message):
        space.represent(space.covector(LINE.random(0)))


def test_operators_that_are_not_positive():
    for operator in (lambda x: -x, -STIFF):
        with pytest.raises(
            NotPositiveDefiniteError, match=r"positive operator. Found <x, A x> = -"
        ):
            ConjugateGradient(LINE, operator).inverse(np.ones(N))
    with pytest.raises(NotPositiveDefiniteError, match="positive preconditioner"):
        ConjugateGradient(LINE, smoothing, lambda r: -r).inverse(np.ones(N))
    with pytest.raises(NotPositiveDefiniteError, match="Found <x, A x> = nan"):
        ConjugateGradient(LINE, lambda x: x * np.nan).inverse(np.ones(N))
    with pytest.raises(NotPositiveDefiniteError, match="differ for random x and y"):
        Weighted(LINE, ConjugateGradient(LINE, np.triu(np.ones((N, N)))))


def test_arguments():
    with pytest.raises(SpaceMismatchError, match="must map that space to itself"):
        Weighted(Euclidean(3), ConjugateGradient(LINE, smoothing))
    with pytest.raises(ArgumentTypeError, match="takes the space that its operator acts on"):
        ConjugateGradient(3, smoothing)
    with pytest.raises(ArgumentTypeError, match="has 40 rows and columns"):
        ConjugateGradient(LINE, np.eye(3))
    with pytest.raises(ArgumentTypeError, match="The preconditioner of a ConjugateGradient"):
        ConjugateGradient(LINE, smoothing, 3.0)
    for options in ({"tolerance": 0.0}, {"tolerance": 1.0}, {"iterations": 0}):
        with pytest.raises(ArgumentError, match=r"a tolerance between .* and 1 and a positive"):
            ConjugateGradient(LINE, smoothing, **options)


def test_equality_and_pickle():
    solver = ConjugateGradient(LINE, smoothing)
    assert solver == ConjugateGradient(LINE, smoothing)
    assert hash(solver) == hash(ConjugateGradient(LINE, smoothing))
    assert Weighted(LINE, solver) == Weighted(LINE, ConjugateGradient(LINE, smoothing))
    assert solver != ConjugateGradient(LINE, smoothing, tolerance=1e-6)
    assert Weighted(LINE, solver) != Weighted(LINE, ConjugateGradient(LINE, lambda x: x))
    assert pickle.loads(pickle.dumps(solver)) == solver
    assert repr(solver) == "ConjugateGradient(Euclidean((40,)), tolerance=3.67e-11)"


def test_right_hand_sides_of_all_sizes():
    solver = ConjugateGradient(Euclidean(2), np.diag([2.0, 4.0]))
    for size in (1e-310, 1e-160, 1e160, 1e300):
        np.testing.assert_allclose(solver.inverse(size * np.ones(2)), size * np.array([0.5, 0.25]))
