"""`scipy.fft`: Fourier transforms, which are NumPy's under other arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.capture.numpy.table import as_array
from adjoint.capture.scipy.table import implements_scipy

# The norms under which a transform and its inverse change places.
_SWAPPED: dict[Any, Any] = {
    None: "forward",
    "backward": "forward",
    "ortho": "ortho",
    "forward": "backward",
}


def _along_one(name: str) -> Callable[..., Any]:
    """A transform along one axis."""

    def transform(
        x: Any,
        n: Any = None,
        axis: int = -1,
        norm: Any = None,
        overwrite_x: Any = False,
        workers: Any = None,
        *,
        plan: Any = None,
    ) -> Any:
        return getattr(np.fft, name)(as_array(x), n, axis, norm)

    transform.__name__ = name
    return transform


def _over_several(name: str, default: Any, compute: Callable[..., Any]) -> Callable[..., Any]:
    """A transform over several axes, of which SciPy takes one as a number too."""

    def transform(
        x: Any,
        s: Any = None,
        axes: Any = default,
        norm: Any = None,
        overwrite_x: Any = False,
        workers: Any = None,
        *,
        plan: Any = None,
    ) -> Any:
        s, axes = (
            given if given is None or np.iterable(given) else (given,) for given in (s, axes)
        )
        return compute(as_array(x), s, axes, norm)

    transform.__name__ = name
    return transform


def _hermitian(x: Any, s: Any, axes: Any, norm: Any) -> Any:
    return np.fft.irfftn(np.conjugate(x), s, axes, _SWAPPED[norm])


def _from_hermitian(x: Any, s: Any, axes: Any, norm: Any) -> Any:
    return np.conjugate(np.fft.rfftn(x, s, axes, _SWAPPED[norm]))


for _name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    implements_scipy("fft", _name)(_along_one(_name))
for _name, _compute in {
    **{name: getattr(np.fft, f"{name}n") for name in ("fft", "ifft", "rfft", "irfft")},
    **{"hfft": _hermitian, "ihfft": _from_hermitian},
}.items():
    implements_scipy("fft", f"{_name}n")(_over_several(f"{_name}n", None, _compute))
    implements_scipy("fft", f"{_name}2")(_over_several(f"{_name}2", (-2, -1), _compute))
