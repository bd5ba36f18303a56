"""The derivatives of the function under audit, in each mode, and how precise they can be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.base import pytrees
from adjoint.base.errors import MissingRuleError
from adjoint.calculus import derivative, grad, jvp, vjp
from adjoint.maps import LinearMap
from adjoint.testing.identities import generator
from adjoint.testing.measures import Unavailable, rms, typed
from adjoint.testing.problem import CheckedFunction, pack, pairing
from adjoint.testing.remainders import scatter

_PRECISE = (1e-12, 1e-10)  # relative errors allowed, by order, in double and in single precision
_SINGLE = (1e-5, 1e-3)


class Derivatives:
    """The derivatives at the point.

    function: of the point. weights: random w for <w, f(x)>, None where the value is not finite.
    size: of the point. precise: whether all is in double precision. evaluation: the relative
    precision in which the function is evaluated for differences.
    """

    def __init__(self, problem: CheckedFunction, seed: int) -> None:
        self.problem = problem
        self.seed = seed
        self.function = problem.function
        self.size = max(1.0, rms(pack(problem.point)))
        self.precise = problem.epsilon < 1e-10
        self.evaluation = float(np.finfo(float).eps) if problem.wide else problem.epsilon
        self.weights = problem.codomain.random(generator(seed, 90))
        if not np.all(np.isfinite(pack(problem.value))):
            self.weights = None
        self._scattered: dict[int, float] = {}
        self._require_a_rule()

    def _require_a_rule(self) -> None:
        """Raise where there is no derivative in either mode."""
        try:
            self.push(self.direction(0))
        except MissingRuleError:
            self.pull(self.problem.codomain.zero())

    def direction(self, trial: int) -> Any:
        """A random direction, of about unit length an entry."""
        return self.problem.domain.random(generator(self.seed, trial))

    def push(self, direction: Any) -> Any:
        """The JVP."""
        return jvp(self.function, (self.problem.point,), (typed(direction, self.problem.point),))[1]

    def pull(self, covector: Any) -> Any:
        """The pullback."""
        value, pullback = vjp(self.function, self.problem.point)
        return pullback(typed(covector, value))[0]

    def weighed(self) -> Callable[[Any], Any]:
        """x -> <w, f(x)>, a real function."""
        problem, weights = self.problem, self.weights
        # The user's function stands in this very closure, where rebinding finds it.
        original, merged, kept = problem.original, problem.merged, problem.kept_part
        return lambda point: pairing(weights, kept(original(*merged(point))))

    def along(self, direction: Any) -> Callable[[float], Any]:
        """Step -> value on the line through the point."""
        return lambda step: self.problem.at(step, direction)

    def tolerance(self, order: int) -> float:
        """The relative error allowed in a derivative of this order.

        More than rounding where the formula itself loses digits: as much as it scatters.
        """
        allowed = _PRECISE if self.precise else _SINGLE
        if order not in self._scattered:
            self._scattered[order] = self._scatter(order)
        return max(allowed[order - 1], 20 * self._scattered[order])

    def _scatter(self, order: int) -> float:
        """How a derivative varies, relatively, from one floating-point number to the next."""
        u, values = self.direction(20), []
        phi = self.weighed()
        for k in range(1, 9):
            point = self._near(4 * self.problem.epsilon * self.size * k, u)
            try:
                function = phi if order == 1 else grad(phi)
                values.append(pack(jvp(function, (point,), (typed(u, point),))[1]))
            except MissingRuleError:
                if order == 2:
                    return 0.0
                values.append(pack(grad(phi)(point)))
        size = float(np.linalg.norm(values[0]))
        return scatter(values) / size if size and np.isfinite(size) else 0.0

    def _near(self, step: float, direction: Any) -> Any:
        point = self.problem.point
        return typed(pytrees.tree_map(lambda x, u: x + step * u, point, direction), point)

    def require_finite(self) -> None:
        """Unavailable unless the value is finite."""
        if self.weights is None:
            raise Unavailable("the function's value is not finite here")

    def map(self, domain: Any, codomain: Any) -> LinearMap:
        """The derivative between these spaces."""
        return derivative(self.function, self.problem.point, domain=domain, codomain=codomain)

    def require_finite_derivative(self) -> None:
        """Unavailable unless the derivative is finite."""
        self.require_finite()
        if not np.all(np.isfinite(pack(self.pull(self.weights)))):
            raise Unavailable("the derivative is not finite here")
