"""The names of `scipy.optimize`, understood on traced arrays too; see `adjoint.scipy`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from adjoint.scipy.namespace import member, members
from adjoint.scipy.optimize import equations, rosenbrock  # noqa: F401  # their rules

__getattr__: Callable[[str], Any] = partial(member, "optimize")
__dir__: Callable[[], list[str]] = partial(members, "optimize")
