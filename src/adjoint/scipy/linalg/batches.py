"""Stacks of matrices for functions of one, as `scipy.linalg` takes them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.capture.numpy.table import as_operand

Function = Callable[..., Any]


def over_batches(**axes: int | str) -> Callable[[Function], Function]:
    """A function of matrices and vectors, for stacks of them too.

    axes: how many axes of an argument, by its name, the function itself takes; "1|2" for right-hand
    sides, which are vectors if they have one axis, and matrices if they have more. The axes before
    these are broadcast against each other, and the results stacked along them.
    """

    def declare(function: Function) -> Function:
        signature = inspect.signature(function)

        @functools.wraps(function)
        def batched(*args: Any, **kwargs: Any) -> Any:
            call = signature.bind(*args, **kwargs)
            arrays = {
                name: as_operand(call.arguments[name])
                for name in axes
                if call.arguments.get(name) is not None
            }
            before = {name: np.ndim(x) - _own(axes[name], np.ndim(x)) for name, x in arrays.items()}
            stack = np.broadcast_shapes(*(np.shape(x)[: before[n]] for n, x in arrays.items()))
            if not stack:
                return function(*args, **kwargs)
            whole = {
                name: np.broadcast_to(x, (*stack, *np.shape(x)[before[name] :]))
                for name, x in arrays.items()
            }
            results = []
            for place in np.ndindex(*stack):
                call.arguments.update({name: x[place] for name, x in whole.items()})
                results.append(function(*call.args, **call.kwargs))
            if isinstance(results[0], tuple):
                return tuple(_stacked(parts, stack) for parts in zip(*results, strict=True))
            return _stacked(results, stack)

        return batched

    return declare


def _own(axes: int | str, ndim: int) -> int:
    return min(ndim, 2 if axes == "1|2" else int(axes))


def _stacked(results: Sequence[Any], stack: tuple[int, ...]) -> Any:
    rows = np.stack([as_operand(result) for result in results])
    return np.reshape(rows, (*stack, *rows.shape[1:]))
