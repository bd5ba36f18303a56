"""The metric that a map pulls back from the inner product of its values."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any, Final

import numpy as np

from adjoint.base.errors import ArgumentError, NotConvergedError, NotPositiveDefiniteError
from adjoint.base.signatures.checked import checked
from adjoint.calculus.first_order.derivative import derivative
from adjoint.calculus.inputs.arguments import check_callable
from adjoint.calculus.inputs.representation import check_space, space_of
from adjoint.maps import LinearMap
from adjoint.spaces import Metric, Space, TangentBundle, opaque
from adjoint.spaces.elements.values import describe
from adjoint.spaces.inner_products.operator_weighted import OperatorWeighted

# Of conjugate gradients, relative to the right-hand side.
_TOLERANCE: Final = 1e-10


@checked
def pullback_metric(
    model: Callable[[Any], Any],
    codomain: Space | TangentBundle | None = None,
    domain: Space | None = None,
    damping: float = 0.0,
    matrix_free: bool = False,
) -> Metric:
    """The metric <u, v>_x = <∂m(x)[u], ∂m(x)[v]> that a map y = m(x) pulls back, damped.

    Its weight is W(x) = ∂m(x)' G ∂m(x) + damping, G being the inner product of the values. Where
    that is the Hessian of a loss, this is the Gauss-Newton matrix. Where it is the Fisher metric of
    a family of distributions in any parameters y, this is the Fisher information in the parameters
    x, and gradients in it are natural gradients (Amari 1998; after E.1.43). A step along them is,
    to first order, the same in y whatever the parameters x.

    Args:
        model: plain NumPy code, x -> y.
        codomain: the space of y, a `Metric` or a manifold; Euclidean if not given.
        domain: the space of x; Euclidean if not given.
        damping: this times the inner product of the domain is added. Without it, ∂m(x) must have
            no null space.
        matrix_free: solve with W by conjugate gradients, by products with ∂m(x) and its transpose,
            instead of with its Cholesky factor.

    Returns:
        A `Metric`, to be given as the `space` of a gradient or of `ad.optimize.descend`.

    Raises:
        ArgumentError: the damping is no number, or negative.
        NotPositiveDefiniteError: when it is used, and W(x) is singular.
        NotConvergedError: when it is used, and conjugate gradients do not converge.
        ArgumentTypeError: the model is no function, or an option is not what it should be.

    Example:
        The natural gradient of a function of the mean and the log of the standard deviation of a
        Gaussian, whose Fisher metric in (mean, deviation) is diag(1, 2) / deviation².

        >>> import numpy as np
        >>> import adjoint as ad
        >>> from adjoint.spaces import Euclidean, Metric, Weighted
        >>> fisher = Metric(
        ...     lambda y: Weighted(Euclidean(2), np.array([1.0, 2.0]) / y[1] ** 2)
        ... )
        >>> model = lambda x: np.stack([x[0], np.exp(x[1])])
        >>> natural = pullback_metric(model, fisher)
        >>> ad.grad(lambda x: x[0] + x[1], space=natural)(
        ...     np.array([0.0, np.log(3.0)])
        ... ).round(6)
        array([9. , 0.5])
    """
    check_callable(model, "pullback_metric")
    for space, name in ((codomain, "codomain"), (domain, "domain")):
        if space is not None:
            check_space(space, name)
    if not (isinstance(damping, Real) and damping >= 0):
        raise ArgumentError(
            f"The damping must be a number that is not negative. Got {describe(damping)}. It is "
            "multiplied with the inner product of the domain: other weights belong there."
        )
    pulled_back = _by_gradients if matrix_free else _by_factor

    def at(x: Any) -> Space:
        home = space_of(x, domain, "x")
        return pulled_back(derivative(model, x, domain=home, codomain=codomain), damping)

    return Metric(at, name=f"pulled back by {getattr(model, '__name__', 'a map')}")


def _by_factor(slope: LinearMap, damping: float) -> Space:
    home, values = slope.domain, slope.codomain
    matrix = slope.matrix()
    lowered = matrix
    if not values._orthonormal:
        columns = [
            values._component_coordinates(values._riesz(values._from_coordinates(column)))
            for column in np.ascontiguousarray(matrix.T)
        ]
        lowered = np.stack(columns, axis=1)
    gram = matrix.T @ lowered
    if damping:
        gram = gram + damping * home._gram()
    gram = (gram + gram.T) / 2
    factor = _cholesky(gram)

    def riesz(u: Any) -> Any:
        return home._components_from_coordinates(gram @ home._coordinates(u))

    def represent(components: Any) -> Any:
        from scipy.linalg import cho_solve  # lazy: importing scipy.linalg takes longer than adjoint

        solved = cho_solve((factor, True), home._component_coordinates(components))
        return home._from_coordinates(solved)

    return _weighted(home, riesz, represent)


def _cholesky(gram: Any) -> Any:
    largest = np.max(np.diagonal(gram), initial=0)
    rounding = len(gram) * np.finfo(gram.dtype).eps * largest
    try:
        factor = np.linalg.cholesky(gram)
    except np.linalg.LinAlgError:
        factor = None
    if factor is None or not np.all(np.diagonal(factor) ** 2 > rounding):
        raise NotPositiveDefiniteError(
            "A pulled-back metric needs a derivative without null space. The weight at this point "
            "is singular, or close to it: some tangent leaves the values as they are. "
            "Give pullback_metric a damping."
        )
    return factor


def _by_gradients(slope: LinearMap, damping: float) -> Space:
    home, values = slope.domain, slope.codomain
    push, pull = slope._apply, slope._require_transpose()

    def riesz(u: Any) -> Any:
        pulled = pull(values._riesz(push(u)))
        if not damping:
            return pulled
        return home._add(pulled, home._scale(damping, home._riesz(u)))

    def multiply(vector: Any) -> Any:
        return home._component_coordinates(riesz(home._from_coordinates(np.reshape(vector, (-1,)))))

    def represent(components: Any) -> Any:
        # Lazy: scipy.sparse.linalg takes longer to import than all of adjoint.
        from scipy.sparse.linalg import LinearOperator, cg

        shape = (home.dimension, home.dimension)
        operator = LinearOperator(shape=shape, matvec=multiply, dtype=home._real_dtype)
        right = home._component_coordinates(components)
        with np.errstate(all="ignore"):  # a null space makes it divide by zero, and not converge
            solved, failed = cg(operator, right, rtol=_TOLERANCE, maxiter=10 * home.dimension)
        if failed:
            raise NotConvergedError(
                f"Conjugate gradients for a pulled-back metric on {home!r} did not converge in "
                f"{10 * home.dimension} iterations. Its weight is close to singular: give "
                "pullback_metric a damping, or matrix_free=False."
            )
        return home._from_coordinates(solved)

    return _weighted(home, riesz, represent)


def _weighted(home: Space, riesz: Any, represent: Any) -> Space:
    return OperatorWeighted(
        home,
        lambda u: opaque.APPLY(riesz, u),
        lambda components: opaque.APPLY(represent, components),
        object(),
    )
