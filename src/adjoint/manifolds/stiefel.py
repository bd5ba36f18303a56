"""The Stiefel manifold: matrices with orthonormal columns."""

from __future__ import annotations

from typing import Any, Final, final

import numpy as np

from adjoint.base.errors import ArgumentError
from adjoint.manifolds.manifold import off, require_real
from adjoint.manifolds.tangents import EmbeddedManifold
from adjoint.spaces import Euclidean, Skew


@final
class Stiefel(EmbeddedManifold):
    """Real n x p matrices with X'X = 1, under the Frobenius inner product.

    The tangents at X are the U with X'U skew-symmetric. `retract` is the factor Q of X + U = QR
    (with positive diagonal of R); `exponential` the geodesic (Edelman, Arias, Smith 1998).

    Args:
        n: rows.
        p: columns, at most n. p = n gives the orthogonal matrices, which fall into two pieces;
            no path joins them.
        dtype: a real floating dtype.

    Raises:
        ArgumentError, ArgumentTypeError: the sizes or the dtype make no sense.

    Example:
        >>> frames = Stiefel(4, 2)
        >>> frames.dimension, frames.contains(frames.random(0))
        (5, True)
    """

    def __init__(self, n: int, p: int, dtype: Any = float) -> None:
        self._ambient: Final = Euclidean((n, p), dtype)
        require_real("The Stiefel manifold", self._ambient)
        self.n, self.p = self._ambient.shape
        if not 1 <= self.p <= self.n:
            raise ArgumentError(
                f"Stiefel(n, p) needs 1 <= p <= n. Got n = {n}, p = {p}. "
                "No more than n vectors of R^n are orthonormal."
            )
        self._skew: Final = Skew(self.p, self._ambient.dtype)

    @property
    def ambient(self) -> Euclidean:
        """All n x p matrices."""
        return self._ambient

    @property
    def dimension(self) -> int:
        """n p - p (p + 1) / 2."""
        return self.n * self.p - self.p * (self.p + 1) // 2

    def _key(self) -> tuple[Any, ...]:
        return (self._ambient,)

    def __repr__(self) -> str:
        return f"Stiefel({self.n}, {self.p})"

    def _fault(self, x: Any) -> str | None:
        if off(x, x.T @ x, np.eye(self.p)):
            return "Its columns are not orthonormal: np.linalg.qr(x).Q has orthonormal ones."
        return None

    def _project(self, x: Any, v: Any) -> Any:
        product = x.T @ v
        return v - x @ ((product + product.T) / 2)

    # U = X A + Q B with A skew, Q an orthonormal basis of what is orthogonal to X's columns: the
    # squared length of U is that of A plus that of B.

    def _complement(self, x: Any) -> Any:
        return np.linalg.qr(x, mode="complete")[0][:, self.p :]  # (n, n - p)

    def _tangent_coordinates(self, x: Any, u: Any) -> Any:
        along = self._skew._coordinates(self._skew._restrict(x.T @ u))
        return np.concatenate([along, np.reshape(self._complement(x).T @ u, (-1,))])

    def _tangent_from_coordinates(self, x: Any, coordinates: Any) -> Any:
        count = self._skew.dimension
        across = np.reshape(coordinates[count:], (self.n - self.p, self.p))
        along = x @ self._skew._from_coordinates(coordinates[:count])
        return along + self._complement(x) @ across

    def _retract(self, x: Any, u: Any) -> Any:
        return _orthonormalised(x + u)

    def _exponential(self, x: Any, u: Any) -> Any:
        from scipy.linalg import expm  # lazy: importing scipy.linalg takes longer than adjoint

        along, square, one = x.T @ u, u.T @ u, np.eye(self.p)
        turned = expm(np.block([[along, -square], [one, along]]))[:, : self.p]
        return _orthonormalised(np.hstack([x, u]) @ turned @ expm(-along))

    def _random(self, generator: np.random.Generator) -> Any:
        return _orthonormalised(generator.standard_normal((self.n, self.p))).astype(
            self._ambient.dtype
        )


def _orthonormalised(x: Any) -> Any:
    """The factor Q of x = QR with positive diagonal of R, which makes Q continuous in x."""
    q, r = np.linalg.qr(x)
    return q * np.where(np.diagonal(r) < 0, -1, 1).astype(x.dtype)
