"""SciPy's minimisers in the inner product of a space."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint
from scipy.optimize import minimize as scipy_minimize

import adjoint as ad
from adjoint.base.errors import (
    ArgumentError,
    ArgumentTypeError,
    DroppedDerivativeError,
    MembershipError,
    NotDifferentiableError,
)
from adjoint.calculus.optimize import minimize
from adjoint.calculus.optimize.scipy_methods import _ORDERS, _DerivativeOrder
from adjoint.manifolds import Sphere
from adjoint.spaces import Euclidean, Metric, OrthonormalCoordinates, Product, Symmetric, Weighted
from tests.spaces.strategies import positive_matrix

W = positive_matrix(3, 5)
WEIGHTED = Weighted(Euclidean(3), W)
START = np.array([1.0, -1.0, 0.5])
TARGET = np.array([0.3, -0.7, 1.1])


def hilly(x):
    return np.log(np.cosh(x - TARGET)) @ np.array([1.0, 10.0, 3.0]) + np.sum((x - TARGET) ** 2) / 2


@pytest.mark.parametrize("method", sorted(_ORDERS))
@pytest.mark.parametrize("space", [None, WEIGHTED], ids=["euclidean", "weighted"])
def test_every_method(method, space):
    result = minimize(hilly, START, space, method=method)
    assert result.success
    np.testing.assert_allclose(result.x, TARGET, atol=2e-3)
    if _ORDERS[method] is not _DerivativeOrder.VALUE:
        expected = ad.grad(hilly, space=space)(result.x)
        np.testing.assert_allclose(result.jac, expected, atol=1e-12)
    frame = OrthonormalCoordinates(space or Euclidean(3))
    np.testing.assert_allclose(frame.of(result.x), result.coordinates, atol=1e-12)


def test_the_first_step_of_bfgs_goes_along_the_gradient_of_the_space():
    """E.1.43: with the identity for a Hessian in orthonormal coordinates, the step is W⁻¹∇f."""
    visited = []
    minimize(hilly, START, WEIGHTED, callback=visited.append, options={"maxiter": 1})
    step = visited[0] - START
    gradient = ad.grad(hilly, space=WEIGHTED)(START)
    ratio = step / gradient
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-10)
    assert ratio[0] < 0
    plain = []
    minimize(hilly, START, callback=plain.append, options={"maxiter": 1})
    assert np.ptp((plain[0] - START) / gradient) > 0.1 * abs(ratio[0])


def test_a_change_of_variables_changes_nothing():
    """Under ⟨x, y⟩ = xᵀ CᵀC y, f is minimised as x ↦ f(C⁻¹x) is under the plain product."""
    c = np.array([[2.0, 1.0], [0.0, 3.0]])

    def rosenbrock(x):
        return (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2

    space = Weighted(Euclidean(2), c.T @ c)
    ours = minimize(rosenbrock, np.array([-1.2, 1.0]), space, method="BFGS")
    theirs = minimize(
        lambda z: rosenbrock(np.linalg.solve(c, z)), c @ np.array([-1.2, 1.0]), method="BFGS"
    )
    np.testing.assert_allclose(ours.x, np.linalg.solve(c, theirs.x), rtol=1e-4)
    assert abs(ours.nit - theirs.nit) <= 2  # BFGS does not see the rotation between the two frames


def test_without_a_space_it_is_scipy():
    ours = minimize(hilly, START, method="L-BFGS-B")
    theirs = scipy_minimize(hilly, START, jac=ad.grad(hilly), method="L-BFGS-B")
    assert ours.nit == theirs.nit
    np.testing.assert_allclose(ours.x, theirs.x, rtol=1e-9)


def test_the_hessian_in_orthonormal_coordinates():
    """f(x) = ⟨x, x⟩/2 has the identity, whatever the inner product (E.1.79)."""
    from adjoint.calculus.optimize.scipy_methods import _Objective

    objective = _Objective(lambda x: x @ W @ x / 2, (), OrthonormalCoordinates(WEIGHTED))
    np.testing.assert_allclose(objective.hessian(START), np.eye(3), atol=1e-12)
    np.testing.assert_allclose(objective.product(START, START), START, atol=1e-12)


def test_trees_and_subspaces():
    target = np.array([[2.0, 1.0], [0.0, 3.0]])
    space = Product({"a": Symmetric(2), "b": Weighted(Euclidean(2, complex), 7.0)})

    def distance(p):
        return np.sum((p["a"] - target) ** 2) + np.sum(np.abs(p["b"] - 1j) ** 2)

    start = {"a": np.eye(2), "b": np.zeros(2, complex)}
    result = minimize(distance, start, space)
    np.testing.assert_allclose(result.x["a"], (target + target.T) / 2, atol=1e-5)
    np.testing.assert_allclose(result.x["b"], [1j, 1j], atol=1e-5)
    assert space.contains(result.jac)


def test_further_arguments_and_single_precision():
    result = minimize(
        lambda x, a: np.sum((x - a) ** 2), np.zeros(2, np.float32), args=(np.float32(3.0),)
    )
    np.testing.assert_allclose(result.x, 3.0, rtol=1e-3)
    assert result.x.dtype == np.float32


def test_the_callback_may_end_the_run():
    seen = []

    def stop(x):
        seen.append(x)
        raise StopIteration

    result = minimize(hilly, START, WEIGHTED, callback=stop)
    assert result.nit == 1
    np.testing.assert_allclose(result.x, seen[0])


# --- bounds and constraints -----------------------------------------------------------------------


@pytest.mark.parametrize("method", ["L-BFGS-B", "TNC", "SLSQP", "trust-constr", "Nelder-Mead"])
def test_bounds(method):
    space = Weighted(Euclidean(3), np.array([1.0, 4.0, 9.0]))
    upper = np.array([0.0, 1.0, 0.9])
    inside = np.array([-0.5, 0.0, 0.5])
    result = minimize(hilly, inside, space, method=method, bounds=(-2.0, upper))
    np.testing.assert_allclose(result.x, [0.0, -0.7, 0.9], atol=2e-3)
    half = minimize(hilly, inside, space, method=method, bounds=(None, upper))
    np.testing.assert_allclose(half.x, result.x, atol=2e-3)


def test_bounds_of_trees():
    start = {"a": np.zeros(2), "b": 0.0}
    result = minimize(
        lambda p: np.sum((p["a"] - 3) ** 2) + (p["b"] - 3) ** 2,
        start,
        method="L-BFGS-B",
        bounds=(None, {"a": np.array([1.0, np.inf]), "b": 2.0}),
    )
    np.testing.assert_allclose(result.x["a"], [1, 3], atol=1e-5)
    assert result.x["b"] == pytest.approx(2)


@pytest.mark.parametrize("method", ["SLSQP", "trust-constr"])
def test_constraints(method):
    """The plane of points with a given sum, and the unit ball, in a weighted space."""
    plane = LinearConstraint(np.ones((1, 3)), 1.0, 1.0)
    ball = NonlinearConstraint(lambda x: np.stack([x @ x]), -np.inf, 1.0)
    distance = lambda x: np.sum((x - 2.0) ** 2)  # noqa: E731
    on_plane = minimize(distance, START, WEIGHTED, method=method, constraints=plane)
    np.testing.assert_allclose(on_plane.x, 1 / 3, atol=1e-4)
    in_ball = minimize(distance, START / 2, WEIGHTED, method=method, constraints=[ball])
    np.testing.assert_allclose(in_ball.x, 3**-0.5, atol=1e-4)


@pytest.mark.parametrize("method", ["SLSQP", "trust-constr"])
def test_constraints_of_many_unknowns(method):
    """Sparse Jacobians for the method that takes them, in a weighted space too."""
    size, taken = 120, []
    weights = np.linspace(1.0, 2.0, size)
    space = Weighted(Euclidean(size), weights)
    near = NonlinearConstraint(lambda x: (x[1:] - x[:-1]) ** 2, -np.inf, 0.1)
    total = LinearConstraint(scipy.sparse.csr_array(np.ones((1, size))), 0.0, 0.0)
    original = OrthonormalCoordinates.rows
    target = np.linspace(-3, 3, size)
    with pytest.MonkeyPatch.context() as patch:

        def rows(self, matrix):
            result = original(self, matrix)
            taken.append(scipy.sparse.issparse(result))
            return result

        patch.setattr(OrthonormalCoordinates, "rows", rows)
        result = minimize(
            lambda x: np.sum((x - target) ** 2),
            np.zeros(size),
            space,
            method=method,
            constraints=[near, total],
            options={"maxiter": 40},
        )
    assert all(taken) if method == "trust-constr" else not any(taken)
    np.testing.assert_allclose(result.x, target, atol=2e-3)
    assert abs(np.sum(result.x)) < 1e-6


def test_bounds_in_oblique_coordinates_are_an_error():
    with pytest.raises(ArgumentError, match="inner product is diagonal"):
        minimize(hilly, START, WEIGHTED, method="L-BFGS-B", bounds=(0.0, 1.0))


def test_methods_without_bounds_or_constraints():
    with pytest.raises(ArgumentError, match=r"BFGS takes no bounds.*l-bfgs-b"):
        minimize(hilly, START, bounds=(0.0, 1.0))
    plane = LinearConstraint(np.ones((1, 3)), 1.0, 1.0)
    with pytest.raises(ArgumentError, match=r"L-BFGS-B takes no constraints.*slsqp"):
        minimize(hilly, START, method="L-BFGS-B", constraints=plane)


def test_constraints_of_other_types():
    with pytest.raises(ArgumentTypeError, match="Got a dict"):
        minimize(hilly, START, method="SLSQP", constraints={"type": "eq", "fun": np.sum})


def test_constraints_may_have_values_of_any_structure():
    for function in (lambda x: {"sum": np.sum(x)}, lambda x: np.sum(x), lambda x: [x @ np.ones(3)]):
        result = minimize(
            hilly, START, WEIGHTED, method="SLSQP", constraints=NonlinearConstraint(function, 0, 0)
        )
        np.testing.assert_allclose(np.sum(result.x), 0, atol=1e-8)
    bounded = NonlinearConstraint(lambda x: np.outer(x, x), -0.25, 0.25)
    result = minimize(hilly, 0.1 * START, method="SLSQP", constraints=bounded)
    np.testing.assert_allclose(result.x, [0.3, -0.5, 0.5], atol=1e-3)


# --- what is refused ------------------------------------------------------------------------------


def test_inner_products_that_depend_on_the_point():
    for space in (Sphere(3), Metric(lambda x: Euclidean(3))):
        with pytest.raises(ArgumentTypeError, match="depends on the point"):
            minimize(hilly, START, space)


def test_wrong_arguments():
    with pytest.raises(ArgumentError, match="name of a method"):
        minimize(hilly, START, method="gradient descent")
    with pytest.raises(ArgumentError, match="name of a method"):
        minimize(hilly, START, method=None)
    with pytest.raises(NotDifferentiableError):
        minimize(hilly, np.array([1, 2, 3]))
    with pytest.raises(MembershipError):
        minimize(hilly, np.ones(2), WEIGHTED)
    with pytest.raises(ArgumentError, match="must be a pair"):
        minimize(hilly, START, method="L-BFGS-B", bounds=Bounds(0, 1))
    with (
        np.errstate(all="ignore"),
        pytest.raises(ArgumentError, match="start with a finite value"),
    ):
        minimize(lambda x: np.sum(np.log(x)), -START)
    for args in (TARGET, 1.0):
        with pytest.raises(ArgumentTypeError, match="args must be a tuple"):
            minimize(lambda x, a: np.sum((x - a) ** 2), START, args=args)
    with pytest.raises(ArgumentError, match="largest slope inf"), np.errstate(all="ignore"):
        minimize(lambda x: np.sum(np.sqrt(x)), np.zeros(2))
    for function in (lambda x: 1j * np.sum(x), lambda x: x[:1]):
        with pytest.raises(NotDifferentiableError, match="value is a real scalar"):
            minimize(function, START, method="Nelder-Mead")


def test_bounds_are_not_mistaken_for_others():
    pairs = [(0.0, 1.0), (2.0, 3.0)]  # of each entry, as SciPy takes them
    with pytest.raises(ArgumentError, match="must be a pair"):
        minimize(lambda x: x @ x, np.ones(2), method="L-BFGS-B", bounds=pairs)
    with pytest.raises(MembershipError, match="lower bound"):
        minimize(lambda x: x @ x, np.ones(2), method="L-BFGS-B", bounds=tuple(pairs))
    with pytest.raises(MembershipError, match=r"upper bound .* shape must be \(3,\)"):
        minimize(hilly, START, method="L-BFGS-B", bounds=(None, np.ones(2)))
    with pytest.raises(ArgumentError, match="entries of x are independent"):
        minimize(np.trace, np.eye(2), Symmetric(2), method="L-BFGS-B", bounds=(0, 1))


def test_bounds_of_complex_arrays():
    def distance(z):
        return np.sum(np.abs(z - (2 + 3j)) ** 2)

    start = np.zeros(2, complex)
    with pytest.raises(ArgumentError, match=r"upper bound 1\.0 is a number"):
        minimize(distance, start, method="L-BFGS-B", bounds=(None, 1.0))
    found = minimize(distance, start, method="L-BFGS-B", bounds=(None, np.full(2, 1 + 2j)))
    np.testing.assert_allclose(found.x, 1 + 2j)


def test_matrices_of_constraints_have_a_column_for_each_coordinate():
    with pytest.raises(ArgumentError, match=r"has shape \(1, 2\); expected one column"):
        minimize(hilly, START, method="SLSQP", constraints=LinearConstraint(np.ones((1, 2)), 0, 0))


def test_tnc_goes_on_whatever_the_callback_says():
    def stop(x):
        raise StopIteration

    assert minimize(hilly, START, method="TNC", callback=stop).success


def test_a_callback_may_return_true_of_numpy():
    assert minimize(hilly, START, callback=lambda x: x[0] < 10).nit == 1


def test_inside_of_a_derivative_the_error_names_what_has_one():
    def minimiser(a):
        return minimize(lambda x, a: np.sum((x - a) ** 2), START, args=(a,)).x[0]

    with pytest.raises(DroppedDerivativeError, match=r"minimize .* ad\.implicit\.argmin"):
        ad.grad(minimiser)(TARGET)
    np.testing.assert_allclose(ad.jit(minimiser)(TARGET), TARGET[0], atol=1e-6)
