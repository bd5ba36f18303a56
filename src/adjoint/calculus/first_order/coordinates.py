"""Curvilinear coordinates: bases that depend on the point, and derivatives in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NoReturn, final

import numpy as np

from adjoint.base.errors import ArgumentError
from adjoint.calculus.inputs.arguments import check_callable
from adjoint.calculus.jacobians.jacobian import jacobian
from adjoint.spaces.elements.values import describe

Function = Callable[[Any], Any]


@final
class Coordinates:
    """Coordinates q of the points x = chart(q) of a Euclidean space, or of a surface in one.

    The basis at a point consists of the columns of the derivative of the chart, so the
    change-of-basis matrix C of (E.1.80) depends on the point. Functions and fields are functions of
    q; the components of a field are those in that basis (contravariant ones).

    Args:
        chart: a function of an array q of shape (m,), whose value is an array of shape (n,),
            n >= m, with independent columns ∂x/∂q_j where it is used.

    Raises:
        ArgumentTypeError: the chart is no function.

    The formulas are those of any text on tensor calculus, for instance M. P. do Carmo, Riemannian
    Geometry (1992), chapters 2 and 3.

    Example:
        >>> import numpy as np
        >>> polar = Coordinates(lambda q: q[0] * np.array([np.cos(q[1]), np.sin(q[1])]))
        >>> np.round(polar.metric(np.array([2.0, 0.5])), 12)
        array([[1., 0.],
               [0., 4.]])
        >>> round(float(polar.laplacian(lambda q: q[0] ** 2)(np.array([2.0, 0.5]))), 12)
        4.0
    """

    def __init__(self, chart: Function) -> None:
        check_callable(chart, "Coordinates")
        self._chart: Final = chart

    def __repr__(self) -> str:
        return f"Coordinates({getattr(self._chart, '__name__', 'chart')})"

    def basis(self, q: Any) -> Any:
        """C, shape (n, m): column j is the basis vector ∂x/∂q_j at the point (E.1.80).

        Args:
            q: the coordinates of the point, shape (m,).

        Returns:
            The real array C of shape (n, m), where the chart goes from m coordinates to n numbers.

        Raises:
            ArgumentError: q or the chart's value is no row of numbers.
            NotDifferentiableError: q holds no floating-point numbers.
        """
        _check_point(q)
        columns = jacobian(self._chart)(q)
        shape: tuple[int, ...] = getattr(columns, "shape", ())
        if len(shape) != 2 or shape[0] < shape[1]:
            raise ArgumentError(
                f"The chart must give an array of shape (n,), with n at least {len(q)}. Its "
                f"derivative is {describe(columns)}. np.array([...]) makes one of the Cartesian "
                "coordinates."
            )
        return columns

    def metric(self, q: Any) -> Any:
        """The inner products of the basis vectors, C'C, shape (m, m).

        Args:
            q: the coordinates of the point, shape (m,).

        Returns:
            A symmetric real array of shape (m, m).

        Raises:
            ArgumentError: q is no array of shape (m,).
            NotDifferentiableError: q holds no floating-point numbers.
        """
        columns = self.basis(q)
        return columns.T @ columns

    def scales(self, q: Any) -> Any:
        """The lengths of the basis vectors, shape (m,).

        Components times lengths are the components with respect to unit vectors along the
        coordinate lines, which physics texts use where the coordinates are orthogonal.

        Args:
            q: the coordinates of the point, shape (m,).

        Returns:
            A real array of shape (m,), of positive numbers where the chart is regular.

        Raises:
            ArgumentError: q is no array of shape (m,).
            NotDifferentiableError: q holds no floating-point numbers.
        """
        columns = self.basis(q)
        return np.sqrt(np.sum(columns**2, axis=0))

    def christoffel(self, q: Any) -> Any:
        """The symbols Γ^k_ij, shape (m, m, m), as [k, i, j]: ∂_i e_j = sum_k Γ^k_ij e_k (+ normal).

        They say how the basis changes from point to point, and vanish where it does not. Near a
        singular point they, and what is computed from them, lose digits.

        Args:
            q: the coordinates of the point, shape (m,).

        Returns:
            A real array of shape (m, m, m), symmetric in its last two axes.

        Raises:
            ArgumentError: the coordinates are singular at this point, up to the rounding of q.
            NotDifferentiableError: q holds no floating-point numbers.
        """
        columns = self.basis(q)  # (n, m)
        curvature = jacobian(jacobian(self._chart))(q)  # (n, m, m)
        if isinstance(curvature, np.ndarray):
            changes = np.sqrt(np.sum(curvature**2, axis=0)) @ np.spacing(np.abs(q))
            if np.any(changes > self.scales(q)):  # as at the angle np.pi at a pole
                self._refuse(q)
        along = np.tensordot(columns, curvature, axes=((0,), (0,)))  # (m, m, m)
        count = len(q)
        raised = self._raised(q, np.reshape(along, (count, count * count)))
        return np.reshape(raised, (count, count, count))

    def gradient(self, function: Function) -> Function:
        """The gradient of a real function of q, in components of the basis: (C'C)^-1 ∂f (E.1.37).

        Args:
            function: a real function of q.

        Returns:
            A function of q.

        Raises:
            ArgumentError: where it is evaluated, the coordinates are singular, or the value of the
                function is of another shape.
            ArgumentTypeError: the first argument is no function.
        """
        check_callable(function, "gradient")
        return lambda q: self._raised(q, _derivative(function, q, 0, "gradient"))

    def hessian(self, function: Function) -> Function:
        """The covariant second derivative of a real function: ∂_ij f - Γ^k_ij ∂_k f, shape (m, m).

        Unlike the plain second derivative, it transforms as a (2, 0) tensor between any two
        coordinate systems.

        Args:
            function: a real function of q.

        Returns:
            A function of q.

        Raises:
            ArgumentError: where it is evaluated, the coordinates are singular, or the value of the
                function is of another shape.
            ArgumentTypeError: the first argument is no function.
        """
        check_callable(function, "hessian")

        def value(q: Any) -> Any:
            slope = _derivative(function, q, 0, "hessian")
            plain = jacobian(jacobian(function))(q)
            return plain - np.tensordot(slope, self.christoffel(q), axes=1)

        return value

    def laplacian(self, function: Function) -> Function:
        """The Laplace-Beltrami operator: the trace of (C'C)^-1 times the covariant Hessian.

        Args:
            function: a real function of q.

        Returns:
            A function of q.

        Raises:
            ArgumentError: where it is evaluated, the coordinates are singular, or the value of the
                function is of another shape.
            ArgumentTypeError: the first argument is no function.
        """
        covariant = self.hessian(function)
        return lambda q: np.trace(self._raised(q, covariant(q)))

    def divergence(self, field: Function) -> Function:
        """The divergence ∂_i F^i + Γ^i_ij F^j of a field, given by its components in the basis.

        Args:
            field: a function of q with values of shape (m,).

        Returns:
            A function of q.

        Raises:
            ArgumentError: where it is evaluated, the coordinates are singular, or the value of the
                function is of another shape.
            ArgumentTypeError: the first argument is no function.
        """
        check_callable(field, "divergence")

        def value(q: Any) -> Any:
            plain = _derivative(field, q, 1, "divergence")
            spread = np.trace(self.christoffel(q), axis1=0, axis2=1)  # sum_i Γ^i_ij
            return np.trace(plain) + spread @ field(q)

        return value

    def _raised(self, q: Any, lower: Any) -> Any:
        """(C'C)^-1 times what has a lower first index."""
        metric = self.metric(q)
        if isinstance(metric, np.ndarray):
            limits = np.finfo(metric.dtype)  # below, squares of lengths lose digits
            if np.any(np.diagonal(metric) < limits.tiny / limits.eps):
                self._refuse(q)
        try:
            return np.linalg.solve(metric, lower)
        except np.linalg.LinAlgError:
            self._refuse(q)

    def _refuse(self, q: Any) -> NoReturn:
        raise ArgumentError(
            f"{self!r} was used at q = {q}. The basis vectors are dependent there, as at the "
            "origin of polar coordinates. Use other coordinates near this point."
        ) from None


def _derivative(function: Function, q: Any, order: int, name: str) -> Any:
    """The partial derivatives of a number (order 0) or of the components of a field (order 1)."""
    _check_point(q)
    partials = jacobian(function)(q)
    if getattr(partials, "shape", None) != (len(q),) * (order + 1):
        values = f"an array of shape ({len(q)},), its components" if order else "a number"
        raise ArgumentError(
            f"{name} takes a function of q whose value is {values}. The derivative of this one is "
            f"{describe(partials)}. Give each component of another function by itself."
        )
    return partials


def _check_point(q: Any) -> None:
    shape = getattr(q, "shape", None)
    if shape is None or len(shape) != 1:
        raise ArgumentError(
            f"A point is given by its coordinates, an array of shape (m,). Got {describe(q)}. "
            "np.array([r, angle]) is one in the plane."
        )
