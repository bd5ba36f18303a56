"""Capturing once: `jit` keeps the programs of a function for each signature."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from adjoint.base.errors import ArgumentError, ArgumentTypeError, TapeOverflowError
from adjoint.base.settings import settings
from adjoint.calculus.arguments import check_callable
from adjoint.calculus.jit.kept import Kept, Quick

_PATHS: Final = 64


def jit(function: Callable[..., Any], *, paths: int = _PATHS) -> Callable[..., Any]:
    """A function that is captured once for each signature; then its program alone is run.

    The signature is the structure of the arguments, the types of their arrays, and the values of
    all that is not an array or a number. What the function reads besides its arguments is kept as
    it was when it was captured.

    Where the function asks for a value (`if x > 0`, `while error > tolerance`, `int(n)`, an index),
    the program is right for the same answers, and checks them at each run. For other answers the
    function is captured again: so a tree of paths grows, each of which is captured once.

    Args:
        function: plain NumPy code.
        paths: how many paths are kept for a signature. With more, a `ManyPathsWarning` names the
            line, and the function is captured at every call, as without jit.

    Raises:
        ArgumentTypeError: an argument is neither an array nor a number, and cannot be hashed.
        ArgumentError: `paths` is not a whole number of 1 or more.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> f = ad.jit(ad.grad(lambda x: np.sum(np.sin(x))))
        >>> f(np.zeros(2))
        array([1., 1.])
        >>> absolute = ad.jit(lambda x: x if x > 0 else -x)
        >>> absolute(2.0), absolute(-3.0)
        (np.float64(2.0), np.float64(3.0))
    """
    check_callable(function, "jit")
    _check_paths(paths)
    kept = Kept(function, paths)
    latest: Quick | None = None

    def jitted(*args: Any, **kwargs: Any) -> Any:
        nonlocal latest
        quick = latest
        reached, held = -1, None
        while quick is not None:
            chosen, flat, call, piece, treedef, guards, place, _, _ = quick
            if chosen is not settings():
                break
            try:
                results = (None if kwargs else call(*args)) if flat else call(args, kwargs)
            except TapeOverflowError:  # the long way makes the tape longer
                results = None
            if results is None:
                break
            if piece.misses:
                piece.misses -= 1
            if not guards:
                return results[0] if treedef is None else treedef.unflatten(results)
            if results[place] == guards:
                return results[0] if treedef is None else treedef.unflatten(results[:place])
            held = int(results[place])
            following = quick.otherwise(held) if held > reached else None
            if following is None:
                break
            latest = quick = following
            reached, held = held, None
        results, latest = kept.call(args, kwargs, quick, held)
        return results

    return jitted


def _check_paths(paths: Any) -> None:
    if isinstance(paths, bool) or not isinstance(paths, int):
        raise ArgumentTypeError(f"paths must be a whole number, got {paths!r}.")
    if paths < 1:
        raise ArgumentError(f"paths must be 1 or more, got {paths!r}.")
