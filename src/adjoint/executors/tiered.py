"""The policy of executors: NumPy first, machine code for what comes often, NumPy where it fails.

A program is counted. Once it is hot it is compiled beside the caller, who goes on with NumPy. At a
call that the script alone decides it turns to machine code (`turns.py`): when compiling is over but
for 0.05 s, as it is estimated. Where it takes longer, that call waits, for 0.08 s at most; then one
looks again after as many calls as until then. So the same run of a script gives the same bits,
unless compiling takes much longer than such programs do. Of the programs that make up one call, one
turns at a call, so that no call waits for two.

Machine code has no results where something unusual has come up (a floating-point error, a NaN among
derivatives, arguments of other types). NumPy then runs the program from the start; where a
derivative is NaN, once more with hard zeros.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, cast
from weakref import WeakValueDictionary

from numpy import errstate, vdot

from adjoint.base.errors import TapeOverflowError
from adjoint.base.process.forking import hold_over_forks
from adjoint.base.settings import Settings, settings
from adjoint.executors.attempt import Attempt
from adjoint.executors.compilation import Compilation
from adjoint.executors.effort import LOADING, compiling_seconds
from adjoint.executors.hard_zeros import HardZeros
from adjoint.executors.interface import Executable, Executor, GuardedExecutable, Needs
from adjoint.executors.native.executor import NativeExecutor
from adjoint.executors.numpy import NumpyExecutable, NumpyExecutor
from adjoint.executors.turns import Turn
from adjoint.executors.xla.device_array import DeviceArray, to_host
from adjoint.optimise import is_tape_length, lengthened
from adjoint.program import Program

_LONGEST_WAIT: Final = 0.08  # seconds that a call waits at most for what nobody asked for
_starting = threading.RLock()  # a signal handler may come by within
hold_over_forks(_starting)
_NUMPY: Final = NumpyExecutor()
_NATIVE: Final = NativeExecutor()
_Key = tuple[Executor, Needs]
_Compiled = tuple[Executable | None, Attempt | None]
_NOTHING: Final = (None, None)
_compiled_before: Final = threading.Event()


def _expected_seconds(program: Program, hard: bool) -> float:
    """How long compiling takes, about, with all that has to be loaded for it.

    hard: whether it is compiled with hard zeros, whose masks are as much again.
    """
    seconds = compiling_seconds(program) * (2 if hard else 1)
    return seconds + (0 if _compiled_before.is_set() else LOADING)


# What is being compiled, of whichever programs: of two that are equal, it is done once.
_under_way: Final[WeakValueDictionary[tuple[_Key, Program], Compilation]] = WeakValueDictionary()


def _begin(key: _Key, program: Program) -> Compilation:
    """What compiles a program from now on, or does so already for another like it."""
    compilation = _under_way.get((key, program))
    if compilation is None or compilation.is_lost:
        compilation = _under_way[key, program] = Compilation(key[0], program, key[1])
    return compilation


class _Way(NamedTuple):
    """How a program is run under some settings.

    executable: what it is compiled to besides NumPy, if there is anything. attempt: the same, if it
    is guarded. waiting: whether there may be something later.
    """

    settings: Settings
    executable: Executable | None
    attempt: Attempt | None
    waiting: bool


class Tiered:
    """A program ready to run: on NumPy, and as machine code once it has come by often.

    watched: outputs, by number, that are derivatives: a NaN there may be a zero times an infinite
        partial derivative, and the program is then run again with hard zeros. hard: whether this is
        such a run. still: with it, whether infinities among the arguments do not move. data:
        whether the arguments are data, and none made by another program.
    """

    __slots__ = (
        "_compilations",
        "_compiled",
        "_fast",
        "_hard",
        "_turn",
        "_way",
        "data",
        "hard",
        "program",
        "still",
        "watched",
    )

    def __init__(
        self,
        program: Program,
        watched: tuple[int, ...],
        hard: bool = False,
        still: bool = False,
    ) -> None:
        self.program = program
        self.watched = watched
        self.hard = hard
        self.still = still
        self.data = False
        self._fast: NumpyExecutable | None = None
        self._hard: HardZeros | None = None
        self._turn: Turn | None = None  # known at the first run
        self._way: _Way | None = None
        # Machine code by what it depends on, on its way and there; None where there is none.
        self._compilations: dict[_Key, Compilation] = {}
        self._compiled: dict[_Key, _Compiled] = {}

    def __call__(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """Run it on concrete arguments."""
        results = self.run(arguments)
        return self.fall_back(arguments) if results is None else results

    def run(self, arguments: Sequence[Any]) -> tuple[Any, ...] | None:
        """The results, if there is machine code that takes the arguments as they are.

        They may be anything: traced ones, for which machine code has no results, too.
        """
        way = self._way
        if way is None or way.attempt is None or way.settings is not settings():
            return None
        try:
            results = way.attempt.run(*arguments)
        except TapeOverflowError:
            return None
        if results is not None and way.attempt.misses:
            way.attempt.misses -= 1
        return results

    def run_or_count(self, arguments: Sequence[Any]) -> tuple[Any, ...] | None:
        """As `run`; where there is no machine code yet, this counts as a run that wanted some."""
        results = self.run(arguments)
        if results is not None:
            return results
        way = self._choose(settings())
        if way.waiting:
            way = self._count_run(way)
        if way.attempt is None:
            return None
        results = way.attempt.run_conforming(arguments)
        if results is None and way.attempt.fails_often:
            self._give_up(way)
        return results

    def fall_back(self, arguments: Sequence[Any], counts: bool = True) -> tuple[Any, ...]:
        """The results for concrete arguments, after `run` had none.

        counts: whether this is a run that wants machine code, if nobody has asked for it at once.
        """
        while True:
            try:
                return self._fall_back(arguments, counts)
            except TapeOverflowError as error:
                if not is_tape_length(error.length):
                    raise
                self.lengthen(error.length)

    def lengthen(self, length: int) -> None:
        """Give loops whose tapes are of this length longer ones, from now on."""
        self.program = lengthened(self.program, length)
        self._fast = self._hard = None
        self._compilations, self._compiled = {}, {}
        self._way = None

    def _fall_back(self, arguments: Sequence[Any], counts: bool) -> tuple[Any, ...]:
        way = self._way
        chosen = settings()
        tried = way is not None and way.settings is chosen and way.attempt is not None
        if way is None or way.settings is not chosen:
            way = self._choose(chosen)
        at_once = bool(chosen.native) or self.is_at_once
        if way.waiting and (counts or at_once):
            way = self._count_run(way)
        if way.executable is None:
            return self._on_numpy(arguments)
        if way.attempt is None:
            results = way.executable.run(*arguments)
            return self._watched(cast("tuple[Any, ...]", results), arguments)
        results = None if tried else way.attempt.run(*arguments)
        return self._missed(way, way.attempt, arguments) if results is None else results

    # --- NumPy -----------------------------------------------------------------------------------

    def _on_numpy(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        if DeviceArray.exist:
            arguments = to_host(list(arguments))
        if self._hard is not None and settings().strong_zeros:
            results = self._hard.run(arguments)
            if results is not None:
                return results
        fast = self._fast
        if fast is None:
            fast = self._fast = _NUMPY.compile(
                self.program, Needs(hard=self.hard, still=self.still)
            )
        return self._watched(fast.run(*arguments), arguments)

    def _watched(self, results: tuple[Any, ...], arguments: Sequence[Any]) -> tuple[Any, ...]:
        """The results, or those with hard zeros where a derivative is NaN."""
        if self.hard:
            return results
        for number in self.watched:
            # NaN if any entry is; one pass without a temporary, and no warnings.
            total = vdot(results[number], results[number])
            if total != total and settings().strong_zeros:
                return self._with_hard_zeros(arguments)
        return results

    def _with_hard_zeros(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        with errstate(all="ignore"):  # the first run has warned
            return self._hardened()(arguments)

    def _hardened(self) -> HardZeros:
        if self._hard is None:
            self._hard = HardZeros(self.program, self.watched, self.data, Tiered)
            if self.is_at_once:
                self._hard.compile_at_once()
        return self._hard

    def source(self) -> str:
        """The source that the NumPy executor makes."""
        return _NUMPY.compile(self.program).report().source

    # --- machine code ----------------------------------------------------------------------------

    def compile_at_once(self) -> None:
        """Let the next run be of machine code, and wait for it, unless the settings forbid it."""
        if self._turn is None:
            self._turn = Turn(self.program)
        self._turn.at_once = True
        if self._way is not None and self._way.waiting:
            self._way = None

    @property
    def is_at_once(self) -> bool:
        """Whether somebody has asked for machine code at the next run, and waits for it."""
        return self._turn is not None and self._turn.at_once

    def attempt(self) -> Attempt | None:
        """The guarded code that it is run with under the settings in force, if there is any."""
        way = self._way
        return way.attempt if way is not None and way.settings is settings() else None

    def _key(self, chosen: Settings) -> _Key:
        """What machine code depends on. Without strong zeros, nothing is watched for NaN."""
        watched = self.watched if chosen.strong_zeros else ()
        needs = Needs(watched, self.hard, self.still, chosen.precise, chosen.threads)
        if self.hard and not getattr(chosen.executor, "knows_hard_zeros", chosen.executor is None):
            return _NUMPY, needs
        return chosen.executor or _NATIVE, needs

    def _choose(self, chosen: Settings) -> _Way:
        key = self._key(chosen)
        allowed = chosen.native is not False
        executable, attempt = self._compiled.get(key, _NOTHING) if allowed else _NOTHING
        way = _Way(chosen, executable, attempt, allowed and key not in self._compiled)
        self._way = way
        return way

    def _count_run(self, way: _Way) -> _Way:
        """The way for this run: machine code once there have been enough, and it is there."""
        turn = self._turn
        if turn is None:
            turn = self._turn = Turn(self.program)
        at_once = bool(way.settings.native) or turn.at_once
        if not (at_once or turn.comes()):
            return way
        key = self._key(way.settings)
        compilation, begun = self._compilation(key)
        if compilation is None:  # another thread has been faster
            return self._choose(way.settings)
        seconds = None if at_once else _LONGEST_WAIT
        if (begun and not at_once) or not compilation.wait(seconds):
            turn.put_off(_expected_seconds(self.program, self.hard))
            return way
        turn.is_over()
        _compiled_before.set()
        executable = compilation.executable(way.settings.debug)
        attempt = None
        if executable is not None and executable.guarded:
            guarded = cast("GuardedExecutable", executable)
            attempt = Attempt(self.program.input_types, guarded)
        with _starting:
            if self._compilations.get(key) is compilation:  # and the program has not changed
                del self._compilations[key]
                self._compiled[key] = executable, attempt
        return self._choose(way.settings)

    def _compilation(self, key: _Key) -> tuple[Compilation | None, bool]:
        """The compilation under way, and whether it begins here; None if it is over."""
        with _starting:
            if key in self._compiled:
                return None, False
            compilation = self._compilations.get(key)
            begins = compilation is None or compilation.is_lost
            if compilation is None or begins:
                compilation = self._compilations[key] = _begin(key, self.program)
            return compilation, begins

    def _missed(self, way: _Way, attempt: Attempt, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """The results where machine code had none."""
        results = attempt.run_conforming(arguments)
        if results is not None:
            return results
        if attempt.fails_often:
            self._give_up(way)
        return self._on_numpy(arguments)

    def _give_up(self, way: _Way) -> None:
        self._compiled[self._key(way.settings)] = _NOTHING
        self._way = None
        if self.watched and not self.hard:
            self._hardened()
