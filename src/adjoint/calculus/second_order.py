"""Second derivatives: the gradient of ∂f(x)[u] (E.1.79), and its matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.calculus.arguments import Argnums, check_callable
from adjoint.calculus.derivative import jvp
from adjoint.calculus.gradient import grad
from adjoint.calculus.jacobian import Mode, jacobian
from adjoint.calculus.leaves import matching_leaves
from adjoint.spaces import Space


def hessian(
    function: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """The Hessian of a real function, as arrays of shape `x.shape + x.shape`.

    By forward mode over reverse mode.

    Args:
        function: its value a real scalar (or a pair with `has_aux`).
        argnums: with respect to which arguments; with several, a tuple of tuples.
        has_aux: whether the function returns a pair `(value, auxiliary)`.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> ad.hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 2.0]))
        array([[4., 2.],
               [2., 0.]])
    """
    check_callable(function, "hessian")
    return jacobian(grad(function, argnums, has_aux=has_aux), argnums, Mode.FORWARD, has_aux)


def hvp(
    function: Callable[..., Any], primal: Any, direction: Any, space: Space | None = None
) -> Any:
    """The Hessian-vector product ∇²f(x)[u], the derivative of the gradient (E.1.79).

    Args:
        function: its value a real scalar.
        primal: the point, an array or a pytree.
        direction: a tangent of the same structure and shapes.
        space: the inner-product space in which the gradient is taken; Euclidean if not given.

    Returns:
        A vector, in the structure of the point.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> ad.hvp(lambda x: np.sum(x**3), np.array([1.0, 2.0]), np.array([1.0, 1.0]))
        array([ 6., 12.])
    """
    check_callable(function, "hvp")
    matching_leaves(primal, direction, "direction")
    return jvp(grad(function, space=space), (primal,), (direction,))[1]
