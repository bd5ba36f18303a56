"""When programs turn to machine code: by a clock that is the same at each run of a script.

Programs are compiled one after the other, beside the caller. The clock says how far that has come,
as is estimated: it goes on with each run on NumPy, by the time that such a run takes.
Programs that make up one call (forward, backward, questions) are compiled in the order in which
they were hot, and turn at different calls: no call waits for two of them.
"""

from __future__ import annotations

import weakref
from math import inf
from typing import Final

from adjoint.executors.effort import runs_on_numpy, seconds_of_run
from adjoint.program import Program

_WAIT: Final = 0.05  # seconds that a call may be expected to wait for what nobody asked for
# How much slower compiling is beside a caller who keeps the interpreter busy.
_BESIDE: Final = 2


class _Clock:
    """What all programs of the process go by.

    compiled: seconds of compiling that have passed. runs: how many were counted.
    last: the one of them at which a program had its turn last. pending: turns to come.
    """

    def __init__(self) -> None:
        self.compiled = 0.0
        self.runs = 0
        self.last = 0
        self.pending: tuple[weakref.ref[Turn], ...] = ()


_clock: Final = _Clock()


class Turn:
    """When a program is to be compiled, and when it turns to machine code.

    at_once: whether it does so at its next run, and waits for it.
    """

    __slots__ = (
        "__weakref__",
        "_before",
        "_count",
        "_fewest",
        "_finish",
        "_latest",
        "_program",
        "_seconds",
        "at_once",
    )

    def __init__(self, program: Program) -> None:
        self.at_once = False
        self._program: Program | None = program  # until its work is estimated, which takes a while
        self._count = 0  # of its runs
        self._fewest = 0  # of them, before it comes
        self._seconds = 0.0  # of a run
        self._finish = -inf  # by the clock, when it is compiled
        self._before = self._latest = 0  # the last two runs of it

    def comes(self) -> bool:
        """Whether it has come at this run; if not, NumPy does it.

        It has not where another program had its turn since the last run of this one, that is in
        the same round of the user's loop.
        """
        program = self._program  # looked at once: another thread may be here as well
        if program is not None:
            self._fewest, self._seconds = runs_on_numpy(program), seconds_of_run(program)
            self._program = None
        clock = _clock
        clock.runs += 1
        clock.compiled += self._seconds / _BESIDE
        self._before, self._latest = self._latest, clock.runs
        self._count += 1
        if self._count <= self._fewest:
            return False
        if clock.compiled < self._finish - _WAIT or clock.last > self._before:
            return False
        if self._finish > -inf:
            clock.last = clock.runs
        return True

    def put_off(self, seconds: float) -> None:
        """Let it come after as many runs as until now, and when so long a compilation is over.

        It begins after those of the programs that were run since the last run of this one.
        """
        turns = [(ref, turn) for ref in _clock.pending if (turn := ref()) is not None]
        before = [turn._finish for _, turn in turns if turn._latest > self._before]
        self._finish = max(_clock.compiled, *before, self._finish) + seconds
        self._fewest = 2 * (self._count - 1)
        others = [ref for ref, turn in turns if turn is not self]
        _clock.pending = (*others, weakref.ref(self))

    def is_over(self) -> None:
        """Note that its compilation is, and so are those before it."""
        clock = _clock
        clock.compiled = max(clock.compiled, self._finish)
        clock.pending = tuple([ref for ref in clock.pending if ref() is not self])
