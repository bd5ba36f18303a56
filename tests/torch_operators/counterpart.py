"""What stands in NumPy for an operator of torch's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Counterpart:
    """A function of NumPy that takes the arguments of one of torch's.

    `torch` takes the place of the operator where that has no unique result (the signs of
    eigenvectors), and `tolerance` is how far the results may differ, relative to their size.
    """

    numpy: Callable[..., Any]
    torch: Callable[..., Any] | None = None
    tolerance: float = 1e-9
