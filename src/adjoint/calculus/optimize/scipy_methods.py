"""SciPy's minimisers, in the inner product of a space."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from numbers import Real
from typing import Any, Final

import numpy as np

from adjoint.base import pytrees
from adjoint.base.dlpack import arrived
from adjoint.base.errors import ArgumentError, ArgumentTypeError, NotDifferentiableError
from adjoint.base.signatures.checked import checked
from adjoint.calculus.first_order.gradient import value_and_grad
from adjoint.calculus.inputs.arguments import check_callable
from adjoint.calculus.inputs.representation import space_of
from adjoint.calculus.optimize.constraints import as_constraints
from adjoint.calculus.optimize.entry import asks_to_stop, check_args, points_to_argmin
from adjoint.calculus.second_order import hvp
from adjoint.spaces import OrthonormalCoordinates, Space, TangentBundle
from adjoint.spaces.elements.values import describe


class _DerivativeOrder(Enum):
    """What a method wants to be told."""

    VALUE = "values only"
    GRADIENT = "gradients"
    PRODUCT = "gradients, and products with the Hessian"
    HESSIAN = "gradients and Hessians"


_ORDERS: Final = {
    "nelder-mead": _DerivativeOrder.VALUE,
    "powell": _DerivativeOrder.VALUE,
    "cobyla": _DerivativeOrder.VALUE,
    "cobyqa": _DerivativeOrder.VALUE,
    "cg": _DerivativeOrder.GRADIENT,
    "bfgs": _DerivativeOrder.GRADIENT,
    "l-bfgs-b": _DerivativeOrder.GRADIENT,
    "tnc": _DerivativeOrder.GRADIENT,
    "slsqp": _DerivativeOrder.GRADIENT,
    "newton-cg": _DerivativeOrder.PRODUCT,
    "trust-ncg": _DerivativeOrder.PRODUCT,
    "trust-krylov": _DerivativeOrder.PRODUCT,
    "trust-constr": _DerivativeOrder.PRODUCT,
    "dogleg": _DerivativeOrder.HESSIAN,
    "trust-exact": _DerivativeOrder.HESSIAN,
}
_BOUNDED: Final = frozenset(
    {"nelder-mead", "powell", "cobyla", "cobyqa", "l-bfgs-b", "tnc", "slsqp", "trust-constr"}
)
_CONSTRAINED: Final = frozenset({"cobyla", "cobyqa", "slsqp", "trust-constr"})


class _Objective:
    """The function of orthonormal coordinates z, with derivatives as SciPy's methods ask for."""

    def __init__(self, function: Any, args: Sequence[Any], frame: OrthonormalCoordinates) -> None:
        self.frame = frame
        self._function = function
        self._args = tuple(args)
        # One function for all products with the Hessian: of a new one, none is known to be alike.
        self._at = (lambda x: function(x, *self._args)) if self._args else function
        self._value_and_grad = value_and_grad(function)
        self._started = False

    def value(self, z: Any) -> float:
        value = self._function(self.frame.element(z), *self._args)
        if np.shape(value) != () or np.iscomplexobj(value):
            raise NotDifferentiableError(
                f"minimize takes a function whose value is a real scalar. Got {describe(value)}. "
                "Sum it, or take its real part."
            )
        return self._checked(float(value), 0.0)

    def value_and_gradient(self, z: Any) -> tuple[float, Any]:
        value, components = self._value_and_grad(self.frame.element(z), *self._args)
        gradient = self.frame.of_covector(components)
        return self._checked(float(value), gradient), gradient

    def product(self, z: Any, direction: Any) -> Any:
        """The Hessian in these coordinates times a vector."""
        frame = self.frame
        slopes = hvp(self._at, frame.element(z), frame.element(direction))
        return frame.of_covector(slopes)

    def hessian(self, z: Any) -> Any:
        """The Hessian in these coordinates, shape (dimension, dimension)."""
        columns = [self.product(z, unit) for unit in np.eye(len(z))]
        return np.stack(columns, axis=1)

    def _checked(self, value: float, gradient: Any) -> float:
        if not self._started and not (np.isfinite(value) and np.all(np.isfinite(gradient))):
            raise ArgumentError(
                f"minimize needs a start with a finite value and gradient. At x0 the value is "
                f"{value:.6g} and the largest slope {np.max(np.abs(gradient)):.6g}. "
                "Start where the function is defined."
            )
        self._started = True
        return value


