"""The policy of executors: NumPy first, machine code for what comes often, NumPy where it fails.

A program is counted; once it is hot, it becomes machine code, which has no results where something
unusual has come up (a floating-point error, a NaN among derivatives, arguments of other types).
NumPy then runs the program from the start; where a derivative is NaN, once more with hard zeros.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from numpy import errstate, vdot

from adjoint.base.errors import NativeExecutorWarning, NativeUnavailableError, TapeOverflowError
from adjoint.base.forking import hold_over_forks
from adjoint.base.settings import Settings, settings
from adjoint.executors.effort import runs_on_numpy
from adjoint.executors.native.executor import NativeExecutable, NativeExecutor, Piece
from adjoint.executors.numpy import CarefulExecutable, NumpyExecutable, NumpyExecutor
from adjoint.optimise import is_tape_length, lengthened
from adjoint.program import Program

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


class Tiered:
    """A program ready to run: on NumPy, and as machine code once it has come by often.

    watched: outputs, by number, that are derivatives: a NaN there may be a zero times an infinite
        partial derivative, and the program is then run again with hard zeros. data: whether the
        arguments are data, and none made by another program.
    """

    __slots__ = (
        "_fast",
        "_hard",
        "_natives",
        "_runs_left",
        "_way",
        "data",
        "program",
        "watched",
    )

    def __init__(self, program: Program, watched: tuple[int, ...]) -> None:
        self.program = program
        self.watched = watched
        self.data = False
        self._fast: NumpyExecutable | None = None
        self._hard: CarefulExecutable | None = None
        self._runs_left = -1  # until it is hot; found out at the first run
        self._way: _Way | None = None
        # Machine code by the settings that change it; None where there is none to be had.
        self._natives: dict[_Key, NativeExecutable | None] = {}

    def __call__(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """Run it on concrete arguments."""
        results = self.run(arguments)
        return self.fall_back(arguments) if results is None else results

    def run(self, arguments: Sequence[Any]) -> tuple[Any, ...] | None:
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

    def fall_back(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """The results for concrete arguments, after `run` had none."""
        while True:
            try:
                return self._fall_back(arguments)
            except TapeOverflowError as error:
                if not is_tape_length(error.length):
                    raise
                self.lengthen(error.length)

    def lengthen(self, length: int) -> None:
        """Give loops whose tapes are of this length longer ones, from now on."""
        self.program = lengthened(self.program, length)
        self._fast = self._hard = None
        self._natives = {}
        self._way = None

    def _fall_back(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
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
                return self._with_hard_zeros(arguments)
        return results

    def _with_hard_zeros(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        if self._hard is None:
            self._hard = CarefulExecutable(self.program, self.watched, self.data)
        with errstate(all="ignore"):  # the first run has warned
            return self._hard(*arguments)

    def source(self) -> str:
        """The source that the NumPy executor makes."""
        return NumpyExecutor().compile(self.program, hard=False).source()

    # --- machine code ----------------------------------------------------------------------------

    def compile_at_once(self) -> None:
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
        results = piece.run_conforming(arguments)
        if results is not None:
            return results
        if piece.fails_often:
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
