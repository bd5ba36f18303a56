"""Reverse mode, whatever the function: `ad.grad` goes forward where one number goes in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import adjoint as ad


def pulled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The gradient by the first argument, by reverse mode through all that the function does."""

    def gradient(x: Any, *rest: Any) -> Any:
        value, pull = ad.vjp(lambda x: function(x, *rest), x)
        return pull(np.ones_like(value))[0]

    return gradient
