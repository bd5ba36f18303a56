"""Capturing once: `jit` keeps the program of a function for each signature."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from adjoint.base import pytrees
from adjoint.base.arrays import is_numeric
from adjoint.base.errors import ArgumentTypeError
from adjoint.base.settings import Settings, settings
from adjoint.base.unpacking import is_flat, unpacking
from adjoint.calculus.arguments import check_callable
from adjoint.capture import Traced, capture, current, is_known, traced_type
from adjoint.capture.trace import check_plain
from adjoint.executors.native.executor import Piece
from adjoint.pipeline import Compiled, prepare, run, watch_all
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
    kept: dict[Any, _Entry] = {}
    lock = threading.Lock()
    latest: _Quick | None = None

    def jitted(*args: Any, **kwargs: Any) -> Any:
        quick = latest
        if quick is not None:
            chosen, flat, call, piece, treedef = quick
            if chosen is settings():
                results = (None if kwargs else call(*args)) if flat else call(args, kwargs)
                if results is not None:
                    if piece.misses:
                        piece.misses -= 1
                    return results[0] if treedef is None else treedef.unflatten(results)
        return by_signature(args, kwargs, quick)

    def by_signature(args: tuple[Any, ...], kwargs: dict[str, Any], missed: _Quick | None) -> Any:
        nonlocal latest
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
        else:
            for leaf in arrays:
                if type(leaf) is not np.ndarray and isinstance(leaf, np.ndarray):
                    check_plain(leaf)  # as at the first call: its own meaning would be lost
            values = [*arrays, *found.constants]
            results = pytrees.unflatten(
                found.output_tree, run(found.compiled, values, tried=found.is_quick(missed))
            )
        latest = found.quick() if found is not None else None
        return results

    return jitted


class _Quick(NamedTuple):
    """A call without a look at the signature: machine code finds out itself what it was given.

    chosen: the settings that it holds under. flat: whether `call` takes the arguments as they are,
    and not `(args, kwargs)`. piece: the machine code, whose misses are counted. treedef: of the
    results.
    """

    chosen: Settings
    flat: bool
    call: Callable[..., Any]
    piece: Piece
    treedef: Any


class _Entry:
    """What is kept for a signature.

    input_tree: the structure of (args, kwargs), if all that is in it are arrays and numbers.
    """

    __slots__ = ("_quick", "compiled", "constants", "input_tree", "output_tree")

    def __init__(
        self, compiled: Compiled, constants: list[Any], input_tree: Any, output_tree: Any
    ) -> None:
        self.compiled = compiled
        self.constants = constants
        self.input_tree = input_tree
        self.output_tree = output_tree
        self._quick: _Quick | None = None

    def quick(self) -> _Quick | None:
        """The short way under the settings in force, if the program is all machine code."""
        native = self.compiled.native()
        if native is None or native.piece is None or self.input_tree is None:
            self._quick = None
        elif (
            self._quick is None
            or self._quick.piece is not native.piece
            or self._quick.chosen is not settings()
        ):
            flat = is_flat(self.input_tree)
            call = native.piece.bound(self.constants)
            call = call if flat else unpacking(call, self.input_tree)
            self._quick = _Quick(settings(), flat, call, native.piece, self.output_tree)
        return self._quick

    def is_quick(self, missed: _Quick | None) -> bool:
        """Whether the short way that had no results was that of this entry."""
        return missed is not None and missed is self._quick and missed.chosen is settings()


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
) -> tuple[_Entry | None, Any]:
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
    outer = any(type(value) is Traced for value in captured.constants)
    asked = captured.trace.asked or (outer and current() is not None)
    if not asked:
        compiled.at_once()
    results = pytrees.unflatten(captured.treedef, run(compiled, [*arrays, *captured.constants]))
    if asked:
        return None, results
    plain = len(arrays) == len(leaves) and not outer
    entry = _Entry(compiled, captured.constants, treedef if plain else None, captured.treedef)
    return entry, results
