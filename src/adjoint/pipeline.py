"""Floor 8: from a captured function to results, as one readable list, with the program cache.

captured = capture(...)                     # floor 4
compiled = prepare(kind, captured, derive)  # looked up by structure; else derived, simplified
results = run(compiled, arguments)          # executed; or recorded, under an outer capture
"""

from __future__ import annotations

import linecache
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from numpy import errstate

from adjoint.base.errors import (
    AdjointError,
    MissingRuleError,
)
from adjoint.base.process.collection import collector_at_rest
from adjoint.base.process.forking import hold_over_forks
from adjoint.base.settings import settings
from adjoint.base.signatures.calling import named
from adjoint.base.signatures.checked import check_flag
from adjoint.capture import Captured, Traced, apply, apply_beside, hush, is_known, unwrap
from adjoint.capture.recording.effects.floating_point import not_again
from adjoint.capture.recording.effects.repeated_calls import ready
from adjoint.capture.recording.tracing.applying import bare, is_waited_for
from adjoint.capture.recording.tracing.building import forget_needed
from adjoint.capture.recording.tracing.trace import current, outermost
from adjoint.capture.recording.values.asking import may_wait_to_warn
from adjoint.capture.recording.values.postponed import postpone_results, read_value
from adjoint.executors import Counts, object_cache
from adjoint.executors.aside import forget_aside, results_aside
from adjoint.executors.disk.derivations import Derivation, KeptDerivation
from adjoint.executors.effort import seconds_of_run
from adjoint.executors.tiered import Tiered
from adjoint.loops.bodies import forget_bodies
from adjoint.optimise import forget_simplified, roll, simplify
from adjoint.primitives.elementwise.accuracy.slopes import KNOWN
from adjoint.primitives.elementwise.declaring import SCALE
from adjoint.primitives.structure.contraction import CONTRACT
from adjoint.primitives.structure.moving import BROADCAST, FILL
from adjoint.program import Equation, Literal, Program, Variable, all_equations, check_program
from adjoint.transforms.hard_zeros.hardness import starts_masks

CACHE_LIMIT: Final = 1024
_ENDLESS: Final = 8_000  # equations that take NumPy longer to write out than a loop costs for long
_ASIDE: Final = 4  # runs of a part of what is compiled, one of which counts
_LONG: Final = 5e-3  # seconds of NumPy's from which a derivative within is not computed yet
_MANY: Final = 1 << 16  # equal numbers, from which they are made where they are used
_REPETITIVE: Final = 1_000  # equations from which repeated work is merged first


