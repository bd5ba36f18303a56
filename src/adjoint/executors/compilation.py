"""Compiling beside the caller: LLVM runs while Python goes on.

The caller's thread is never the one that compiles. So a call can go on with NumPy meanwhile; an
exception that a signal handler raises in a caller who waits is the caller's, and what goes wrong
while compiling is a mistake of ours, which never stops what NumPy can do.
"""

from __future__ import annotations

import contextvars
import threading
import warnings
from contextlib import suppress
from typing import Any
from weakref import WeakSet

from adjoint.base.errors import ArgumentTypeError, NativeExecutorWarning, NativeUnavailableError
from adjoint.base.process.forking import hold_over_forks
from adjoint.executors.interface import Executable, Executor, Needs
from adjoint.program import Program

# LLVM does one thing at a time in a process, and a fork waits for the end of it. What is compiled
# may ask for something else to be compiled first, in the same thread.
_one_at_a_time = threading.RLock()
hold_over_forks(_one_at_a_time)
_compiler: int | None = None  # the thread that compiles, by its number
_warned: WeakSet[Any] = WeakSet()  # the executors of which a failure has been told


class _CompilingThread(threading.Thread):
    """A thread of ours, in which no code of the user's runs but an executor's own."""


def runs_beside_others() -> bool:
    """Whether the process has other threads than this one and those that compile."""
    here = threading.current_thread()
    return any(
        thread is not here and type(thread) is not _CompilingThread
        for thread in threading.enumerate()
    )


class Compilation:
    """A program that is being compiled in a thread of its own, from now on.

    Where there can be no such thread (the interpreter is going, or the system allows no more of
    them), or it would wait for the thread that has asked, whoever waits first compiles.
    """

    def __init__(self, executor: Executor, program: Program, needs: Needs) -> None:
        self._asked = (executor, program, needs)
        self._asker = threading.current_thread()
        self._executable: Executable | None = None
        self._error: BaseException | None = None
        self._done = threading.Event()
        self._thread: _CompilingThread | None = None
        if _compiler == threading.get_ident():
            return
        context = contextvars.copy_context()
        thread = _CompilingThread(
            target=context.run, args=(self._compile,), name="adjoint compiles"
        )
        with suppress(RuntimeError):
            thread.start()
            self._thread = thread

    def _compile(self) -> None:
        global _compiler
        executor, program, needs = self._asked
        with _one_at_a_time:
            if self._done.is_set():  # by another thread that has waited
                return
            outer, _compiler = _compiler, threading.get_ident()
            try:
                if self._is_awaited():
                    self._executable = _checked(executor, executor.compile(program, needs))
            except BaseException as error:  # the executor's: `executable` says it
                beside = type(threading.current_thread()) is _CompilingThread
                if not beside and not isinstance(error, Exception):
                    raise  # of the caller's own thread: Ctrl-C, which the next attempt is not of
                self._error = error
            finally:
                _compiler = outer
            self._done.set()  # before a fork can come between

    def _is_awaited(self) -> bool:
        """Whether there is anybody left to ask for it: else the process is about to end."""
        return self._asker.is_alive() or any(
            thread.is_alive() and not thread.daemon
            for thread in threading.enumerate()
            if type(thread) is not _CompilingThread
        )

    def wait(self, seconds: float | None = None) -> bool:
        """Whether it is done, after at most so many seconds."""
        if self._thread is None:
            self._compile()
        return self._done.is_set() or self._done.wait(seconds)

    @property
    def is_lost(self) -> bool:
        """Whether its thread has gone without a result, as in a child of a fork."""
        thread = self._thread
        return thread is not None and not thread.is_alive() and not self._done.is_set()

    def executable(self, debug: bool) -> Executable | None:
        """What came of it; None where that is no better than NumPy, or has failed.

        Then there is one warning of an executor in a process, or in debug mode the error itself.
        """
        error = self._error
        if error is None:
            executable = self._executable
            return executable if executable is not None and executable.pays else None
        if debug and not isinstance(error, NativeUnavailableError):
            raise error
        executor = self._asked[0]
        if executor not in _warned:
            with suppress(TypeError):  # one that takes no weak references is told of each time
                _warned.add(executor)
            _warn(error)
        return None


def _checked(executor: Executor, executable: Any) -> Executable | None:
    """What an executor returned.

    Raises:
        ArgumentTypeError: it is no executable.
    """
    if executable is None:
        return None
    wanted = ["guarded", "pays"]
    if getattr(executable, "pays", False):
        wanted += ["run", "bind"] if getattr(executable, "guarded", False) else ["run"]
    for name in wanted:
        if not hasattr(executable, name):
            raise ArgumentTypeError(
                f"compile of {type(executor).__name__} returned {executable!r}, which has no "
                f"{name!r}; adjoint.executors.Executable says what it is to have."
            )
    result: Executable | None = executable
    return result


def _warn(error: BaseException) -> None:
    cause = str(error)
    if not isinstance(error, NativeUnavailableError):
        cause = f"{type(error).__name__}: {error}"
    warnings.warn(
        "No machine code could be made, and programs run on NumPy instead: "
        f"{cause.rstrip(': .')}. `with ad.config(native=False)` does so without an attempt, "
        "and without this warning.",
        NativeExecutorWarning,
        stacklevel=2,
    )
