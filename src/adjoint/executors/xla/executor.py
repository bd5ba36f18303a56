"""Compiles a program by XLA, for a device."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, Final

import numpy as np

from adjoint.base.arrays import ArrayType
from adjoint.base.errors import ProgramError
from adjoint.base.settings import settings
from adjoint.executors.attempt import PYTHON
from adjoint.executors.interface import PLAIN, CompileReport, GuardedExecutable, Needs
from adjoint.executors.numpy import NumpyExecutor
from adjoint.executors.xla.backend import Forked, device_of, in_double_precision, jax
from adjoint.executors.xla.device_array import DeviceArray
from adjoint.executors.xla.lowering import XlaLowering, is_known
from adjoint.optimise import bare
from adjoint.optimise.simplify import eliminate_dead_code
from adjoint.program import Program
from adjoint.transforms.hard_zeros.hardness import hardened

_LARGE: Final = 1 << 16  # bytes from which a result is not copied
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


class LoweredProgram:
    """A program in XLA's own language, for a device.

    left: the equations that go through the host.
    """

    def __init__(self, program: Program, needs: Needs, device: Any) -> None:
        self.inputs = program.input_types
        self.device = device
        lowering = XlaLowering(needs.watched)
        with in_double_precision():
            module = jax()
            place = module.sharding.SingleDeviceSharding(device)
            given = [
                module.ShapeDtypeStruct(type_.shape, type_.dtype, sharding=place)
                for type_ in self.inputs
            ]
            self.jitted = module.jit(partial(lowering.whole, program))
            self.lowered = self.jitted.lower(*given)
        self.left = tuple(lowering.left.values())


class XlaExecutable:
    """A program compiled by XLA.

    It has no results where NumPy would have raised an error or warned: where an operation has found
    a fault (a singular matrix, an index beyond its axis), and where a result is infinite or NaN
    although no argument is.
    """

    __slots__ = ("_compiled", "_device", "_inputs", "_jitted", "_left")

    guarded: Final = True
    pays: Final = True

    def __init__(self, lowered: LoweredProgram) -> None:
        self._inputs, self._device = lowered.inputs, lowered.device
        self._left, self._jitted = lowered.left, lowered.jitted
        with in_double_precision():
            self._compiled = lowered.lowered.compile()

    def run(self, *arguments: Any) -> tuple[Any, ...] | None:
        """The results; None where the arguments are of other types, or NumPy is to run it."""
        if len(arguments) != len(self._inputs) or Forked.here:
            return None
        given, stays = [], False
        for type_, argument in zip(self._inputs, arguments, strict=True):
            if not _is_of(type_, argument):
                return None
            if type(argument) is DeviceArray:
                stays = True
                given.append(argument.array)
            elif type(argument) is np.ndarray:
                given.append(argument)
            else:
                try:
                    given.append(np.asarray(argument, type_.dtype))
                except OverflowError:  # a whole number of Python's that no dtype holds
                    return None
        with in_double_precision():
            if stays:
                given = _together(given, self._device)
            # What is compiled for one device takes arrays of that alone.
            flags, *results = (self._jitted if stays else self._compiled)(*given)
            fault, infinite = np.asarray(flags).tolist()
        if fault or (infinite and all(map(_is_finite, arguments))):
            return None  # NumPy runs it, and warns or raises its error from the user's own line
        if stays:
            return tuple(x if not x.ndim else DeviceArray(x) for x in map(_scalar, results))
        return tuple(_owned(results, given))

    def bind(self, constants: Sequence[Any]) -> Callable[..., tuple[Any, ...] | None]:
        """`run` without its last inputs, which are these."""
        run, held = self.run, tuple(constants)
        return lambda *arguments: run(*arguments, *held)

    def report(self) -> CompileReport:
        """What became of it: what goes through the host is named."""
        return CompileReport(source=str(self._compiled.as_text()), left=self._left)

    def compiled_text(self, *arguments: Any) -> str:
        """What XLA makes of it for arguments that lie where these do, in its own language."""
        with in_double_precision():
            given = [x.array if type(x) is DeviceArray else np.asarray(x) for x in arguments]
            compiled = self._jitted.lower(*_together(given, self._device)).compile()
        return str(compiled.as_text())


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


def _together(given: list[Any], device: Any) -> list[Any]:
    """Arrays that lie on one device, or on all of those that any of them is divided among."""
    places = [getattr(x, "sharding", None) for x in given]
    divided = [place for place in places if place is not None and len(place.device_set) > 1]
    module = jax()
    if divided:
        spec = module.sharding.PartitionSpec()
        whole = module.sharding.NamedSharding(divided[0].mesh, spec)
    elif all(place is None or place.device_set == {device} for place in places):
        return given
    else:
        whole = device
    return [
        x if place is None or len(place.device_set) > 1 else module.device_put(x, whole)
        for x, place in zip(given, places, strict=True)
    ]


def _scalar(result: Any) -> Any:
    """NumPy's number of a result without axes; others as they are."""
    return result if result.ndim else np.asarray(result)[()]


def _is_of(type_: ArrayType, argument: Any) -> bool:
    kind = type(argument)
    if type_.weak:
        return kind is PYTHON[type_.dtype.kind]
    if not type_.ndim:
        return kind is type_.dtype.type
    if kind is not np.ndarray and kind is not DeviceArray:
        return False
    return bool(argument.dtype == type_.dtype and argument.shape == type_.shape)


def _is_finite(argument: Any) -> bool:
    numbers = np.asarray(argument)
    return numbers.dtype.kind not in "fc" or bool(np.isfinite(numbers).all())


def _owned(results: Sequence[Any], given: Sequence[Any]) -> list[Any]:
    """NumPy's arrays and scalars of results, each with memory that nothing else refers to."""
    taken: set[int] | None = None
    owned = []
    for result in results:
        place = _address(result)
        if place is None:
            owned.append(np.array(result) if result.ndim else np.asarray(result)[()])
            continue
        if taken is None:
            taken = {array.ctypes.data for array in given}
        if place in taken:
            owned.append(np.array(result))
            continue
        taken.add(place)
        memory = (ctypes.c_char * result.nbytes).from_address(place)
        memory.keeper = result  # the memory lives as long as this
        owned.append(np.frombuffer(memory, result.dtype).reshape(result.shape))
    return owned


def _address(result: Any) -> int | None:
    """Where a large result lies in the memory of the processor; None if it is to be copied."""
    if result.nbytes < _LARGE or next(iter(result.devices())).platform != "cpu":
        return None
    address: int = result.unsafe_buffer_pointer()
    return address
