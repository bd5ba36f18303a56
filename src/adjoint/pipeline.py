"""Floor 8: from a captured function to results, as one readable list, with the program cache.

captured = capture(...)                     # floor 4
compiled = prepare(kind, captured, derive)  # looked up by structure; else derived, simplified
results = run(compiled, arguments)          # executed; or recorded, under an outer capture
"""

from __future__ import annotations

import linecache
import threading
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, cast

from numpy import errstate, vdot

from adjoint.base.collection import collector_at_rest
from adjoint.base.errors import (
    AdjointError,
    MissingRuleError,
    NativeExecutorWarning,
    NativeUnavailableError,
    TapeOverflowError,
)
from adjoint.base.forking import hold_over_forks
from adjoint.base.settings import Settings, settings
from adjoint.capture import Captured, Traced, apply, apply_beside, hush, is_known, unwrap
from adjoint.capture.recording.applying import bare
from adjoint.capture.recording.floating_point import not_again
from adjoint.capture.recording.ran import ready
from adjoint.capture.recording.valued import value_of
from adjoint.executors import NativeExecutable, NativeExecutor, NumpyExecutor
from adjoint.executors.effort import runs_on_numpy
from adjoint.executors.native.executor import Piece
from adjoint.executors.numpy import CarefulExecutable, NumpyExecutable
from adjoint.loops.bodies import forget_bodies
from adjoint.optimise import is_tape_length, lengthened, roll, simplify
from adjoint.primitives.elementwise.declaring import SCALE
from adjoint.primitives.elementwise.slopes import KNOWN
from adjoint.primitives.structure.contraction import CONTRACT
from adjoint.program import Equation, Literal, Program, Variable, all_equations, check_program
from adjoint.transforms.hardness import starts_masks

CACHE_LIMIT: Final = 1024
_ENDLESS: Final = 8_000  # equations that take NumPy longer to write out than a loop costs for long
_REPETITIVE: Final = 5_000  # equations without loops from which repeated work is merged first


_Key = tuple[bool, int | None, bool]


class _Way(NamedTuple):
    """How a program is run under some settings.

    native: its machine code, if there is any. piece: the same, if it is the whole program. waiting:
    whether there may be some later.
    """

    settings: Settings
    native: NativeExecutable | None
    piece: Piece | None
    waiting: bool


