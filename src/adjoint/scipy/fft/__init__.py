"""The names of `scipy.fft`, understood on traced arrays too; see `adjoint.scipy`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from adjoint.scipy.fft import cosine_transforms, fourier  # noqa: F401  # their rules
from adjoint.scipy.namespace import member, members

__getattr__: Callable[[str], Any] = partial(member, "fft")
__dir__: Callable[[], list[str]] = partial(members, "fft")
