"""Fits of a model to data by SciPy, with derivatives of the model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.base.errors import ArgumentError
from adjoint.base.signatures.checked import checked
from adjoint.calculus.inputs.arguments import check_callable
from adjoint.calculus.jacobians.jacobian import jacobian
from adjoint.calculus.jit import jit
from adjoint.calculus.optimize.entry import points_to_argmin


@points_to_argmin
@checked
def curve_fit(
    model: Callable[..., Any], xdata: Any, ydata: Any, p0: Any = None, **options: Any
) -> Any:
    """`scipy.optimize.curve_fit`, with the exact Jacobian of the model in its parameters.

    Args:
        model: plain NumPy code, `model(xdata, *parameters)`, whose values are those of `ydata`.
        xdata: where the data were measured: whatever the model takes first.
        ydata: what was measured, an array of shape (M,).
        p0: where the search begins, an array of shape (n,); ones if not given.
        options: what `scipy.optimize.curve_fit` takes besides (`sigma`, `absolute_sigma`, `bounds`,
            `method`, `full_output`, ...), but for `jac`.

    Returns:
        The parameters, an array of shape (n,), and their covariance, an array of shape (n, n), as
        SciPy returns them.

    Raises:
        ArgumentError: `jac` is given, which is computed here.
        RuntimeError: the search did not come to an end (raised by SciPy).
        ArgumentTypeError: the model is no function.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> t = np.linspace(0.0, 4.0, 9)
        >>> def decay(t, height, rate):
        ...     return height * np.exp(-rate * t)
        >>> parameters, covariance = ad.optimize.curve_fit(
        ...     decay, t, decay(t, 2.5, 1.3), [1, 1]
        ... )
        >>> np.round(parameters, 9)
        array([2.5, 1.3])
    """
    from scipy.optimize import curve_fit as fit  # it takes long to load

    check_callable(model, "curve_fit")
    if "jac" in options:
        raise ArgumentError(
            "curve_fit was given jac; it computes the Jacobian of the model itself."
        )

    def values(parameters: Any, xdata: Any) -> Any:
        return np.ravel(model(xdata, *parameters))

    slopes = jit(jacobian(values))

    def jac(xdata: Any, *parameters: Any) -> Any:
        return slopes(np.asarray(parameters, float), xdata)

    return fit(model, xdata, ydata, p0, jac=jac, **options)
