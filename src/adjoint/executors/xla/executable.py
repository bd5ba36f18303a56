"""A program as XLA has compiled it, called with NumPy's arrays and with those on devices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np

from adjoint.base.arrays import ArrayType
from adjoint.base.errors import ArgumentError
from adjoint.executors.attempt import PYTHON
from adjoint.executors.interface import CompileReport, Needs
from adjoint.executors.xla.backend import Forked, in_double_precision, jax
from adjoint.executors.xla.device_array import DeviceArray
from adjoint.executors.xla.lowering import FAULT, XlaLowering
from adjoint.executors.xla.results import LARGE, are_surely_finite, is_finite, owned
from adjoint.program import Program


class LoweredProgram:
    """A program in XLA's own language, for a device.

    jitted: JAX's function that runs it anywhere, with a flag before the results. unflagged: whether
    the program is lowered without it, since its results lie in the memory of the processor, where
    NumPy looks at them in less time than XLA. may_fail: whether it then says before its results if
    it has found a fault. large: whether any result is given as it lies, without a copy. left: the
    equations that go through the host.
    """

    def __init__(self, program: Program, needs: Needs, device: Any) -> None:
        self.inputs = program.input_types
        self.watched = needs.watched
        self.device = device
        self.unflagged = device.platform == "cpu"
        lowering = XlaLowering(needs.watched)
        with in_double_precision():
            module = jax()
            self.place = module.sharding.SingleDeviceSharding(device)
            given = [
                module.ShapeDtypeStruct(type_.shape, type_.dtype, sharding=self.place)
                for type_ in self.inputs
            ]
            self.jitted = module.jit(partial(lowering.flagged, program))
            unflagged = module.jit(partial(lowering.unflagged, program))
            self.lowered = (unflagged if self.unflagged else self.jitted).lower(*given)
        self.may_fail = lowering.may_fail
        sizes = [type_.size * type_.dtype.itemsize for type_ in program.output_types]
        self.large = max(sizes, default=0) >= LARGE
        self.left = tuple(lowering.left.values())


class BoundConstants(NamedTuple):
    """The last inputs of a program, where they are the same at each run.

    values: as they were given. on_host, placed: as JAX takes them, and on the device.
    """

    values: tuple[Any, ...]
    on_host: Sequence[Any]
    placed: Sequence[Any]


_NOTHING: Final = BoundConstants((), (), ())


class XlaExecutable:
    """A program compiled by XLA.

    It has no results where NumPy would have raised an error or warned: where an operation has found
    a fault (a singular matrix, an index beyond its axis), and where a result is infinite or NaN
    although no argument is.
    """

    __slots__ = ("_compiled", "_device", "_inputs", "_lowered")

    guarded: Final = True
    pays: Final = True

    def __init__(self, lowered: LoweredProgram) -> None:
        self._device, self._lowered = lowered.device, lowered
        self._inputs = tuple(map(_Input.of, lowered.inputs))
        with in_double_precision():
            self._compiled = lowered.lowered.compile()

    def run(self, *arguments: Any) -> tuple[Any, ...] | None:
        """The results; None where the arguments are of other types, or NumPy is to run it."""
        return self._run(arguments, _NOTHING)

    def bind(self, constants: Sequence[Any]) -> Callable[..., tuple[Any, ...] | None]:
        """`run` without its last inputs, which are these: they are put on the device once."""
        given = _taken(self._inputs[len(self._inputs) - len(constants) :], constants)
        if given is None or Forked.here or not constants:
            held = tuple(constants)
            return lambda *arguments: self._run((*arguments, *held), _NOTHING)
        with in_double_precision():
            module = jax()
            placed = [module.device_put(x, self._device) for x in given]
        bound = BoundConstants(tuple(constants), given, placed)
        return lambda *arguments: self._run(arguments, bound)

    def _run(self, arguments: Sequence[Any], bound: BoundConstants) -> tuple[Any, ...] | None:
        inputs, lowered = self._inputs, self._lowered
        if Forked.here or len(arguments) + len(bound.values) != len(inputs):
            return None
        given = _taken(inputs, arguments)
        if given is None:
            return None
        stays = DeviceArray.exist and DeviceArray in map(type, arguments)
        if stays and not (lowered.unflagged and _all_lie(lowered.place, given)):
            return self._run_there(arguments, given, bound)
        with in_double_precision():
            # What is compiled for one device takes arrays of that alone.
            results = self._compiled(*given, *bound.placed)
        if not lowered.unflagged:
            flag, *results = results
            if self._is_refused(int(flag), arguments, bound):
                return None
            return owned(map(np.asarray, results), results, ())
        if lowered.may_fail:
            fault, *results = results
            if np.asarray(fault).item():
                return None
        views = [np.asarray(x) for x in results]  # which share their memory
        if not are_surely_finite(views) and self._is_refused_by_numpy(views, arguments, bound):
            return None
        if stays:
            return _on_device(results, views)
        if lowered.large:
            return owned(views, results, (given, bound.on_host, bound.placed))
        return tuple([x.copy() if x.ndim else x[()] for x in views])

    def _run_there(
        self, arguments: Sequence[Any], given: list[Any], bound: BoundConstants
    ) -> tuple[Any, ...] | None:
        """The results on the devices that arguments lie on, whichever those are."""
        with in_double_precision():
            if any(map(_is_divided, given)):
                given = _together([*given, *bound.on_host], self._device)
                flag, *results = self._lowered.jitted(*given)
            else:
                given = _together(given, self._device)
                flag, *results = self._lowered.jitted(*given, *bound.placed)
            if self._is_refused(int(flag), arguments, bound):
                return None
        return _on_device(results, results)

    def _is_refused(self, flag: int, arguments: Sequence[Any], bound: BoundConstants) -> bool:
        """Whether NumPy is to run it, by the flag that was computed with the results."""
        return bool(flag) and (flag == FAULT or _are_finite((*arguments, *bound.values)))

    def _is_refused_by_numpy(
        self, views: Sequence[Any], arguments: Sequence[Any], bound: BoundConstants
    ) -> bool:
        """The same, by the results."""
        if _are_finite(views):
            return False
        if any(np.isnan(views[n]).any() for n in self._lowered.watched):
            return True
        return _are_finite((*arguments, *bound.values))

    def report(self) -> CompileReport:
        """What became of it: what goes through the host is named."""
        return CompileReport(source=str(self._compiled.as_text()), left=self._lowered.left)

    def compiled_text(self, *arguments: Any) -> str:
        """What XLA makes of it for arguments that lie where these do, in its own language."""
        with in_double_precision():
            given = [x.array if type(x) is DeviceArray else np.asarray(x) for x in arguments]
            compiled = self._lowered.jitted.lower(*_together(given, self._device)).compile()
        return str(compiled.as_text())


class _Input(NamedTuple):
    """What an argument is to be, in the terms that are looked at in each call.

    kind: its type. converts: whether it is a number of Python's, of which JAX knows no dtype.
    """

    kind: type
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    converts: bool

    @classmethod
    def of(cls, type_: ArrayType) -> _Input:
        if type_.weak:
            return cls(PYTHON[type_.dtype.kind], type_.dtype, (), True)
        kind = np.ndarray if type_.ndim else type_.dtype.type
        return cls(kind, type_.dtype, type_.shape, False)


def _taken(inputs: Iterable[_Input], arguments: Iterable[Any]) -> list[Any] | None:
    """Arguments as JAX takes them; None where they are of other types."""
    given = []
    for (kind, dtype, shape, converts), argument in zip(inputs, arguments, strict=False):
        if type(argument) is not kind:
            if type(argument) is not DeviceArray or not shape:
                return None
            argument = argument.array
        if shape:
            if argument.dtype != dtype or argument.shape != shape:
                return None
        elif converts:
            try:
                argument = np.asarray(argument, dtype)
            except OverflowError:  # a whole number of Python's that no dtype holds
                return None
        given.append(argument)
    return given


def _all_lie(place: Any, given: Sequence[Any]) -> bool:
    """Whether all of JAX's arrays among these lie in one place."""
    return all(place == getattr(x, "sharding", place) for x in given)


def _is_divided(array: Any) -> bool:
    place = getattr(array, "sharding", None)
    return place is not None and len(place.device_set) > 1


def _together(given: list[Any], device: Any) -> list[Any]:
    """Arrays that lie on one device, or on all of those that any of them is divided among."""
    places = [getattr(x, "sharding", None) for x in given]
    divided = [place for place in places if place is not None and len(place.device_set) > 1]
    module = jax()
    if divided:
        if len({frozenset(place.device_set) for place in divided}) > 1:
            raise ArgumentError(
                "Arrays are divided among different devices: "
                f"{' and '.join(str(sorted(map(str, x.device_set))) for x in divided)}. Divide all "
                "of them among the same ones, by ad.device_put or ad.jit(f, shard=...)."
            )
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


def _on_device(results: Sequence[Any], views: Sequence[Any]) -> tuple[Any, ...]:
    """Results that stay where they are, but for NumPy's numbers of those without axes."""
    pairs = zip(results, views, strict=True)
    return tuple([DeviceArray(x) if x.shape else np.asarray(view)[()] for x, view in pairs])


def _are_finite(arrays: Iterable[Any]) -> bool:
    return all(map(is_finite, arrays))
