"""Symmetric positive definite matrices under the affine-invariant metric."""

from __future__ import annotations

from typing import Any, Final, final

import numpy as np

from adjoint.manifolds.manifold import ArrayManifold, point_key, require_real
from adjoint.spaces import Euclidean, Space, Symmetric
from adjoint.spaces.inner_products.operator_weighted import OperatorWeighted


@final
class PositiveDefinite(ArrayManifold):
    """Symmetric positive definite n x n matrices, <U, V>_X = tr(X⁻¹ U X⁻¹ V) (Bhatia 2007, ch. 6).

    The metric does not change under X -> C X C' for invertible C, nor under X -> X⁻¹, and is the
    Fisher metric of the centred Gaussians with covariance X, times two. The tangents at X are the
    symmetric matrices; `retract` is X + U + U X⁻¹ U / 2, which is positive definite for every U;
    `exponential` is X exp(X⁻¹ U).

    Args:
        n: how many rows and columns.
        dtype: of the entries, a real one.

    Raises:
        ArgumentError, ArgumentTypeError: n or the dtype makes no sense.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> X = np.array([[2.0, 1.0], [1.0, 2.0]])
        >>> trace = ad.grad(lambda X: np.trace(X), space=PositiveDefinite(2))(X)
        >>> np.allclose(trace, X @ X)
        True
    """

    def __init__(self, n: int, dtype: Any = float) -> None:
        self._symmetric: Final = Symmetric(n, dtype)
        self._ambient: Final = Euclidean(self._symmetric.shape, dtype)
        require_real("The cone of positive definite matrices", self._ambient)
        self.n: Final = self._symmetric.n

    @property
    def ambient(self) -> Euclidean:
        """All n x n matrices."""
        return self._ambient

    @property
    def dimension(self) -> int:
        """n (n + 1) / 2."""
        return self._symmetric.dimension

    def _key(self) -> tuple[Any, ...]:
        return (self._symmetric,)

    def __repr__(self) -> str:
        return f"PositiveDefinite({self.n})"

    def _fault(self, x: Any) -> str | None:
        if not self._symmetric.contains(x):
            return "It is not symmetric: (x + x.T) / 2 is."
        try:
            finite = bool(np.all(np.isfinite(np.linalg.cholesky(x))))
        except np.linalg.LinAlgError:
            finite = False
        if finite:
            return None
        return "It is not positive definite: adding a multiple of the identity makes it so."

    def _tangent_space(self, x: Any) -> Space:
        def riesz(u: Any) -> Any:
            return _symmetrised(np.linalg.solve(x, np.linalg.solve(x, u).T))

        def represent(components: Any) -> Any:
            return _symmetrised(x @ components @ x)

        return OperatorWeighted(self._symmetric, riesz, represent, (self, point_key(x)))

    def _retract(self, x: Any, u: Any) -> Any:
        return _symmetrised(x + u + u @ np.linalg.solve(x, u) / 2)

    def _exponential(self, x: Any, u: Any) -> Any:
        # With X = L L': X exp(X⁻¹ U) = L exp(L⁻¹ U L⁻ᵀ) L', the exponential of a symmetric matrix.
        factor = np.linalg.cholesky(x)
        inner = np.linalg.solve(factor, np.linalg.solve(factor, u).T)
        values, vectors = np.linalg.eigh(_symmetrised(inner))
        half = factor @ vectors * np.exp(values / 2)
        return _symmetrised(half @ half.T)

    def _random(self, generator: np.random.Generator) -> Any:
        factor = generator.standard_normal((self.n, self.n))
        return _symmetrised(factor @ factor.T / self.n + np.eye(self.n)).astype(self._ambient.dtype)


def _symmetrised(x: Any) -> Any:
    return (x + x.T) / 2
