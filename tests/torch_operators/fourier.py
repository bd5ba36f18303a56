"""Torch's Fourier transforms, which are NumPy's and SciPy's under other names of the arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.fft
from scipy import fft

from tests.torch_operators.counterpart import Counterpart


def _one(function):
    return lambda x, n=None, dim=-1, norm=None: function(x, n, dim, norm)


def _two(function):
    return lambda x, s=None, dim=(-2, -1), norm=None: function(
        x, s, tuple(np.atleast_1d(dim)), norm
    )


def _many(function):
    return lambda x, s=None, dim=None, norm=None: function(
        x, s, dim if dim is None else tuple(np.atleast_1d(dim)), norm
    )


FOURIER: dict[str, Callable[..., Any] | Counterpart] = {
    **{
        f"fft.{name}": _one(getattr(np.fft, name))
        for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
    },
    **{f"fft.{name}": _two(getattr(np.fft, name)) for name in ("fft2", "ifft2", "rfft2", "irfft2")},
    **{
        f"fft.{name}": _many(getattr(np.fft, name)) for name in ("fftn", "ifftn", "rfftn", "irfftn")
    },
    "fft.fftshift": lambda x, dim=None: np.fft.fftshift(x, dim),
    "fft.hfft2": _two(lambda *args: scipy.fft.hfft2(*args)),
    "fft.hfftn": _many(lambda *args: fft.hfftn(*args)),
    "fft.ifftshift": lambda x, dim=None: np.fft.ifftshift(x, dim),
    "fft.ihfft2": _two(lambda *args: scipy.fft.ihfft2(*args)),
    "fft.ihfftn": _many(lambda *args: fft.ihfftn(*args)),
}