@points_to_argmin
@checked
def minimize(
    function: Callable[..., Any],
    x0: Any,
    space: Space | None = None,
    *,
    method: str = "BFGS",
    args: Sequence[Any] = (),
    bounds: tuple[Any, Any] | None = None,
    constraints: Any = (),
    tol: float | None = None,
    options: dict[str, Any] | None = None,
    callback: Callable[[Any], Any] | None = None,
) -> Any:
    """Minimise a function with a method of `scipy.optimize.minimize`, in the space's inner product.

    SciPy's methods take x·y for the inner product. They are given the coordinates of x in an
    orthonormal basis of the space, in which that is right: the identity with which BFGS begins is
    then the Riesz map of the space, and trust regions are balls of its norm.

    Args:
        function: its value a real scalar; of x, and of args.
        x0: where to start, an array or a pytree.
        space: of x; Euclidean if not given.
        method: the name of SciPy's method. Gradients come from `ad.value_and_grad`, and products
            with the Hessian, for the methods that use them, from `ad.hvp`.
        args: further arguments of the function.
        bounds: (lower, upper), each None, a number for all entries of x (of a real space), or of
            the structure of x. In spaces of arrays with a diagonal inner product only, where bounds
            on x are bounds on coordinates.
        constraints: SciPy's `LinearConstraint`, on the coordinates of x in `space.basis()` (the
            flattened entries of arrays), or `NonlinearConstraint`, whose function takes x and is
            differentiated by this package; or a list of such.
        tol: as SciPy takes it; it refers to the coordinates.
        options: likewise.
        callback: called with x after every iteration; it ends the run by returning True, or by
            raising StopIteration. TNC cannot be ended.

    Returns:
        SciPy's `OptimizeResult`, with `x` in the structure of x0, its gradient in the space as
        `jac`, and the coordinates that SciPy found as `coordinates`.

    Raises:
        NotDifferentiableError: x0 holds integers, or the value is no real scalar.
        ArgumentError: the method takes no such bounds or constraints, or is none of SciPy's; the
            value or gradient at x0 is not finite; constraints or bounds have the wrong size.
        ArgumentTypeError: the space depends on the point, a constraint is of another type, or args
            is no tuple.
        DroppedDerivativeError: inside of a function that is differentiated: `ad.implicit.argmin`
            has a derivative.
        MembershipError: x0 is not in the space.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> space = ad.spaces.Weighted(ad.spaces.Euclidean(2), np.array([1.0, 100.0]))
        >>> f = lambda x: np.log(1 + (x[0] - 1) ** 2 + 100 * (x[1] - 2) ** 2)
        >>> result = ad.optimize.minimize(f, np.zeros(2), space)
        >>> result.success, result.x.round(4)
        (True, array([1., 2.]))
    """
    check_callable(function, "minimize")
    check_args(args)
    x0, args = arrived((x0, args))
    order = _order(method, bounds, constraints)
    frame = OrthonormalCoordinates(_one_space(x0, space))
    objective = _Objective(function, args, frame)
    given: dict[str, Any] = {}
    if order is _DerivativeOrder.VALUE:
        target: Any = objective.value
    else:
        target, given["jac"] = objective.value_and_gradient, True
    if order is _DerivativeOrder.PRODUCT:
        given["hessp"] = objective.product
    if order is _DerivativeOrder.HESSIAN:
        given["hess"] = objective.hessian
    if bounds is not None:
        given["bounds"] = _bounds(bounds, x0, frame)
    if callback is not None:
        given["callback"] = _watch(callback, method, frame)

    from scipy import optimize  # lazy: takes longer to import than all of adjoint

    run: Any = optimize.minimize  # its stubs list the methods' arguments one by one
    result = run(
        target,
        frame.of(x0),
        method=method,
        constraints=as_constraints(constraints, x0, frame, method),
        tol=tol,
        options=options,
        **given,
    )
    result.coordinates, result.x = result.x, frame.element(result.x)
    if order is not _DerivativeOrder.VALUE:
        # Anew: some methods return the gradient at the point before, or that of constraints.
        result.jac = frame.element(objective.value_and_gradient(result.coordinates)[1])
    return result


