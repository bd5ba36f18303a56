"""`scipy.interpolate.RBFInterpolator`: what it computes in compiled code.

Its Python is entered (`capture.clones.users`). A system is solved for the weights of the kernels,
which stand at the data points, and of the monomials (Fasshauer, "Meshfree Approximation Methods
with Matlab", 2007, chapter 6).
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from adjoint.capture.numpy.table import unwrap_all, wrap_list
from adjoint.capture.recording.values.valued import any_slot
from adjoint.capture.scipy.table import replaces


def _thin_plate(s: Any) -> Any:
    # r^2 log r has no second derivative at 0, and s^1.5 has none there either.
    at_zero = np.equal(s, 0)
    return np.where(at_zero, s**1.5, 0.5 * s * np.log(np.where(at_zero, 1.0, s)))


def _power(exponent: float, sign: int) -> Callable[[Any], Any]:
    def kernel(s: Any) -> Any:
        at_zero = np.equal(s, 0)  # where the root has no slope, but the power has: 0
        return sign * np.where(at_zero, 0.0, np.where(at_zero, 1.0, s) ** exponent)

    return kernel


# By the square s of the distance, in which most are smooth at 0.
_KERNELS: Final[dict[str, Callable[[Any], Any]]] = {
    "linear": lambda s: -np.sqrt(s),
    "thin_plate_spline": _thin_plate,
    "cubic": _power(1.5, 1),
    "quintic": _power(2.5, -1),
    "multiquadric": lambda s: -np.sqrt(s + 1),
    "inverse_multiquadric": lambda s: 1 / np.sqrt(s + 1),
    "inverse_quadratic": lambda s: 1 / (s + 1),
    "gaussian": lambda s: np.exp(-s),
}


def _monomials(points: Any, powers: Any) -> Any:
    """The monomials of these exponents (R, N) at points (P, N): (P, R)."""
    powers = np.asarray(powers, int)
    columns = [
        functools.reduce(
            operator.mul, [points[:, axis] ** int(power) for axis, power in enumerate(row)]
        )
        for row in powers
    ]
    return np.stack(columns, axis=1) if columns else np.zeros((points.shape[0], 0))


def _squares(x: Any, y: Any) -> Any:
    return np.sum((x[:, None, :] - y[None, :, :]) ** 2, axis=-1)


def _solve(y: Any, d: Any, smoothing: Any, kernel: str, epsilon: Any, powers: Any) -> Any:
    """The shift and the scale of the monomials, and all weights."""
    low, high = np.min(y, axis=0), np.max(y, axis=0)
    shift, scale = (high + low) / 2, (high - low) / 2
    scale = np.where(np.equal(scale, 0), 1.0, scale)
    size, count = y.shape[0], len(powers)
    own = np.eye(size, dtype=bool)  # a point's distance from itself, which nothing changes
    function = _KERNELS[kernel]
    distances = np.where(own, 1.0, _squares(y * epsilon, y * epsilon))
    kernels = np.where(own, function(np.zeros(())), function(distances)) + np.diag(smoothing)
    monomials = _monomials((y - shift) / scale, powers)
    system = np.block([[kernels, monomials], [monomials.T, np.zeros((count, count))]])
    right = np.concatenate([d, np.zeros((count, d.shape[1]))])
    return shift, scale, np.linalg.solve(system, right)


def _build_and_solve(original: Callable[..., Any], *args: Any) -> Any:
    return _solve(*args[:6]) if any_slot(args) else wrap_list(original(*map(unwrap_all, args)))


for _module in ("scipy.interpolate._rbfinterp", "scipy.interpolate._rbfinterp_np"):
    replaces(_module, "_build_and_solve_system")(_build_and_solve)  # at home here or there


@replaces("scipy.interpolate._rbfinterp", "RBFInterpolator._chunk_evaluator")
def evaluate(
    original: Callable[..., Any],
    self: Any,
    x: Any,
    y: Any,
    shift: Any,
    scale: Any,
    coeffs: Any,
    **options: Any,
) -> Any:
    """The values at points x (Q, N): (Q, S)."""
    args = (x, y, shift, scale, coeffs)
    if not any_slot(args):
        return wrap_list(original(self, *map(unwrap_all, args), **options))
    kernels = _KERNELS[self.kernel](_squares(x * self.epsilon, y * self.epsilon))
    monomials = _monomials((x - shift) / scale, self.powers)
    return np.concatenate([kernels, monomials], axis=1) @ coeffs
