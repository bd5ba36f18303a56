"""`scipy.optimize`: Rosenbrock's function and its derivatives, on traced arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.capture.numpy.table import as_array
from adjoint.capture.scipy.table import implements_scipy


@implements_scipy("optimize")
def rosen(x: Any) -> Any:
    """Rosenbrock's function."""
    x = as_array(x)
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2.0) ** 2.0 + (1 - x[:-1]) ** 2.0, axis=0)


@implements_scipy("optimize")
def rosen_der(x: Any) -> Any:
    """Its gradient."""
    x = as_array(x)
    rise = x[1:] - x[:-1] ** 2
    nothing = np.zeros_like(x[:1])
    ahead = np.concatenate([-400 * rise * x[:-1] - 2 * (1 - x[:-1]), nothing])
    return ahead + np.concatenate([nothing, 200 * rise])


@implements_scipy("optimize")
def rosen_hess(x: Any) -> Any:
    """Its Hessian."""
    x = as_array(x)
    beside = np.diag(-400 * x[:-1], 1) - np.diag(400 * x[:-1], -1)
    first = 1200 * x[:-1] ** 2 - 400 * x[1:] + 2
    nothing = np.zeros_like(x[:1])
    return beside + np.diag(
        np.concatenate([first, nothing]) + np.concatenate([nothing, np.full_like(x[1:], 200.0)])
    )


@implements_scipy("optimize")
def rosen_hess_prod(x: Any, p: Any) -> Any:
    """Its Hessian times a vector."""
    return rosen_hess(x) @ as_array(p)
