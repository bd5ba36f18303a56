"""`numpy.linalg`, on traced arrays and NumPy's own: `import adjoint.numpy.linalg`."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.capture.numpy.array_api import NUMPY


def __getattr__(name: str) -> Any:
    return getattr(NUMPY.linalg, name)


def __dir__() -> list[str]:
    return sorted(np.linalg.__all__)
