"""Functions on the meshes of scikit-fem."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import (
    AdjointError,
    ArgumentError,
    ArgumentTypeError,
    MembershipError,
    MissingPackageError,
    MissingStructureError,
    ShapeError,
)
from adjoint.maps import adjoint_error, space_error
from adjoint.spaces import Boundary, Functions

skfem = pytest.importorskip("skfem")

SQUARE = skfem.MeshTri().refined(3).with_defaults()
P1 = skfem.Basis(SQUARE, skfem.ElementTriP1())
P2 = skfem.Basis(SQUARE, skfem.ElementTriP2())
LINE = np.array([0.0, 0.1, 0.35, 0.6, 1.0])


def test_a_line_is_the_grid():
    """The same matrices as those of the grid, in every boundary."""
    basis = skfem.Basis(skfem.MeshLine(LINE), skfem.ElementLineP1())
    for zero, boundary in ((None, Boundary.FREE), (basis.get_dofs(), Boundary.ZERO)):
        mesh = Functions.elements(basis, scale=0.3, zero=zero)
        grid = Functions.grid(LINE, scale=0.3, boundary=boundary)
        np.testing.assert_allclose(mesh.mass.toarray(), grid.mass.toarray(), atol=1e-14)
        np.testing.assert_allclose(mesh.stiffness.toarray(), grid.stiffness.toarray(), atol=1e-12)
        np.testing.assert_array_equal(mesh.points, grid.points)
        u = grid.random(0)
        for points in (np.array([0.05, 0.5, 0.99]), 0.2):
            np.testing.assert_allclose(mesh.evaluate(u, points), grid.evaluate(u, points))
        np.testing.assert_allclose(mesh.integrate(u), grid.integrate(u))


@pytest.mark.parametrize("basis", [P1, P2], ids=["P1", "P2"])
@pytest.mark.parametrize("scale", [0.0, 0.2])
def test_laws(basis, scale):
    for zero in (None, basis.get_dofs(), basis.get_dofs("left")):
        space = Functions.elements(basis, scale=scale, zero=zero)
        assert space_error(space) < 1e-12
        assert space == Functions.elements(basis, scale=scale, zero=zero)
        assert hash(space) == hash(Functions.elements(basis, scale=scale, zero=zero))
    assert space != Functions.elements(basis, scale=scale)


def test_projection_values_and_integrals():
    """Quadratic functions lie in the space of quadratic elements: all is exact."""
    space = Functions.elements(P2)

    def f(x, y):
        return 1 + x - 2 * x * y + y**2

    u = space.interpolate(f)
    np.testing.assert_allclose(u, f(*space.points), rtol=1e-9, atol=1e-10)
    x, y = np.random.default_rng(0).uniform(0, 1, (2, 4, 3))
    np.testing.assert_allclose(space.evaluate(u, np.stack([x, y])), f(x, y), rtol=1e-9)
    np.testing.assert_allclose(space.integrate(u), 1 + 1 / 2 - 1 / 2 + 1 / 3, rtol=1e-10)
    many = np.stack([u, 2 * u])
    found = ad.vmap(lambda u: space.evaluate(u, np.stack([x, y])))(many)
    np.testing.assert_allclose(found[1], 2 * f(x, y), rtol=1e-9)
    with pytest.raises(AdjointError):  # where a point lies is not followed
        ad.grad(lambda p: np.sum(space.evaluate(u, p)))(np.stack([x, y]))
    grid = np.linspace(0.1, 0.9, 4)
    ad.testing.check(lambda u: np.sum(space.evaluate(u, np.stack([grid, grid])) ** 2), u)


def test_complex_values():
    space = Functions.elements(P2, dtype=complex)
    u = space.interpolate(lambda x, y: x + 1j * y**2)
    np.testing.assert_allclose(space.integrate(u), 1 / 2 + 1j / 3, rtol=1e-10)
    assert space_error(space) < 1e-12
    with pytest.raises(MembershipError, match="the interpolated function must be an element"):
        Functions.elements(P2).interpolate(lambda x, y: x + 1j * y)
    with pytest.raises(AdjointError):  # a parameter is not followed into the assembly
        ad.grad(lambda t: np.sum(Functions.elements(P1).interpolate(lambda x, y: t * x)))(2.0)


def test_gradients():
    """The L2 gradient of 1/2 |u - g|^2 is u - g; in H1 it solves -s^2 div grad w + w = u - g."""
    flat = Functions.elements(P1, zero=P1.get_dofs())
    smooth = Functions.elements(P1, scale=0.3, zero=P1.get_dofs())
    g, u = flat.random(0), flat.random(1)

    def f(u):
        return flat.inner(u - g, u - g) / 2

    np.testing.assert_allclose(ad.grad(f, space=flat)(u), u - g, rtol=1e-9, atol=1e-11)
    w = ad.grad(f, space=smooth)(u)
    system = flat.mass + 0.09 * flat.stiffness
    np.testing.assert_allclose(system @ w, flat.mass @ (u - g), rtol=1e-9, atol=1e-13)
    many = np.stack([u, g + 1])
    found = ad.vmap(ad.grad(f, space=smooth))(many)
    np.testing.assert_allclose(found[0], w, rtol=1e-10, atol=1e-12)
    slope = ad.derivative(lambda u: u**3, u, domain=smooth, codomain=flat)
    assert adjoint_error(slope) < 1e-13


def test_vector_fields():
    basis = skfem.Basis(SQUARE, skfem.ElementVector(skfem.ElementTriP1()))
    space = Functions.elements(basis, scale=0.1)
    assert space_error(space) < 1e-12
    u = space.interpolate(lambda x, y: np.stack([x, 1 - y]))
    points = np.random.default_rng(0).uniform(0, 1, (2, 5))
    np.testing.assert_allclose(
        space.evaluate(u, points), [points[0], 1 - points[1]], rtol=1e-9, atol=1e-10
    )
    with pytest.raises(
        MissingStructureError, match="where the values of the functions are vectors"
    ):
        space.integrate(u)


def test_errors(monkeypatch):
    with pytest.raises(
        ArgumentTypeError, match=r"takes a scikit-fem basis\. Got an object of type"
    ):
        Functions.elements(SQUARE)
    with pytest.raises(ArgumentError, match="scale is the length"):
        Functions.elements(P1, scale=-1.0)
    space = Functions.elements(P1)
    with pytest.raises(ArgumentError, match="points must lie in the mesh"):
        space.evaluate(space.zero(), np.array([[2.0], [0.5]]))
    monkeypatch.setitem(sys.modules, "skfem.helpers", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'adjoint\[fem\]'"):
        Functions.elements(P1)


def test_elements_without_gradients_have_no_stiffness():
    basis = skfem.Basis(SQUARE, skfem.ElementTriRT0())
    space = Functions.elements(basis)
    assert space_error(space) < 1e-10
    with pytest.raises(MissingStructureError, match="no gradients"):
        space.dirichlet_form(space.zero(), space.zero())
    with pytest.raises(MissingStructureError, match="no gradients"):
        Functions.elements(basis, scale=0.1)


def test_several_fields_are_a_product():
    taylor_hood = skfem.ElementVector(skfem.ElementTriP2()) * skfem.ElementTriP1()
    with pytest.raises(ArgumentTypeError, match="several"):
        Functions.elements(skfem.Basis(SQUARE, taylor_hood))


def test_what_is_held_at_zero_are_numbers_of_coefficients():
    for zero in ("left", np.array([P1.N]), np.array([-1]), np.zeros(P1.N, bool)):
        with pytest.raises(ArgumentError, match="zero takes the numbers"):
            Functions.elements(P1, zero=zero)
    assert Functions.elements(P1, zero={"all": P1.get_dofs()}).dimension == 49
    nothing = Functions.elements(P1, zero=np.arange(P1.N), scale=0.1)
    assert nothing.dimension == 0
    assert ad.grad(lambda u: np.sum(u**2), space=nothing)(np.zeros(0)).shape == (0,)


def test_points_on_a_line_have_any_shape():
    """As on a grid: one variable, no axis of coordinates."""
    space = Functions.elements(skfem.Basis(skfem.MeshLine(LINE), skfem.ElementLineP1()))
    for points in (0.5, np.array([0.5]), np.array([[0.5, 0.1]]), np.array([0.1, 0.2, 0.3])):
        np.testing.assert_allclose(space.evaluate(LINE, points), points)
        assert np.shape(space.evaluate(LINE, points)) == np.shape(points)
    for outside in (1.5, -0.5, np.nan):
        with pytest.raises(ArgumentError, match="must lie in the mesh"):
            space.evaluate(LINE, outside)


def test_points_in_curved_cells_are_not_found():
    disc = skfem.Basis(skfem.MeshTri2.init_circle(1), skfem.ElementTriP2())
    space = Functions.elements(disc)
    with pytest.raises(MissingStructureError, match="cells of this kind"):
        space.evaluate(space.zero(), np.zeros(2))


def test_what_cannot_be_projected():
    space = Functions.elements(P1)
    for function in (lambda x, y: np.ones(3), lambda x, y: np.stack([x, y])):
        with pytest.raises(ShapeError, match="shape of the coordinates"):  # 3 nodes in each cell
            space.interpolate(function)
    fields = Functions.elements(skfem.Basis(SQUARE, skfem.ElementVector(skfem.ElementTriP1())))
    with pytest.raises(ShapeError, match="2 components"):
        fields.interpolate(lambda x, y: np.stack([x, y, x]))
    u = fields.interpolate(lambda x, y: [2 * x, 1.0])
    found = fields.evaluate(u, np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]))
    np.testing.assert_allclose(found, [[0.2, 0.4, 0.6], [1.0, 1.0, 1.0]])
    single = Functions.elements(P1, dtype=np.float32)
    assert single.interpolate(lambda x, y: x).dtype == np.float32
