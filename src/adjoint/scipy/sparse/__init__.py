"""The names of `scipy.sparse`, understood on traced arrays too; see `adjoint.scipy`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from adjoint.scipy.namespace import member, members
from adjoint.scipy.sparse import (  # noqa: F401  # their rules
    constructors,
    eigenvalues,
    exponentials,
    iterative,
    least_squares,
    systems,
)
from adjoint.scipy.sparse.determinants import log_determinant as log_determinant

__getattr__: Callable[[str], Any] = partial(member, "sparse")
__dir__: Callable[[], list[str]] = partial(members, "sparse")
