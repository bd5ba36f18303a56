"""The names of `scipy.integrate`, understood on traced arrays too; see `adjoint.scipy`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from adjoint.scipy.integrate import initial_value, quadrature  # noqa: F401  # their rules
from adjoint.scipy.namespace import member, members

__getattr__: Callable[[str], Any] = partial(member, "integrate")
__dir__: Callable[[], list[str]] = partial(members, "integrate")
