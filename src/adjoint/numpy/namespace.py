"""The names of `adjoint.numpy`: NumPy's, as captured functions see them."""

from __future__ import annotations

from typing import Any

from adjoint.capture.numpy.array_api import NUMPY


def __getattr__(name: str) -> Any:
    return getattr(NUMPY, name)


def __dir__() -> list[str]:
    return dir(NUMPY)
