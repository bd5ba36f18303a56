"""The names of `scipy.special`, understood on traced arrays too; see `adjoint.scipy`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from adjoint.scipy.namespace import member, members
from adjoint.scipy.special import special_functions  # noqa: F401  # their rules

__getattr__: Callable[[str], Any] = partial(member, "special")
__dir__: Callable[[], list[str]] = partial(members, "special")
