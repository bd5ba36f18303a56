"""`scipy.interpolate.BarycentricInterpolator`: the polynomial, at its nodes too.

Its Python is entered (`capture.clones.users`). SciPy copies a value where a point is a node, from
which no slope follows. Here the quotient of sums is multiplied by the distance from that node,
and is smooth there (Berrut and Trefethen, "Barycentric Lagrange interpolation", 2004, section 9).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.capture.numpy.table import as_array, unwrap_all, wrap_list
from adjoint.capture.recording.values.valued import any_slot
from adjoint.capture.scipy.table import replaces


@replaces("scipy.interpolate._polyint", "BarycentricInterpolator._evaluate")
def evaluate(original: Callable[..., Any], self: Any, x: Any) -> Any:
    """The values at points x (P,): (P, R)."""
    if not any_slot((x, self.xi, self.yi, self.wi)):
        return wrap_list(original(self, unwrap_all(x)))
    if np.size(x) == 0:
        return np.zeros((0, self.r))
    values, weights = as_array(self.yi), as_array(self.wi)
    steps = as_array(x)[:, None] - as_array(self.xi)
    own = np.equal(steps, 0)
    at_node = np.any(own, axis=1)
    terms = np.where(own, 0.0, weights / np.where(own, 1.0, steps))
    total = np.sum(terms, axis=1)
    # p = p_i + s sum_j t_j (p_j - p_i) / (w_i + s sum_j t_j), with the step s from node i.
    step = np.sum(np.where(own, steps, 0.0), axis=1)
    value = np.matmul(np.where(own, 1.0, 0.0), values)
    weight = np.where(at_node, np.sum(np.where(own, weights, 0.0), axis=1) + step * total, 1.0)
    others = np.matmul(terms, values)
    near = value + (step / weight)[:, None] * (others - total[:, None] * value)
    far = others / np.where(at_node, 1.0, total)[:, None]
    return np.where(at_node[:, None], near, far)
