"""Floor 8: from a captured function to results, as one readable list, with the program cache.

captured = capture(...)                     # floor 4, at every call
compiled = prepare(kind, captured, derive)  # looked up by structure; else derived, simplified
results = run(compiled, arguments)          # executed; or recorded, under an outer capture
"""

from __future__ import annotations

import linecache
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from numpy import errstate, vdot

from adjoint.base.errors import AdjointError
from adjoint.base.settings import settings
from adjoint.capture import Captured, Traced, apply, hush, is_known, unwrap
from adjoint.executors import Executable, NumpyExecutor
from adjoint.optimise import simplify
from adjoint.program import Literal, Program, Variable, check_program

CACHE_LIMIT: Final = 1024


class Compiled:
    """A program ready to run.

    watched: outputs, by number, that are derivatives: a NaN there may be a zero times an infinite
        partial derivative, and the program is then run again with strong zeros.
    """

    __slots__ = ("_fast", "_strong", "executor", "facts", "fast", "program", "stamp", "watched")

    def __init__(self, program: Program, watched: tuple[int, ...], facts: Any) -> None:
        self.executor = NumpyExecutor()
        self.program = program
        self.watched = watched
        self.facts = facts
        self.stamp = 0
        self._fast: Executable = self.executor.compile(program, strong_zeros=False)
        self._strong: Executable | None = None
        self.fast = self._fast.function

    def __call__(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """Run it on concrete arguments."""
        results: tuple[Any, ...] = self.fast(*arguments)
        for number in self.watched:
            # NaN if any entry is; one pass without a temporary, and no warnings.
            total = vdot(results[number], results[number])
            if total != total and settings().strong_zeros:
                return self._again(arguments)
        return results

    def _again(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        if self._strong is None:
            self._strong = self.executor.compile(self.program, strong_zeros=True)
        with errstate(all="ignore"):  # the first run has warned
            return self._strong(*arguments)

    def source(self) -> str:
        """The source that the NumPy executor made."""
        return self._fast.source()


# --- the cache ------------------------------------------------------------------------------------


class CacheInfo(NamedTuple):
    """Look-ups that found a program and that did not, programs held, and at most."""

    hits: int
    misses: int
    size: int
    limit: int


class _Cache:
    """Compiled programs by structure.

    Reading takes no lock; the least recently used quarter goes when it is full.
    """

    def __init__(self) -> None:
        self.entries: dict[Any, Compiled] = {}
        self.lock = threading.Lock()
        self.hits = 0
        self.misses = 0

    def get(self, key: Any) -> Compiled | None:
        found = self.entries.get(key)
        if found is not None:
            self.hits += 1
            found.stamp = self.hits + self.misses
        return found

    def put(self, key: Any, compiled: Compiled) -> Compiled:
        with self.lock:
            self.misses += 1
            compiled.stamp = self.hits + self.misses
            if len(self.entries) >= CACHE_LIMIT:
                oldest = sorted(self.entries, key=lambda each: self.entries[each].stamp)
                kept = dict.fromkeys(oldest[len(oldest) // 4 :])
                self.entries = {each: self.entries[each] for each in kept}
            return self.entries.setdefault(key, compiled)


_cache = _Cache()


def cache_info() -> CacheInfo:
    """How the program cache is doing.

    Example:
        >>> import adjoint as ad
        >>> ad.cache_info().limit
        1024
    """
    return CacheInfo(_cache.hits, _cache.misses, len(_cache.entries), CACHE_LIMIT)


def cache_clear() -> None:
    """Forget all compiled programs and counts.

    Example:
        >>> import adjoint as ad
        >>> ad.cache_clear()
        >>> ad.cache_info().size
        0
    """
    with _cache.lock:
        _cache.entries = {}
        _cache.hits = _cache.misses = 0


# --- preparing and running ------------------------------------------------------------------------

Derivation = Callable[[Program, Any], tuple[Program, tuple[int, ...], Any]]


def prepare(
    kind: Any,
    captured: Captured,
    derive: Derivation,
    recapture: Callable[[Any], Captured] | None = None,
    function: Any = None,
) -> Compiled:
    """The compiled program of a kind for a captured function; derived only if it is new.

    derive: `(program, kind)` -> (derived program, outputs to watch, facts that the caller wants
        back with it).
    recapture: captures the function once more with the user's lines, to point at one in an error.
    """
    key = (kind, settings().kink, captured.key)
    found = _cache.get(key)
    if found is not None:
        return found
    try:
        program, watched, facts = derive(captured.program(), kind)
    except AdjointError as error:
        _point_at_line(error, recapture, function)
        raise
    return _cache.put(key, compile_program(program, watched, facts))


def compile_program(program: Program, watched: tuple[int, ...] = (), facts: Any = None) -> Compiled:
    """Simplify and compile a program, checked after each pass in debug mode."""
    debug = settings().debug
    if debug:
        check_program(program)
    program = simplify(program, check_program if debug else None)
    inexact = tuple(n for n in watched if program.outputs[n].type.inexact)
    return Compiled(program, inexact, facts)


def watch_all(program: Program) -> tuple[int, ...]:
    """All outputs of a program in which derivatives occur, and none otherwise."""
    if any(equation.primitive.name == "scale" for equation in program.equations):
        return tuple(range(len(program.outputs)))
    return ()


def _point_at_line(
    error: AdjointError, recapture: Callable[[Any], Captured] | None, function: Any
) -> None:
    origin = error.origin
    if origin is None or recapture is None:
        return
    lines = recapture(function).trace.lines or []
    if origin < len(lines) and lines[origin]:
        path, _, number = lines[origin].rpartition(":")
        text = linecache.getline(path, int(number)).strip()
        error.add_note(f"At {lines[origin]}{': ' if text else ''}{text}")


def run(compiled: Compiled, arguments: Sequence[Any]) -> Sequence[Any]:
    """The results: computed, or recorded where an argument is traced by an outer capture."""
    if Traced in map(type, arguments):
        if all(map(is_known, arguments)):
            return compiled([unwrap(each) for each in arguments])
        return inline(compiled.program, arguments)
    return compiled(arguments)


def inline(program: Program, arguments: Sequence[Any]) -> list[Any]:
    """Record a program in the capture that traces its arguments."""
    values: dict[Variable, Any] = dict(zip(program.inputs, arguments, strict=True))

    def value(atom: Any) -> Any:
        return atom.value if isinstance(atom, Literal) else values[atom]

    for equation in program.equations:
        results = apply(equation.operation, [value(atom) for atom in equation.inputs])
        if not equation.primitive.multiple:
            results = (results,)
        if equation.derived:
            hush(results[0])
        values.update(zip(equation.outputs, results, strict=True))
    return [value(atom) for atom in program.outputs]
