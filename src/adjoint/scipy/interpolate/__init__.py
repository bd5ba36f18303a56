"""The names of `scipy.interpolate`, understood on traced arrays too; see `adjoint.scipy`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from adjoint.scipy.interpolate import (  # noqa: F401  # their rules
    b_splines,
    cubic_splines,
    interpolants,
    piecewise,
    polynomials,
    radial,
    surfaces,
)
from adjoint.scipy.namespace import member, members

__getattr__: Callable[[str], Any] = partial(member, "interpolate")
__dir__: Callable[[], list[str]] = partial(members, "interpolate")
