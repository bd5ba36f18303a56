"""Spaces of functions, under the inner products of L2 and H1 (E.1.27)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, Self, final

import numpy as np

from adjoint.base.errors import ArgumentError, ArgumentTypeError
from adjoint.spaces import opaque
from adjoint.spaces.elements.values import describe, is_real_scalar
from adjoint.spaces.functions.discretisation import Discretisation, Expansion, QuadratureNodes
from adjoint.spaces.functions.finite_elements import FiniteElements
from adjoint.spaces.functions.grids import Boundary, Grid
from adjoint.spaces.inner_products.weighted import Weighted


@final
class Functions(Weighted):
    """Functions, each given by an array of coefficients, under an inner product of functions.

    The inner product of L2 is <f, g> = integral of f g (E.1.27), and that of H1 with a length s is
    <f, g> = integral of f g + s^2 (f' g'). For coefficients x and y it is x' G y, where G is the
    matrix of the inner products of the basis functions; so this is `Weighted`, whose G comes from
    the geometry. Gradients in it are functions too: they do not depend on the grid, as the array of
    partial derivatives does.

    Elements are plain arrays. On grids and quadratures they hold values at `points`, and plain
    NumPy acts on them pointwise; in other bases, `evaluate` gives values.

    Use one of `grid`, `quadrature`, `gauss_legendre`, `expansion`, `elements`; and `under`, for any
    other inner product on the same functions.

    Args:
        discretisation: which function an array stands for.
        weight: G, as `Weighted` takes it.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> space = Functions.grid(np.linspace(0.0, 1.0, 5) ** 2)
        >>> u = space.interpolate(lambda x: x)
        >>> round(float(space.inner(u, u)), 12)
        0.333333333333
        >>> np.round(ad.grad(lambda u: space.inner(u, u), space=space)(u), 12)
        array([0.   , 0.125, 0.5  , 1.125, 2.   ])
    """

    def __init__(self, discretisation: Discretisation, weight: Any) -> None:
        super().__init__(discretisation.base, weight)
        self._discretisation: Final = discretisation

    def _key(self) -> tuple[Any, ...]:
        return *super()._key(), self._discretisation

    def __repr__(self) -> str:
        return f"Functions({self._discretisation!r}, {self._weight.describe()})"

    # --- which functions -------------------------------------------------------------------------

    @classmethod
    def quadrature(cls, nodes: Any, weights: Any, dtype: Any = float) -> Self:
        """Functions by their values at nodes, under <f, g> = sum_i w_i f(x_i) g(x_i).

        Args:
            nodes: shape (n,), or of any shape, for functions of one variable; (d, *shape) for
                functions of d variables.
            weights: positive, the shape of the elements.
            dtype: of the values.

        Returns:
            The space, whose elements are arrays of the shape of the weights.

        Raises:
            ArgumentError, ArgumentTypeError: the shapes do not fit, or these are no real numbers.
            NotPositiveDefiniteError: a weight is not positive.

        Example:
            >>> import numpy as np
            >>> midpoints = Functions.quadrature(np.array([0.25, 0.75]), np.array([0.5, 0.5]))
            >>> float(midpoints.integrate(midpoints.points))
            0.5
        """
        discretisation = QuadratureNodes(nodes, weights, dtype)
        return cls(discretisation, discretisation.integrals)

    @classmethod
    def gauss_legendre(cls, a: float, b: float, n: int, dtype: Any = float) -> Self:
        """L2 on [a, b] by n Gauss nodes: exact for products of polynomials up to degree 2 n - 1.

        Args:
            a: where the interval begins.
            b: where it ends.
            n: how many nodes.
            dtype: of the values.

        Returns:
            The space, whose elements are arrays of shape (n,): values at the nodes, in `points`.

        Raises:
            ArgumentError, ArgumentTypeError: b <= a, one is infinite, or n is not 1 or more.

        Example:
            >>> space = Functions.gauss_legendre(0.0, 1.0, 4)
            >>> round(float(space.inner(space.points**2, space.points**3)), 12)
            0.166666666667
        """
        if not (is_real_scalar(a) and is_real_scalar(b) and isinstance(n, (int, np.integer))):
            raise ArgumentTypeError(
                f"gauss_legendre takes two numbers and a number of nodes. Got a = {a!r}, "
                f"b = {b!r}, n = {n!r}. Several intervals are the axes of a grid."
            )
        if not (-np.inf < a < b < np.inf and n >= 1):
            raise ArgumentError(
                f"gauss_legendre takes an interval a < b and one node or more. Got a = {a}, "
                f"b = {b}, n = {n}. Exchange a and b if they are in the wrong order."
            )
        nodes, weights = np.polynomial.legendre.leggauss(n)
        return cls.quadrature((a + b) / 2 + (b - a) / 2 * nodes, (b - a) / 2 * weights, dtype)

    @classmethod
    def grid(
        cls,
        *axes: Any,
        scale: float = 0.0,
        lumped: bool = False,
        boundary: Boundary | tuple[Boundary, ...] = Boundary.FREE,
        dtype: Any = float,
    ) -> Self:
        """Piecewise linear functions by their values on a grid, under L2 or H1.

        Args:
            axes: for each variable the increasing points along its axis, boundary included.
            scale: the length s in <f, g> + s^2 <f', g'>; 0 for L2.
            lumped: whether <f, g> is that of the trapezoidal rule, whose matrix is diagonal, and
                not the exact one of piecewise linear functions.
            boundary: of all axes, or a tuple with one for each.
            dtype: of the values.

        Elements have an axis for each variable, of as many values as the boundary leaves.

        Returns:
            The space, whose elements are arrays of values at grid points.

        Raises:
            ArgumentError, ArgumentTypeError: the points do not increase, there are too few of them,
                scale is negative, or the boundary is none.

        Example:
            >>> import numpy as np
            >>> space = Functions.grid(np.linspace(0, 1, 4), np.linspace(0, 2, 6), scale=0.1)
            >>> space, round(float(space.norm(np.ones((4, 6)))) ** 2, 12)
            (Functions(a grid of 4x6, sparse 24x24), 2.0)
        """
        discretisation = Grid(axes, boundary, lumped, dtype)
        if lumped and not _require_scale(scale):
            return cls(discretisation, discretisation.integrals)
        return cls(discretisation, _sobolev(discretisation, scale))

    @classmethod
    def expansion(
        cls, functions: Iterable[Callable[..., Any]], nodes: Any, weights: Any, dtype: Any = float
    ) -> Self:
        """Functions by their coefficients in a basis of any functions, under L2 by a quadrature.

        Args:
            functions: independent functions of the coordinates (arrays) that return arrays.
            nodes: of the quadrature, shape (n,), or (d, n) for functions of d variables.
            weights: of the quadrature, shape (n,).
            dtype: of the coefficients.

        `points` are the nodes, where `interpolate` reads what it projects.

        Returns:
            The space, whose elements are arrays of one coefficient for each function.

        Raises:
            ArgumentError, ArgumentTypeError, ShapeError: the shapes do not fit, or a function is
                none.
            NotPositiveDefiniteError: the functions depend on one another.

        Example:
            >>> import numpy as np
            >>> nodes, weights = np.polynomial.legendre.leggauss(5)
            >>> space = Functions.expansion([np.ones_like, lambda x: x], nodes, weights)
            >>> np.round(space.interpolate(lambda x: x**3), 12) + 0.0
            array([0. , 0.6])
        """
        discretisation = Expansion(functions, nodes, weights, dtype)
        return cls(discretisation, discretisation.mass)

    @classmethod
    def elements(cls, basis: Any, scale: float = 0.0, zero: Any = None, dtype: Any = float) -> Self:
        """Functions on a mesh of scikit-fem, under the inner product of L2 or H1.

        Args:
            basis: a scikit-fem basis, `skfem.Basis(mesh, element)`.
            scale: the length s in <f, g> + s^2 <f', g'>; 0 for L2.
            zero: coefficients that are zero and that elements do not hold, as
                `basis.complement_dofs` takes them: `basis.get_dofs()` for the whole boundary.
            dtype: of the coefficients.

        `interpolate` is the orthogonal projection in L2, whatever the element.

        Returns:
            The space, whose elements are arrays of the coefficients that are not held at zero.

        Raises:
            MissingPackageError: scikit-fem is not installed.
            ArgumentError, ArgumentTypeError: this is no such basis, or scale is negative.

        Example:
            >>> import skfem
            >>> mesh = skfem.MeshTri().refined(2)
            >>> space = Functions.elements(skfem.Basis(mesh, skfem.ElementTriP1()), scale=0.1)
            >>> round(float(space.integrate(space.interpolate(lambda x, y: x * y))), 12)
            0.25
        """
        discretisation = FiniteElements(basis, zero, dtype)
        return cls(discretisation, _sobolev(discretisation, scale))

    def under(self, weight: Any) -> Functions:
        """The same functions under another inner product.

        Args:
            weight: a positive definite matrix on the (flattened) coefficients, dense or sparse; a
                map with its inverse, as a `ConjugateGradient`; whatever `Weighted` takes.

        Returns:
            A space with the same elements, and another inner product and gradient.

        Raises:
            ArgumentError: the weight does not fit the coefficients.
            NotPositiveDefiniteError: it is not symmetric and positive definite.
            ArgumentTypeError: the weight is nothing that `Weighted` takes.

        Example:
            >>> import numpy as np
            >>> flat = Functions.grid(np.linspace(0.0, 1.0, 5))
            >>> h1 = Functions.grid(np.linspace(0.0, 1.0, 5), scale=0.5)
            >>> flat.under(flat.mass + 0.25 * flat.stiffness) == h1
            True
        """
        return Functions(self._discretisation, weight)

    # --- what functions can do -------------------------------------------------------------------

    @property
    def points(self) -> Any:
        """Where the values lie: for one variable the shape of the values, else (d, *shape)."""
        coordinates = self._discretisation.coordinates
        return coordinates[0] if len(coordinates) == 1 else np.stack(coordinates)

    @property
    def mass(self) -> Any:
        """The matrix of <f, g> in L2 on flattened coefficients: SciPy sparse, or dense."""
        return self._discretisation.mass

    @property
    def stiffness(self) -> Any:
        """The matrix of the integral of f' g' (of the dot product of gradients), SciPy sparse.

        Raises:
            MissingStructureError: the derivatives of the functions are not known.
        """
        return self._discretisation.stiffness

    def interpolate(self, function: Callable[..., Any]) -> Any:
        """The element that stands for a function of the coordinates.

        It has the function's values on grids and quadratures; elsewhere it is the orthogonal
        projection in L2.

        Args:
            function: of as many arrays as there are variables, to an array of values.

        Returns:
            An element: an array of values or coefficients.

        Raises:
            ArgumentTypeError: this is no function, or its values are no numbers.
            ShapeError: they have another shape than the points.
            MembershipError: they are complex, and the space is real.

        Example:
            >>> import numpy as np
            >>> Functions.grid(np.array([0.0, 1.0, 3.0])).interpolate(lambda x: x**2)
            array([0., 1., 9.])
        """
        if not callable(function):
            raise ArgumentTypeError(
                f"interpolate takes a function of the coordinates. Got {describe(function)}. An "
                "array that holds values at `points` is an element already, on a grid."
            )
        element = self._discretisation.interpolate(function)
        self.check(element, "the interpolated function")
        return element

    def integrate(self, element: Any) -> Any:
        """The integral of a function, a linear functional.

        Args:
            element: the function.

        Returns:
            A scalar of the dtype of the elements.

        Raises:
            MembershipError, SpaceMismatchError: it is not an element.

        Example:
            >>> import numpy as np
            >>> space = Functions.grid(np.array([0.0, 1.0, 3.0]))
            >>> float(space.integrate(space.points**2))
            10.5
        """
        self.check(element, "element")
        integrals = self._discretisation.integrals.astype(self._real_dtype, copy=False)
        return np.sum(integrals * element)

    def dirichlet_form(self, f: Any, g: Any) -> Any:
        """The integral of f' g' (of the dot product of gradients), symmetric and bilinear.

        Args:
            f: a function.
            g: another.

        Returns:
            A real scalar.

        Raises:
            MissingStructureError: the derivatives of the functions are not known.
            MembershipError, SpaceMismatchError: one of them is not an element.

        Example:
            >>> import numpy as np
            >>> import adjoint as ad
            >>> space = Functions.grid(np.array([0.0, 1.0, 3.0]))
            >>> def energy(u):
            ...     return space.dirichlet_form(u, u) / 2
            >>> ad.grad(energy)(space.points**2)
            array([-1., -3.,  4.])
        """
        self.check(f, "f")
        self.check(g, "g")
        return self.base._pair(opaque.APPLY(self._stiffened, f), g)

    def _stiffened(self, f: Any) -> Any:
        return self._shaped(self.stiffness.astype(self._real_dtype) @ self._flat(f))

    def evaluate(self, element: Any, points: Any) -> Any:
        """The values of a function at points, linear in the function.

        On grids it can be differentiated with respect to the points too.

        Args:
            element: the function.
            points: of any shape for functions of one variable; (d, ...) for d variables.

        Returns:
            An array of the shape of the points, without the axis of the d coordinates.

        Raises:
            ArgumentError: a point lies outside of the domain, or has too few coordinates.
            MissingStructureError: only values at nodes are known.
            MembershipError: the function is not an element of the space.

        Example:
            >>> import numpy as np
            >>> space = Functions.grid(np.array([0.0, 1.0, 3.0]))
            >>> space.evaluate(np.array([0.0, 1.0, 9.0]), np.array([0.5, 2.0]))
            array([0.5, 5. ])
        """
        self.check(element, "element")
        return self._discretisation.evaluate(element, points)


def _require_scale(scale: Any) -> float:
    if not (is_real_scalar(scale) and 0 <= scale < np.inf):
        raise ArgumentError(
            f"scale is the length s in <f, g> + s^2 <f', g'>, a number that is not negative. "
            f"Got {scale!r}. It is 0 for L2."
        )
    return float(scale)


def _sobolev(discretisation: Discretisation, scale: float) -> Any:
    length = _require_scale(scale)
    if length == 0:
        return discretisation.mass
    return discretisation.mass + length**2 * discretisation.stiffness
