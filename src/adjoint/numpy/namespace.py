"""The names of `adjoint.numpy`: NumPy's, as captured functions see them."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.capture.numpy.array_api import NUMPY


def __getattr__(name: str) -> Any:
    value = getattr(np, name)
    if isinstance(value, type) and issubclass(value, np.generic):
        return value  # one class, whoever asks: `x.dtype.type is np.float32`
    return getattr(NUMPY, name)


def __dir__() -> list[str]:
    return sorted(np.__all__)
