"""The names of `scipy.linalg`, understood on traced arrays too; see `adjoint.scipy`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from adjoint.scipy.linalg import (  # noqa: F401  # their rules
    banded_systems,
    batches,
    elimination,
    linear_systems,
    matrix_functions,
    structured_matrices,
)
from adjoint.scipy.namespace import member, members

__getattr__: Callable[[str], Any] = partial(member, "linalg")
__dir__: Callable[[], list[str]] = partial(members, "linalg")
