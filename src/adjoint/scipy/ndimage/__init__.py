"""The names of `scipy.ndimage`, understood on traced arrays too; see `adjoint.scipy`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from adjoint.scipy.namespace import member, members
from adjoint.scipy.ndimage import filters, sampling

__getattr__: Callable[[str], Any] = partial(member, "ndimage")
__dir__: Callable[[], list[str]] = partial(members, "ndimage")

__all__ = ["filters", "sampling"]
