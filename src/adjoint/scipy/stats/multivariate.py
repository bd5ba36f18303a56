"""`scipy.stats`: what the multivariate distributions and `gaussian_kde` are made of.

Their code is SciPy's own, which is entered; here is what it does by eigenvectors, which have no
derivative where eigenvalues coincide, and in compiled code.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.base.errors import UnsupportedFunctionError
from adjoint.capture.numpy.table import unwrap_all, wrap_list
from adjoint.capture.recording.tracing.traced import value_of
from adjoint.capture.recording.values.valued import any_slot, refuse
from adjoint.capture.scipy.table import replaces
from adjoint.scipy.stats.distribution_methods import array_of

_SMALL = {"f": 1e3, "d": 1e6}  # SciPy's bounds for eigenvalues that count as 0, in epsilons


@replaces("scipy.stats._multivariate", "_PSD.__init__")
def factorise(original: Callable[..., Any], self: Any, M: Any, *args: Any, **kwargs: Any) -> None:
    """What is asked of a covariance matrix, by its Cholesky factor in place of eigenvectors.

    A matrix that SciPy takes for singular is SciPy's error, and no number where nobody can be told.
    """
    if not any_slot(M):
        original(self, unwrap_all(M), *map(unwrap_all, args), **kwargs)
        return
    known = value_of(M)
    if known is not None:
        original(self, known, *args, **kwargs)  # which raises what there is to raise
        if self.rank < len(known):
            refusal = UnsupportedFunctionError(
                "scipy.stats: a singular covariance matrix is traced, and its pseudo-inverse has "
                "no derivative: its rank may be another one beside it."
            )
            refuse(refusal)
            raise refusal
    values = np.linalg.eigvalsh(M)
    bound = _SMALL[M.dtype.char.lower()] * np.finfo(M.dtype).eps * np.max(np.abs(values))
    lower = np.where(np.min(values) > bound, np.linalg.cholesky(M), np.nan)
    size = M.shape[0]
    self._M, self.rank, self.eps, self.V = M, size, 0.0, np.zeros((size, 0))
    self.U = np.linalg.inv(lower).T  # whose product with its transpose is the inverse
    self.log_pdet = 2 * np.sum(np.log(np.diagonal(lower)))
    self._pinv = None


def _kernel_logarithms(self: Any, points: Any) -> Any:
    """The logarithms of the terms of a kernel estimate: points times data."""
    points = np.atleast_2d(array_of(points))
    count, size = self.d, points.shape[1]
    if points.shape[0] != count:
        if not (points.shape[0] == 1 and size == count):
            raise ValueError(
                f"points have dimension {points.shape[0]}, dataset has dimension {count}"
            )
        points = np.reshape(points, (count, 1))
    inverse = np.linalg.inv(self.cho_cov)
    data, places = inverse @ array_of(self.dataset), inverse @ points
    distances = np.sum((places[:, :, None] - data[:, None, :]) ** 2, axis=0)
    size_of_kernel = np.sum(np.log(np.diagonal(self.cho_cov)))
    normal = 0.5 * count * math.log(2 * math.pi) + size_of_kernel
    return -0.5 * distances - normal


def _kernel(name: str, total: Callable[[Any, Any], Any]) -> None:
    def run(original: Callable[..., Any], self: Any, points: Any) -> Any:
        if not any_slot((points, self.dataset, self.weights, self.cho_cov)):
            return wrap_list(original(self, unwrap_all(points)))
        return total(_kernel_logarithms(self, points), self.weights)

    replaces("scipy.stats._kde", f"gaussian_kde.{name}")(run)


_kernel("evaluate", lambda logarithms, weights: np.exp(logarithms) @ weights)
_kernel(
    "logpdf",
    lambda logarithms, weights: np.logaddexp.reduce(logarithms + np.log(weights), axis=1),
)
