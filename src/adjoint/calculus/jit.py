"""Capturing once: `jit` keeps the program of a function for each signature."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final

from adjoint.base import pytrees
from adjoint.base.arrays import is_numeric
from adjoint.base.errors import ArgumentTypeError
from adjoint.base.settings import settings
from adjoint.calculus.arguments import check_callable
from adjoint.capture import Traced, capture, current, is_known, traced_type
from adjoint.pipeline import prepare, run, watch_all
from adjoint.program import Program

_LIMIT: Final = 256


def jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is captured once for each signature; then its program alone is run.

    The signature is the structure of the arguments, the types of their arrays, and the values of
    all that is not an array or a number. What the function reads besides its arguments is kept as
    it was when it was captured. A function that asks for values (`if x > 0`) is captured at every
    call, as without jit, so that it always takes the right branch.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> f = ad.jit(ad.grad(lambda x: np.sum(np.sin(x))))
        >>> f(np.zeros(2))
        array([1., 1.])
    """
    check_callable(function, "jit")
    kept: dict[Any, Any] = {}
    lock = threading.Lock()

    def jitted(*args: Any, **kwargs: Any) -> Any:
        leaves, treedef = pytrees.flatten((args, kwargs))
        arrays = [leaf for leaf in leaves if type(leaf) is Traced or is_numeric(leaf)]
        if len(arrays) == len(leaves):
            static: tuple[Any, ...] = ()
        else:
            static = tuple(
                None if type(leaf) is Traced or is_numeric(leaf) else leaf for leaf in leaves
            )
            _check_hashable(static)
        types = tuple([traced_type(leaf) for leaf in arrays])
        key = (treedef, types, static, settings().kink)
        found = kept.get(key)
        if found is None:
            found, results = _capture(function, leaves, treedef, arrays, types)
            if found is not None:
                with lock:
                    if len(kept) >= _LIMIT:
                        kept.clear()
                    kept[key] = found
            return results
        compiled, constants, output_tree = found
        return pytrees.unflatten(output_tree, run(compiled, [*arrays, *constants]))

    return jitted


def _check_hashable(static: tuple[Any, ...]) -> None:
    for each in static:
        try:
            hash(each)
        except TypeError:
            raise ArgumentTypeError(
                f"jit was given a {type(each).__name__} as an argument, which cannot be hashed. "
                "What is neither an array nor a "
                "number tells programs apart by its value: use a tuple or a frozenset, or leave "
                "jit away."
            ) from None


def _capture(
    function: Any, leaves: list[Any], treedef: Any, arrays: list[Any], types: tuple[Any, ...]
) -> tuple[Any, Any]:
    """What to keep, if no values were asked for, and the results of this first call."""

    def call(target: Any, traced: list[Any]) -> Any:
        waiting = iter(traced)
        whole = [
            next(waiting) if type(leaf) is Traced or is_numeric(leaf) else leaf for leaf in leaves
        ]
        args, kwargs = pytrees.unflatten(treedef, whole)
        return target(*args, **kwargs)

    active = tuple(type(leaf) is Traced and not is_known(leaf) for leaf in arrays)
    captured = capture(function, call, types, arrays, active, frozen=True)

    def derive(program: Program, _: Any) -> tuple[Program, tuple[int, ...], Any]:
        return program, watch_all(program), None

    compiled = prepare("jit", captured, derive)
    results = pytrees.unflatten(captured.treedef, run(compiled, [*arrays, *captured.constants]))
    outer = any(type(value) is Traced for value in captured.constants)
    if captured.trace.asked or (outer and current() is not None):
        return None, results
    return (compiled, captured.constants, captured.treedef), results
