"""The names of `scipy.spatial`, understood on traced arrays too; see `adjoint.scipy`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from adjoint.scipy.namespace import member, members
from adjoint.scipy.spatial import distances, trees  # noqa: F401  # their rules

__getattr__: Callable[[str], Any] = partial(member, "spatial")
__dir__: Callable[[], list[str]] = partial(members, "spatial")