def _one_space(x0: Any, space: Any) -> Space:
    if isinstance(space, TangentBundle):
        raise ArgumentTypeError(
            f"minimize needs one inner product for all points. Got {space!r}, whose inner product "
            "depends on the point. ad.optimize.descend takes such."
        )
    return space_of(x0, space, "x0")


def _order(method: Any, bounds: Any, constraints: Any) -> _DerivativeOrder:
    name = method.lower() if isinstance(method, str) else method
    order = _ORDERS.get(name)
    if order is None:
        raise ArgumentError(
            f"method must be the name of a method of scipy.optimize.minimize. Got {method!r}. "
            f"They are {', '.join(sorted(_ORDERS))}."
        )
    for what, value, able in (
        ("bounds", bounds is not None, _BOUNDED),
        ("constraints", constraints not in ((), [], None), _CONSTRAINED),
    ):
        if value and name not in able:
            raise ArgumentError(
                f"The method {method} takes no {what}. Methods that do are "
                f"{', '.join(sorted(able))}."
            )
    return order


def _bounds(bounds: Any, x0: Any, frame: OrthonormalCoordinates) -> Any:
    from scipy.optimize import Bounds  # lazy, as above

    if not isinstance(bounds, tuple) or len(bounds) != 2:
        raise ArgumentError(
            f"bounds must be a pair (lower, upper). Got {describe(bounds)}. Each is None, a "
            "number, or of the structure of x."
        )
    if frame.scales is None or not frame.space._full:
        raise ArgumentError(
            f"Bounds on x are bounds on orthonormal coordinates only where the entries of x are "
            f"independent and the inner product is diagonal. {frame.space!r} is no such space. Use "
            "a diagonal inner product, such as lumped weights, or a LinearConstraint."
        )
    sides = (
        _side(side, name, x0, frame.space)
        for side, name in zip(bounds, ("lower", "upper"), strict=True)
    )
    return Bounds(*(frame.scales * side for side in sides))


def _side(side: Any, name: str, x0: Any, space: Space) -> Any:
    """The bounds on the coordinates of x, from below or from above."""
    if side is None:
        return np.full(space.dimension, -np.inf if name == "lower" else np.inf)
    if isinstance(side, Real):
        if space._complex:
            raise ArgumentError(
                f"The {name} bound {side} is a number, and {space!r} is complex. Give an array "
                "whose real and imaginary parts bound those of x."
            )
        return np.full(space.dimension, float(side))
    if pytrees.alike(pytrees.flatten(side)[1], pytrees.flatten(x0)[1]):
        side = pytrees.tree_map(lambda bound, at: np.asarray(bound, np.result_type(at)), side, x0)
    space.check(side, f"The {name} bound")
    return space._coordinates(side)


def _watch(callback: Any, method: str, frame: OrthonormalCoordinates) -> Any:
    def watch(z: Any, *_: Any) -> None:
        try:
            ends = asks_to_stop(callback(frame.element(z)))
        except StopIteration:
            ends = True
        if ends and method.lower() != "tnc":
            raise StopIteration

    return watch