class Compiled(Tiered):
    """A program ready to run, with facts that whoever derived it wants back.

    stamp: when it was looked up last. aside: how often it was run as a part of what is compiled.
    """

    __slots__ = ("aside", "facts", "stamp")

    def __init__(self, program: Program, watched: tuple[int, ...], facts: Any) -> None:
        super().__init__(program, watched)
        self.facts = facts
        self.stamp = self.aside = 0

    def run_aside(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """The results, for a capture that becomes machine code with this program in it.

        Such runs are seldom many. So only some of them count for machine code of its own.
        """
        results = self.run(arguments)
        if results is None and not self.is_at_once:
            outer = outermost()
            results = results_aside(self.program, arguments, 1 if outer is None else outer.longest)
        if results is None:
            self.aside += 1
            results = self.fall_back(arguments, self.aside % _ASIDE == 0)
        return results

    def lengthen(self, length: int) -> None:
        """Give loops whose tapes are of this length longer ones, from now on."""
        super().lengthen(length)
        if hasattr(self.facts, "lengthened"):  # a program that goes on with the tape
            self.facts = self.facts.lengthened(length)


# --- the cache ------------------------------------------------------------------------------------


class CacheInfo(NamedTuple):
    """Look-ups that found a program and that did not, programs held, and at most.

    compiled, loaded: how many pieces of machine code this process has compiled, and has loaded from
    disk, where earlier processes have left them.
    """

    hits: int
    misses: int
    size: int
    limit: int
    compiled: int
    loaded: int


class _Cache:
    """Compiled programs by structure.

    Reading takes no lock; the least recently used quarter goes when it is full.
    """

    def __init__(self) -> None:
        self.entries: dict[Any, Compiled] = {}
        self.lock = threading.RLock()  # a signal handler may come by within
        self.hits = 0
        self.misses = 0

    def get(self, key: Any) -> Compiled | None:
        compiled = self.entries.get(key)
        if compiled is not None:
            self.hits += 1
            compiled.stamp = self.hits + self.misses
        return compiled

    def put(self, key: Any, compiled: Compiled, known: bool = False) -> Compiled:
        """Keep a program. known: whether it has been found, by another key."""
        with self.lock:
            self.misses += not known
            compiled.stamp = self.hits + self.misses
            entries = self.entries
            if len(entries) >= CACHE_LIMIT:
                oldest = sorted(entries, key=lambda candidate: entries[candidate].stamp)
                kept = dict.fromkeys(oldest[len(oldest) // 4 :])
                self.entries = {candidate: entries[candidate] for candidate in kept}
            return self.entries.setdefault(key, compiled)


_cache = _Cache()
# What else is kept, by the floors above too.
CLEARED_TOO: Final[list[Callable[[], None]]] = [
    forget_aside,
    forget_bodies,
    forget_needed,
    forget_simplified,
]
hold_over_forks(_cache.lock)


@named
def cache_info() -> CacheInfo:
    """How the program cache is doing.

    Returns:
        A named tuple: how many programs are held (`size`, of `limit` at most), how often one was
        found (`hits`) or had to be made (`misses`), and of machine code how much was `compiled` and
        how much `loaded` from disk.

    Example:
        >>> import adjoint as ad
        >>> ad.cache_info().limit
        1024
    """
    held = len(_cache.entries)
    return CacheInfo(_cache.hits, _cache.misses, held, CACHE_LIMIT, Counts.compiled, Counts.loaded)


@named
def cache_clear(disk: bool = False) -> None:
    """Forget all compiled programs and counts.

    Args:
        disk: whether machine code that is kept on disk is removed as well (see `ad.config`, cache).

    Raises:
        ArgumentTypeError: `disk` is neither True nor False.

    Example:
        >>> import adjoint as ad
        >>> ad.cache_clear()
        >>> ad.cache_info().size
        0
    """
    check_flag(disk, "disk")
    with _cache.lock:
        _cache.entries = {}
        _cache.hits = _cache.misses = 0
    for clear in CLEARED_TOO:
        clear()
    kept = object_cache() if disk else None
    if kept is not None:
        kept.clear()


# --- preparing and running ------------------------------------------------------------------------

Derive = Callable[[Program, Any], tuple[Program, tuple[int, ...], Any]]


def prepare(
    kind: Any,
    captured: Captured,
    derive: Derive,
    recapture: Callable[[Any], Captured] | None = None,
    function: Any = None,
) -> Compiled:
    """The compiled program of a kind for a captured function; derived only if it is new.

    derive: `(program, kind)` -> (derived program, outputs to watch, facts that the caller wants
        back with it).
    recapture: captures the function once more with the user's lines, to point at one in an error.
    """
    about = _about(kind)
    with collector_at_rest():
        compiled = _known(about, captured)
        if compiled is None:
            try:
                compiled = _derived((*about, captured.key), captured.program(), derive)
            except AdjointError as error:
                _point_at_line(error, recapture, function)
                raise
    note_capture(compiled, captured)
    return compiled


def prepare_later(kind: Any, captured: Captured, derive: Derive) -> Callable[[], Compiled]:
    """What gives the compiled program, and derives it if it is new, so that another call can.

    The capture, and what arrays it holds, can be forgotten.
    """
    about = _about(kind)
    known = _known(about, captured)
    if known is not None:
        return lambda: known
    return partial(_derived, (*about, captured.key), captured.program(), derive)


def _about(kind: Any) -> tuple[Any, ...]:
    """What a derived program depends on besides its capture; the kind comes first."""
    return kind, settings().kink, _always_rolls()


def _known(about: tuple[Any, ...], captured: Captured) -> Compiled | None:
    return _cache.get((*about, captured.key)) or _derived_before(about, captured)


def _derived(key: tuple[Any, ...], program: Program, derive: Derive) -> Compiled:
    """What is derived from a program, kept under a key."""
    kind = key[0]
    with collector_at_rest():
        kept = KeptDerivation(key[:-1], program)
        derivation = kept.load()
        if derivation is None:
            compiled = compile_program(*_derived_anew(program, kind, derive))
            kept.store(Derivation(compiled.program, compiled.watched, compiled.facts))
        else:
            compiled = Compiled(*derivation)
        compiled = _cache.put(key, compiled)
        compiled.data = True
        return compiled


def _derived_anew(program: Program, kind: Any, derive: Derive) -> tuple[Any, ...]:
    rolled = roll_if_it_pays(program)
    try:
        whole, watched, facts = derive(rolled, kind)
    except MissingRuleError:  # a loop may lack what its equations have
        if rolled is program:
            raise
        whole, watched, facts = derive(program, kind)
    # Values beside derivatives are derivatives themselves where the program differentiates.
    return whole, watch_all(whole) if watch_all(program) else watched, facts


def _derived_before(about: tuple[Any, ...], captured: Captured) -> Compiled | None:
    """What was derived for a capture before it was kept, which has another key since then."""
    plain = getattr(captured, "plain_key", None)  # of those that are kept
    compiled = None if plain is None else _cache.get((*about, plain))
    return None if compiled is None else _cache.put((*about, captured.key), compiled, True)


# What capture has warned of and called, with the program that will do the same in this thread.
_done: Any = threading.local()


def note_capture(compiled: Compiled, captured: Captured) -> None:
    """Let the next run of a program not do again what its capture has done."""
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


def roll_if_it_pays(program: Program) -> Program:
    """The program with loops in the place of what is repeated, but for what NumPy runs as fast.

    Where that leaves a long program, what it computes several times is merged before: a derivative
    would have all of it twice, and each entry of an array that is looked up more than once would
    have its cotangents added into the whole array, one by one.
    """
    rolled = _rolled(program)
    if len(rolled) <= _REPETITIVE or 2 * len(rolled) < len(program):
        return rolled
    return _rolled(simplify(program))


def _rolled(program: Program) -> Program:
    return roll(program) if _always_rolls() or len(program) > _ENDLESS else program


def _always_rolls() -> bool:
    return settings().native is not False  # on NumPy alone, a loop is no faster


def watch_all(program: Program) -> tuple[int, ...]:
    """All outputs of a program in which derivatives occur, and none otherwise."""
    if any(map(_is_of_a_derivative, all_equations(program))):
        return tuple(range(len(program.outputs)))
    return ()


def _is_of_a_derivative(equation: Equation) -> bool:
    """Whether an equation multiplies a tangent, and maybe sums the products, or is of a slope."""
    if equation.primitive is CONTRACT:
        return equation.transformed
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
    results = None if tried else compiled.run(arguments)
    if results is not None:
        return results
    if Traced in map(type, arguments):
        if all(map(is_known, arguments)):
            return compiled([unwrap(argument) for argument in arguments])
        recorded = inline(compiled.program, arguments)
        _note_inlined(compiled, arguments, recorded, _values(compiled, arguments, recorded))
        return recorded
    return compiled.fall_back(arguments)


def _values(compiled: Compiled, arguments: Sequence[Any], recorded: Sequence[Any]) -> Any:
    """What recorded results are at the values of the arguments, if these are known.

    None also where that would be computed twice: here, and in a larger program that is compiled.
    """
    if _are_postponed(compiled, arguments, recorded):
        return None
    values = [read_value(x) for x in arguments]
    if any(value is None for value in values):
        return None
    trace = current()
    if trace is not None and trace.at_once:
        if trace.guards or _slots(arguments) != alone(trace.input_count, len(arguments)):
            return None
        compiled.compile_at_once()
    results = compiled.run_aside(values) if is_waited_for() else compiled(values)
    for result, value in zip(recorded, results, strict=True):
        if type(result) is Traced and result._value is None:
            result._value = value
    return results


def _are_postponed(compiled: Compiled, arguments: Sequence[Any], recorded: Sequence[Any]) -> bool:
    """Whether results are computed when somebody looks, since that would take long."""
    trace = current()
    if trace is None or not trace.late or trace.at_once or trace.witness:
        return False
    if not may_wait_to_warn():
        return False
    if seconds_of_run(compiled.program, trace.longest) < _LONG:
        return False
    return postpone_results(recorded, compiled.run_aside, arguments)


class Inlined(NamedTuple):
    """A compiled program that a capture has recorded as a whole.

    slots: of its arguments in that capture; None for those that are known. known: their values.
    results: the slots of its results. values: what these are, if that is known.
    """

    compiled: Compiled
    slots: tuple[int | None, ...]
    known: list[Any]
    results: tuple[int, ...]
    values: Any


def _note_inlined(
    compiled: Compiled, arguments: Sequence[Any], results: Sequence[Any], values: Any
) -> None:
    trace = current()
    if trace is None:
        return
    trace.inlined = None
    if any(not is_known(value) and value._trace is not trace for value in (*arguments, *results)):
        return
    slots = _slots(arguments)
    known = [unwrap(value) for value in arguments if is_known(value)]
    if not any(map(is_known, results)):
        own = tuple([result._slot for result in results])
        trace.inlined = Inlined(compiled, slots, known, own, values)


def _slots(arguments: Sequence[Any]) -> tuple[int | None, ...]:
    return tuple([None if is_known(value) else value._slot for value in arguments])


def alone(inputs: int, arguments: int) -> tuple[int | None, ...]:
    """The slots of arguments that are all inputs of a capture in order, and then known ones."""
    return (*range(inputs), *[None] * (arguments - inputs))


def _is_spread(equation: Equation) -> bool:
    """Whether an equation makes many equal numbers, which capture need not hold."""
    many = equation.outputs[0].type.size >= _MANY
    return many and equation.transformed and equation.primitive in (FILL, BROADCAST)


def inline(program: Program, arguments: Sequence[Any]) -> list[Any]:
    """Record a program in the capture that traces its arguments."""
    values: dict[Variable, Any] = dict(zip(program.inputs, arguments, strict=True))

    def value(atom: Any) -> Any:
        return atom.value if isinstance(atom, Literal) else values[atom]

    for equation in program.equations:
        operands = [value(atom) for atom in equation.inputs]
        whole = zip(equation.inputs, operands, strict=True)
        exact = [atom if isinstance(atom, Literal) else x for atom, x in whole]
        if starts_masks(equation) or _is_spread(equation):
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
            hush(results[0], equation.derived)
        values.update(zip(equation.outputs, results, strict=True))
    return [bare(value(atom)) for atom in program.outputs]
