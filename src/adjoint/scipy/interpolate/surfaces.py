"""`scipy.interpolate`: products of splines in two variables, whose coefficients are constant."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.capture.numpy.table import as_array
from adjoint.capture.scipy.table import implements_scipy, refuses_scipy
from adjoint.scipy.interpolate.b_splines import Spline
from adjoint.scipy.interpolate.piecewise import real_places
from adjoint.scipy.objects import InPlaceOf, stands_in


class Surface(InPlaceOf):
    """sum_ij c[i, j] B_i(x) B_j(y); beyond the outer knots it is as at them, as FITPACK has it."""

    names = ("RectBivariateSpline", "SmoothBivariateSpline")

    def __init__(self, knots: tuple[Any, Any], c: Any, degrees: tuple[int, int]) -> None:
        self.knots, self.degrees = knots, degrees
        sizes = [len(t) - k - 1 for t, k in zip(knots, degrees, strict=True)]
        self.c = np.reshape(c, sizes)

    def _basis(self, axis: int, places: Any, order: int) -> Any:
        """All splines along an axis, or derivatives of them, at places: one axis more."""
        t, k = np.asarray(self.knots[axis]), self.degrees[axis]
        unit = np.eye(self.c.shape[axis])
        return Spline(t, unit, k)(np.clip(real_places(places), t[k], t[-k - 1]), order)

    def on_grid(self, x: Any, y: Any, dx: int, dy: int) -> Any:
        """At all pairs of places x (m,) and y (n,): (m, n)."""
        return self._basis(0, x, dx) @ self.c @ np.transpose(self._basis(1, y, dy))

    def ev(self, xi: Any, yi: Any, dx: int = 0, dy: int = 0) -> Any:
        """At places that are broadcast against one another."""
        xi, yi = np.broadcast_arrays(as_array(xi), as_array(yi))
        return np.sum((self._basis(0, xi, dx) @ self.c) * self._basis(1, yi, dy), axis=-1)

    def __call__(self, x: Any, y: Any, dx: int = 0, dy: int = 0, grid: bool = True) -> Any:
        """On a grid, or place by place."""
        if not grid:
            return self.ev(x, y, dx, dy)
        return self.on_grid(np.atleast_1d(as_array(x)), np.atleast_1d(as_array(y)), dx, dy)


def _of_object(spline: Any) -> Surface:
    tx, ty, c = spline.tck
    return Surface((tx, ty), c, spline.degrees)


stands_in(_of_object, "BivariateSpline", "_DerivedBivariateSpline")


@implements_scipy("interpolate")
def bisplev(x: Any, y: Any, tck: Any, dx: int = 0, dy: int = 0) -> Any:
    """A spline in two variables, given by its knots, coefficients and degrees."""
    tx, ty, c, kx, ky = tck
    values = Surface((tx, ty), c, (kx, ky))(x, y, dx, dy)
    if len(values) > 1:
        return values
    return values[0] if values.shape[1] > 1 else values[0, 0]


refuses_scipy(
    "interpolate",
    "surfaces are differentiated with respect to places, and not to the data; make them outside of "
    "the function, or interpolate with RegularGridInterpolator",
    *("RectBivariateSpline", "SmoothBivariateSpline", "LSQBivariateSpline", "bisplrep"),
)
