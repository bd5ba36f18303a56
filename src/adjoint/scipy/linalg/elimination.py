"""`scipy.linalg`: elimination with SciPy's pivots, and what is solved with its factors."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.errors import LinearAlgebraError
from adjoint.capture.numpy.table import as_operand, perform
from adjoint.capture.recording.tracing.applying import concrete
from adjoint.capture.recording.tracing.trace import captures
from adjoint.capture.recording.tracing.traced import from_array, is_known
from adjoint.capture.scipy.table import implements_scipy
from adjoint.primitives.linear_algebra.systems import LU_FACTORS
from adjoint.scipy.linalg.batches import over_batches
from adjoint.scipy.linalg.linear_systems import by_triangle


def _eliminated(a: Any) -> tuple[Any, Any, Any, Any]:
    """SciPy's pivots, the order of rows that they make, and L - 1 and U of those."""
    if a.ndim != 2:
        raise LinearAlgebraError(
            f"scipy.linalg.lu of traced arrays takes one matrix; got shape {a.shape}."
        )
    dtype, pivots = _pivots(a)
    a = a.astype(dtype)
    height, steps = a.shape[0], min(a.shape)
    order = _order(pivots, height)
    upper, columns = a[order], [np.zeros((height, 0), a.dtype)]
    for k in range(steps):
        below = np.arange(height) > k
        factor = np.where(below, upper[:, k] / upper[k, k], 0.0)
        columns.append(factor[:, None])
        upper = upper - np.outer(factor, upper[k])
    return pivots, order, np.concatenate(columns, axis=1), np.triu(upper[:steps])


def _pivots(a: Any) -> tuple[Any, Any]:
    """SciPy's dtype and pivots: those at this value, or of each value for which a stands."""
    from scipy import linalg  # slow to import, and here already

    if _stands_for_many(a):
        dtype = linalg.lu_factor(np.ones((1, 1), a.dtype))[0].dtype
        height, width = a.shape
        # A pivot depends on the columns up to its own: others may be left out, or zero.
        square = a[:, :height].astype(dtype)
        if width < height:
            square = np.concatenate([square, np.zeros((height, height - width), dtype)], axis=1)
        return dtype, perform(LU_FACTORS, square)[1][: min(a.shape)]
    packed, pivots = linalg.lu_factor(np.asarray(concrete(a)))
    return packed.dtype, pivots  # of small integers, single precision


def _stands_for_many(x: Any) -> bool:
    """Whether an array stands for those of all examples of a batch, or of all rounds of a loop."""
    if is_known(x):
        return False
    return x._value is None or any(capture.witness for capture in captures())


def _order(pivots: Any, rows: int) -> Any:
    """The order of rows after they were swapped one by one."""
    places = np.arange(rows)
    order: Any = places.copy()
    if is_known(pivots):
        for place, other in enumerate(pivots):
            order[[place, other]] = order[[other, place]]
        return order
    order = from_array(order)  # NumPy's own would ask for the place of a row
    for place in range(pivots.shape[0]):
        other = pivots[place]
        first, second = order[other], order[place]
        order = np.where(places == place, first, np.where(places == other, second, order))
    return order


@implements_scipy("linalg")
@over_batches(a=2)
def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, Any]:
    """L and U in one matrix, and the pivots, which do not move."""
    pivots, _, lower, upper = _eliminated(as_operand(a))
    wide = np.pad(lower, ((0, 0), (0, upper.shape[1] - lower.shape[1])))
    return wide + np.pad(upper, ((0, lower.shape[0] - upper.shape[0]), (0, 0))), pivots


@implements_scipy("linalg")
@over_batches(a=2)
def lu(
    a: Any,
    permute_l: bool = False,
    overwrite_a: bool = False,
    check_finite: bool = True,
    p_indices: bool = False,
) -> Any:
    """P, L and U with a = P L U; P does not move."""
    from scipy import linalg  # slow to import, and here already

    _, order, lower, upper = _eliminated(as_operand(a))
    lower = lower + np.eye(*lower.shape, dtype=lower.dtype)
    back = np.argsort(order)
    if permute_l:
        return lower[back], upper
    if p_indices:
        return back.astype(linalg.lu(np.eye(2), p_indices=True)[0].dtype), lower, upper
    unit = from_array(np.eye(len(lower), dtype=lower.real.dtype))
    return unit[back], lower, upper


@implements_scipy("linalg")
def lu_solve(
    lu_and_piv: Any, b: Any, trans: int = 0, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """Solve with the factors of `lu_factor`."""
    packed, pivots = lu_and_piv
    return _lu_solve(packed, pivots, b, trans)


@over_batches(packed=2, pivots=1, b="1|2")
def _lu_solve(packed: Any, pivots: Any, b: Any, trans: int) -> Any:
    packed = as_operand(packed)
    if not _stands_for_many(pivots):
        pivots = np.asarray(concrete(pivots))
    order = _order(pivots, packed.shape[0])
    if trans == 0:
        half = by_triangle(packed, as_operand(b)[order], True, unit=True)
        return by_triangle(packed, half, False)
    half = by_triangle(packed, b, False, trans)
    return by_triangle(packed, half, True, trans, unit=True)[np.argsort(order)]
