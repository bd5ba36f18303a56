"""The names of `scipy.stats`, understood on traced arrays too; see `adjoint.scipy`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from adjoint.scipy.namespace import member, members
from adjoint.scipy.stats import (  # noqa: F401  # their rules
    densities,
    distribution_methods,
    multivariate,
    truncated_normal,
)

__getattr__: Callable[[str], Any] = partial(member, "stats")
__dir__: Callable[[], list[str]] = partial(members, "stats")
