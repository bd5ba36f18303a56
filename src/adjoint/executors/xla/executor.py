"""Compiles a program by XLA, for a device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

import numpy as np

from adjoint.base.errors import ProgramError
from adjoint.base.settings import settings
from adjoint.executors.interface import PLAIN, GuardedExecutable, Needs
from adjoint.executors.numpy import NumpyExecutor
from adjoint.executors.xla.backend import device_of, jax
from adjoint.executors.xla.device_array import DeviceArray
from adjoint.executors.xla.executable import LoweredProgram, XlaExecutable
from adjoint.executors.xla.lowering import is_known
from adjoint.optimise import bare
from adjoint.optimise.simplify import eliminate_dead_code
from adjoint.program import Program
from adjoint.transforms.hard_zeros.hardness import hardened

_ROUNDING: Final = 1e7  # units in the last place that sums of many terms may differ by


class XlaExecutor:
    """Compiles programs by XLA; needs the extra `xla`, which is JAX.

    Args:
        device: where programs run: `cpu`, `gpu`, `tpu`, or with a number, as `gpu:1`. None for the
            first one that JAX has.

    Raises:
        XlaUnavailableError: JAX or the device is not there, or JAX is of a version that is wrong.
        ArgumentError: there is no such device.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> from adjoint.executors import XlaExecutor
        >>> with ad.config(executor=XlaExecutor("cpu"), native=True):  # doctest: +SKIP
        ...     ad.grad(lambda x: np.sum(x**2))(np.ones(2))
        array([2., 2.])
    """

    name = "xla"
    knows_hard_zeros = True

    def __init__(self, device: str | None = None) -> None:
        self.device = device_of(device)

    def __repr__(self) -> str:
        return f"XlaExecutor({self.device.platform}:{self.device.id})"

    def compile(self, program: Program, needs: Needs = PLAIN) -> GuardedExecutable | None:
        """The program as XLA has compiled it; None where it holds numbers that XLA has not.

        In debug mode its first results are compared with NumPy's.
        """
        if needs.hard:
            program = eliminate_dead_code(hardened(program, needs.still))
        else:
            program = bare(program)
        if not is_known(program):
            return None
        # A function on the host waits for its operands, and on a processor with few cores for ever:
        # their copies wait for the thread that it runs in. NumPy runs such a program there.
        lowered = LoweredProgram(program, needs, self.device)
        if lowered.left and self.device.platform == "cpu":
            return None
        executable = XlaExecutable(lowered)
        return CheckedExecutable(executable, program) if settings().debug else executable


@cache
def xla_executor(device: str | None) -> XlaExecutor:
    """The one executor for a device, so that what was compiled for it is found again."""
    return XlaExecutor(device)


class CheckedExecutable:
    """A program compiled by XLA whose first results are compared with NumPy's.

    Versions of JAX have computed wrong numbers.
    """

    guarded: Final = True
    pays: Final = True

    def __init__(self, executable: XlaExecutable, program: Program) -> None:
        self._executable = executable
        self._program: Program | None = program
        self.report = executable.report

    def run(self, *arguments: Any) -> tuple[Any, ...] | None:
        """The results of the program.

        Raises:
            ProgramError: they are not NumPy's, up to rounding.
        """
        results = self._executable.run(*arguments)
        program, self._program = self._program, None if results is not None else self._program
        if results is None or program is None:
            return results
        with np.errstate(all="ignore"):
            expected = NumpyExecutor().compile(program).run(*map(_on_host, arguments))
        for number, (x, y) in enumerate(zip(map(_on_host, results), expected, strict=True)):
            if not _alike(np.asarray(x), np.asarray(y)):
                raise ProgramError(
                    f"On XLA (jax {jax().__version__}), output {number} of a program is not what "
                    f"NumPy computes. Report it with this program:\n{program}"
                )
        return results

    def bind(self, constants: Sequence[Any]) -> Callable[..., tuple[Any, ...] | None]:
        """`run` without its last inputs, which are these."""
        run, held = self.run, tuple(constants)
        return lambda *arguments: run(*arguments, *held)


def _on_host(x: Any) -> Any:
    return np.asarray(x) if type(x) is DeviceArray else x


def _alike(x: Any, y: Any) -> bool:
    """Whether two arrays are the same up to rounding, relative to the largest entry."""
    if x.shape != y.shape or x.dtype != y.dtype:
        return False
    if x.dtype.kind not in "fc":
        return bool(np.array_equal(x, y))
    largest = np.max(np.abs(y[np.isfinite(y)]), initial=0)
    bound = _ROUNDING * float(np.finfo(x.dtype).eps)
    return bool(np.allclose(x, y, rtol=bound, atol=bound * largest, equal_nan=True))
