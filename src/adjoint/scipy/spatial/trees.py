"""`scipy.spatial.KDTree`: the nearest of constant points, and how far away they are.

Which points are nearest is asked of SciPy, at the values at hand. The distances from them have
derivatives; where two points are equally near, they have a kink.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, NoReturn

import numpy as np

from adjoint.base.errors import UnsupportedFunctionError
from adjoint.capture.numpy.table import as_array
from adjoint.capture.recording.tracing.applying import concrete
from adjoint.capture.recording.values.valued import refuse
from adjoint.capture.scipy.table import refuses_scipy
from adjoint.scipy.objects import stands_in


class NearestPoints:
    """A tree at traced places."""

    def __init__(self, tree: Any) -> None:
        self._tree = tree

    def query(self, x: Any, k: Any = 1, eps: Any = 0, p: Any = 2, **options: Any) -> Any:
        """The distances from the nearest points, and which these are. Shapes are as SciPy's."""
        x = as_array(x)
        # Asked of SciPy's class, for the user's may override it and has come here through super().
        query = import_module("scipy.spatial").cKDTree.query
        _, places = query(self._tree, np.asarray(concrete(x)), k, eps, p, **options)
        missing = np.equal(places, self._tree.n)  # where fewer points are near enough
        points = np.asarray(self._tree.data)[np.where(missing, 0, places)]
        steps = (x if np.ndim(places) < x.ndim else x[..., None, :]) - points
        distances: Any = np.linalg.norm(steps, p, axis=-1)
        return (np.where(missing, np.inf, distances) if missing.any() else distances), places

    def __getattr__(self, name: str) -> NoReturn:
        error = UnsupportedFunctionError(
            f"scipy.spatial.KDTree.{name} was given traced places. What it counts and finds has no "
            "derivative: pass ad.stop_gradient(x)."
        )
        refuse(error)
        raise error


stands_in(NearestPoints, "cKDTree")
refuses_scipy(
    "spatial",
    "a tree is made of constant points: make it outside of the function, or of ad.stop_gradient(x)",
    *("KDTree", "cKDTree"),
)