class Compiled:
    """A program ready to run: on NumPy, and as machine code once it has come by often.

    watched: outputs, by number, that are derivatives: a NaN there may be a zero times an infinite
        partial derivative, and the program is then run again with hard zeros.
    """

    __slots__ = (
        "_fast",
        "_hard",
        "_natives",
        "_runs_left",
        "_way",
        "data",
        "facts",
        "program",
        "stamp",
        "watched",
    )

    def __init__(self, program: Program, watched: tuple[int, ...], facts: Any) -> None:
        self.program = program
        self.watched = watched
        self.facts = facts
        self.stamp = 0
        self._fast: NumpyExecutable | None = None
        self._hard: CarefulExecutable | None = None
        self.data = False  # whether the arguments are data, and none made by another program
        self._runs_left = -1  # until it is hot; found out at the first run
        self._way: _Way | None = None
        # Machine code by the settings that change it; None where there is none to be had.
        self._natives: dict[_Key, NativeExecutable | None] = {}

    def __call__(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """Run it on concrete arguments."""
        results = self.quickly(arguments)
        return self.otherwise(arguments) if results is None else results

    def quickly(self, arguments: Sequence[Any]) -> tuple[Any, ...] | None:
        """The results, if there is machine code that takes the arguments as they are.

        They may be anything: traced ones, for which machine code has no results, too.
        """
        way = self._way
        if way is None or way.piece is None or way.settings is not settings():
            return None
        try:
            results = way.piece.function(*arguments)
        except TapeOverflowError:
            return None
        if results is not None and way.piece.misses:
            way.piece.misses -= 1
        return results

    def otherwise(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """The results for concrete arguments, after `quickly` had none."""
        while True:
            try:
                return self._otherwise(arguments)
            except TapeOverflowError as error:
                if not is_tape_length(error.length):
                    raise
                self._lengthen(error.length)

    def _lengthen(self, length: int) -> None:
        """Give loops whose tapes are of this length longer ones, from now on."""
        self.program = lengthened(self.program, length)
        if hasattr(self.facts, "lengthened"):  # a program that goes on with the tape
            self.facts = self.facts.lengthened(length)
        self._fast = self._hard = None
        self._natives = {}
        self._way = None

    def _otherwise(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        way = self._way
        chosen = settings()
        tried = way is not None and way.settings is chosen and way.piece is not None
        if way is None or way.settings is not chosen:
            way = self._choose(chosen)
        if way.waiting:
            way = self._maybe_compile(way)
        if way.native is None:
            return self._on_numpy(arguments)
        if way.piece is None:
            results = way.native.function(*arguments)
            return self._watched(cast("tuple[Any, ...]", results), arguments)
        results = None if tried else way.piece.function(*arguments)
        return self._missed(way, way.piece, arguments) if results is None else results

    # --- NumPy -----------------------------------------------------------------------------------

    def _on_numpy(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        fast = self._fast
        if fast is None:
            fast = self._fast = NumpyExecutor().compile(self.program, hard=False)
        return self._watched(fast.function(*arguments), arguments)

    def _watched(self, results: tuple[Any, ...], arguments: Sequence[Any]) -> tuple[Any, ...]:
        """The results, or those with hard zeros where a derivative is NaN."""
        for number in self.watched:
            # NaN if any entry is; one pass without a temporary, and no warnings.
            total = vdot(results[number], results[number])
            if total != total and settings().strong_zeros:
                return self._again(arguments)
        return results

    def _again(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        if self._hard is None:
            self._hard = CarefulExecutable(self.program, self.watched, self.data)
        with errstate(all="ignore"):  # the first run has warned
            return self._hard(*arguments)

    def source(self) -> str:
        """The source that the NumPy executor makes."""
        return NumpyExecutor().compile(self.program, hard=False).source()

    # --- machine code ----------------------------------------------------------------------------

    def at_once(self) -> None:
        """Let the next run be of machine code, unless the settings forbid it."""
        self._runs_left = 0
        if self._way is not None and self._way.waiting:
            self._way = None

    def native(self) -> NativeExecutable | None:
        """The machine code that the program is run with under the settings in force, if any."""
        way = self._way
        return way.native if way is not None and way.settings is settings() else None

    def _key(self, chosen: Settings) -> _Key:
        """What machine code depends on. Without strong zeros, nothing is watched for NaN."""
        return chosen.precise, chosen.threads, chosen.strong_zeros or not self.watched

    def _choose(self, chosen: Settings) -> _Way:
        key = self._key(chosen)
        native = self._natives.get(key) if chosen.native is not False else None
        waiting = chosen.native is not False and key not in self._natives
        way = _Way(chosen, native, native.piece if native is not None else None, waiting)
        self._way = way
        return way

    def _maybe_compile(self, way: _Way) -> _Way:
        """Count this run; once there have been enough, compile."""
        if self._runs_left < 0:
            self._runs_left = runs_on_numpy(self.program)
        if self._runs_left and not way.settings.native:
            self._runs_left -= 1
            return way
        # One thread compiles, and the others go on with NumPy, unless machine code is asked for.
        if not _compiling.acquire(blocking=bool(way.settings.native)):
            return way
        try:
            key = self._key(way.settings)
            if key not in self._natives:
                watched = self.watched if way.settings.strong_zeros else ()
                self._natives[key] = _machine_code(self.program, watched, way.settings)
        finally:
            _compiling.release()
        return self._choose(way.settings)

    def _missed(self, way: _Way, piece: Piece, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """The results where machine code had none."""
        results = piece.again(arguments)
        if results is not None:
            return results
        if piece.hopeless:
            self._natives[self._key(way.settings)] = None
            self._way = None
        return self._on_numpy(arguments)


# --- when machine code pays -----------------------------------------------------------------------

_compiling = threading.RLock()
_warned = threading.Event()
hold_over_forks(_compiling)


def _machine_code(
    program: Program, watched: tuple[int, ...], chosen: Settings
) -> NativeExecutable | None:
    """The program as machine code, or None; whatever fails there is no error, but one warning."""
    executor = NativeExecutor(chosen.precise, chosen.threads)
    try:
        return executor.compile(program, watched=watched)
    except NativeUnavailableError as error:
        cause = str(error)
    except Exception as error:  # a mistake of ours must not stop what NumPy can do
        if chosen.debug:
            raise
        cause = f"{type(error).__name__}: {error}"
    if not _warned.is_set():
        _warned.set()
        warnings.warn(
            "No machine code could be made, and programs run on NumPy instead: "
            f"{cause.rstrip(': .')}. `with ad.config(native=False)` does so without an attempt, "
            "and without this warning.",
            NativeExecutorWarning,
            stacklevel=2,
        )
    return None


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
        compiled = self.entries.get(key)
        if compiled is not None:
            self.hits += 1
            compiled.stamp = self.hits + self.misses
        return compiled

    def put(self, key: Any, compiled: Compiled) -> Compiled:
        with self.lock:
            self.misses += 1
            compiled.stamp = self.hits + self.misses
            if len(self.entries) >= CACHE_LIMIT:
                oldest = sorted(self.entries, key=lambda candidate: self.entries[candidate].stamp)
                kept = dict.fromkeys(oldest[len(oldest) // 4 :])
                self.entries = {candidate: self.entries[candidate] for candidate in kept}
            return self.entries.setdefault(key, compiled)


_cache = _Cache()
# What else is kept, by the floors above too.
CLEARED_TOO: Final[list[Callable[[], None]]] = [forget_bodies]
hold_over_forks(_cache.lock)


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
    for clear in CLEARED_TOO:
        clear()


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
    rolls = settings().native is not False  # on NumPy alone, a loop is no faster
    key = (kind, settings().kink, rolls, captured.key)
    compiled = _cache.get(key)
    if compiled is not None:
        _note(compiled, captured)
        return compiled
    with collector_at_rest():
        program = captured.program()
        rolled = roll(program) if rolls or len(program) > _ENDLESS else program
        if rolled is program and len(program) > _REPETITIVE:
            program = rolled = simplify(program)
        try:
            try:
                derived, watched, facts = derive(rolled, kind)
            except MissingRuleError:  # a loop may lack what its equations have
                if rolled is program:
                    raise
                derived, watched, facts = derive(program, kind)
        except AdjointError as error:
            _point_at_line(error, recapture, function)
            raise
        compiled = _cache.put(key, compile_program(derived, watched, facts))
        compiled.data = True
        _note(compiled, captured)
        return compiled


# What capture has warned of and called, with the program that will do the same in this thread.
_done: Any = threading.local()


def _note(compiled: Compiled, captured: Captured) -> None:
    any_done = captured.said or captured.ran
    _done.of = (compiled, captured.said, captured.ran) if any_done else None


def forget_capture() -> None:
    """Forget what the last capture has done, whose program has been run in another way."""
    _done.of = None


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
    if any(map(_is_of_a_derivative, all_equations(program))):
        return tuple(range(len(program.outputs)))
    return ()


def _is_of_a_derivative(equation: Equation) -> bool:
    """Whether an equation multiplies a tangent, and maybe sums the products, or is of a slope."""
    if equation.primitive is CONTRACT:
        return equation.derived
    return equation.primitive is SCALE or equation.primitive.ufunc is KNOWN


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


_NOTHING: Final[tuple[None, set[str], list[Any]]] = (None, set(), [])


def run(compiled: Compiled, arguments: Sequence[Any], tried: bool = False) -> Sequence[Any]:
    """The results: computed, or recorded where an argument is traced by an outer capture.

    tried: whether machine code has been given these arguments already, and had no results.
    """
    known, said, ran = getattr(_done, "of", None) or _NOTHING
    if known is compiled:
        _done.of = None
        if said or ran:
            with not_again(said), ready(ran):
                return run(compiled, arguments, tried)
    results = None if tried else compiled.quickly(arguments)
    if results is not None:
        return results
    if Traced in map(type, arguments):
        if all(map(is_known, arguments)):
            return compiled([unwrap(argument) for argument in arguments])
        return _with_values(inline(compiled.program, arguments), compiled, arguments)
    return compiled.otherwise(arguments)


def _with_values(results: list[Any], compiled: Compiled, arguments: Sequence[Any]) -> list[Any]:
    """Recorded results, with what they are at the values of the arguments."""
    values = [
        value_of(argument) if type(argument) is Traced else argument for argument in arguments
    ]
    if not any(value is None for value in values):
        for result, value in zip(results, compiled(values), strict=True):
            if type(result) is Traced and result._value is None:
                result._value = value
    return results


def inline(program: Program, arguments: Sequence[Any]) -> list[Any]:
    """Record a program in the capture that traces its arguments."""
    values: dict[Variable, Any] = dict(zip(program.inputs, arguments, strict=True))

    def value(atom: Any) -> Any:
        return atom.value if isinstance(atom, Literal) else values[atom]

    for equation in program.equations:
        operands = [value(atom) for atom in equation.inputs]
        whole = zip(equation.inputs, operands, strict=True)
        exact = [atom if isinstance(atom, Literal) else x for atom, x in whole]
        if starts_masks(equation):
            results = apply_beside(equation.operation, arguments, exact)
        elif not all(map(is_known, operands)):  # literals stay what they are
            results = apply(equation.operation, exact)
        elif equation.derived:  # computed here and now
            with errstate(all="ignore"):
                results = apply(equation.operation, operands)
        else:
            results = apply(equation.operation, operands)
        results = results if equation.primitive.multiple else (results,)
        if equation.derived:
            hush(results[0])
        values.update(zip(equation.outputs, results, strict=True))
    return [bare(value(atom)) for atom in program.outputs]
