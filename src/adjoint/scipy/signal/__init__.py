"""The names of `scipy.signal`, understood on traced arrays too; see `adjoint.scipy`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from adjoint.scipy.namespace import member, members
from adjoint.scipy.signal import signals  # noqa: F401  # their rules

__getattr__: Callable[[str], Any] = partial(member, "signal")
__dir__: Callable[[], list[str]] = partial(members, "signal")
