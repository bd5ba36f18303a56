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
from adjoint.executors.xla.backend import Forked, double_precision, in_double_precision, jax
from adjoint.executors.xla.device_array import DeviceArray
from adjoint.executors.xla.lowering import FAULT, XlaLowering
from adjoint.executors.xla.results import LARGE, given_back, given_back_if_finite, is_finite, owned
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

    __slots__ = ("_call", "_compiled", "_device", "_inputs", "_lowered")

    guarded: Final = True
    pays: Final = True

    def __init__(self, lowered: LoweredProgram) -> None:
        self._device, self._lowered = lowered.device, lowered
        self._inputs = tuple(map(_Input.of, lowered.inputs))
        with in_double_precision():
            self._compiled = lowered.lowered.compile()
        self._call = self._prepared(_NOTHING)

    def run(self, *arguments: Any) -> tuple[Any, ...] | None:
        """The results; None where the arguments are of other types, or NumPy is to run it."""
        return self._call(*arguments)

    def bind(self, constants: Sequence[Any]) -> Callable[..., tuple[Any, ...] | None]:
        """`run` without its last inputs, which are these: they are put on the device once."""
        if not constants:
            return self._call
        given = _taken(self._inputs[len(self._inputs) - len(constants) :], constants)
        if given is None or Forked.here:
            held = tuple(constants)
            return lambda *arguments: self._call(*arguments, *held)
        with in_double_precision():
            module = jax()
            placed = [module.device_put(x, self._device) for x in given]
        return self._prepared(BoundConstants(tuple(constants), given, placed))

    def _prepared(self, bound: BoundConstants) -> Callable[..., tuple[Any, ...] | None]:
        """What runs it, of which all is looked up now: a call of XLA takes a few microseconds."""
        if not self._lowered.unflagged:
            return lambda *arguments: self._run_flagged(arguments, bound)
        inputs = self._inputs[: len(self._inputs) - len(bound.values)]
        count, place, placed = len(inputs), self._lowered.place, bound.placed
        compiled, may_fail, large = self._compiled, self._lowered.may_fail, self._lowered.large
        switch, asarray = double_precision(), np.asarray

        def call(*arguments: Any) -> tuple[Any, ...] | None:
            if Forked.here or len(arguments) != count:
                return None
            given, stays = [], False
            for (kind, dtype, shape, converts), argument in zip(inputs, arguments, strict=True):
                if type(argument) is not kind:
                    if type(argument) is not DeviceArray or not shape:
                        return None
                    argument = argument.array
                    if argument.sharding != place:
                        return self._run_flagged(arguments, bound)
                    stays = True
                if shape:
                    if argument.dtype != dtype or argument.shape != shape:
                        return None
                elif converts:
                    try:
                        argument = asarray(argument, dtype)
                    except OverflowError:  # a whole number of Python's that no dtype holds
                        return None
                given.append(argument)
            with switch(True):
                results = compiled(*given, *placed)
            if may_fail:
                fault, *results = results
                if asarray(fault).item():
                    return None
            outputs = given_back_if_finite(results, stays)
            if outputs is None:
                if self._is_refused(results, arguments, bound):
                    return None
                outputs = given_back(results, stays)
            if large and not stays:
                outputs = owned(outputs, results, (given, bound.on_host, placed))
            return tuple(outputs)

        return call

    def _run_flagged(
        self, arguments: Sequence[Any], bound: BoundConstants
    ) -> tuple[Any, ...] | None:
        """The results on whichever devices; a flag among them says whether NumPy is to run it."""
        if Forked.here or len(arguments) + len(bound.values) != len(self._inputs):
            return None
        given = _taken(self._inputs, arguments)
        if given is None:
            return None
        stays = DeviceArray.exist and DeviceArray in map(type, arguments)
        with in_double_precision():
            if not stays:
                # What is compiled for one device takes arrays of that alone.
                flag, *results = self._compiled(*given, *bound.placed)
            elif any(map(_is_divided, given)):
                given = _together([*given, *bound.on_host], self._device)
                flag, *results = self._lowered.jitted(*given)
            else:
                given = _together(given, self._device)
                flag, *results = self._lowered.jitted(*given, *bound.placed)
            met = int(np.asarray(flag))
        if met == FAULT or (met and _are_finite((*arguments, *bound.values))):
            return None
        outputs = given_back(results, stays)
        return tuple(outputs if stays else owned(outputs, results, ()))

    def _is_refused(
        self, results: Sequence[Any], arguments: Sequence[Any], bound: BoundConstants
    ) -> bool:
        """Whether NumPy is to run it: a result is infinite or NaN, although no argument is."""
        if _are_finite(results):
            return False
        if any(np.isnan(np.asarray(results[n])).any() for n in self._lowered.watched):
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


def _are_finite(arrays: Iterable[Any]) -> bool:
    return all(map(is_finite, arrays))
