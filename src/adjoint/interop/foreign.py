"""Functions of another library within NumPy code, with the derivatives that it has for them.

A derivative is a linear map of the tangents, whose transpose is the library's own pullback; the
derivative of that map with respect to its point is again asked of the library. So every order and
every mode is there, and capture enters nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np

from adjoint.base import pytrees
from adjoint.base.arrays import ArrayType, array_type
from adjoint.base.errors import ArgumentTypeError, ShapeError
from adjoint.calculus.custom.arguments import Arguments, is_operand
from adjoint.calculus.custom.function import CustomFunction, Results
from adjoint.calculus.custom.rules import Signature
from adjoint.capture import Traced, is_known, traced_type
from adjoint.capture.recording.tracing.trace import note_effect
from adjoint.executors.attempt import PYTHON
from adjoint.primitives.calls.custom import (
    CUSTOM_LINEAR,
    CustomCall,
    CustomLinear,
    Marks,
    Pushed,
)
from adjoint.program import Builder, operation
from adjoint.transforms import tangent_type

Function = Callable[..., tuple[Any, ...]]


class Library(Protocol):
    """What is asked of the other library, whose functions take arrays of its own, in rows."""

    name: str
    keeps_state: bool  # whether a function may give something else for the same arrays later

    def compiled(self, function: Function) -> Function:
        """The function of NumPy's arrays and numbers, whose results are NumPy's."""

    def array(self, value: Any) -> Any:
        """An array of the library's, of what a function returned; TypeError if it is none."""

    def pushed(self, function: Function, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        """The tangents of the results."""

    def pulled(self, function: Function, primals: Sequence[Any], cotangents: Any) -> Any:
        """The cotangents of the primals, in the pairing Re sum conj(a) b."""

    def without_draws(self, name: str) -> AbstractContextManager[None]:
        """Refuse random numbers that a derivative draws: the value was computed with others."""

    def rows(self, function: Function, axes: tuple[int | None, ...]) -> Function:
        """The function over a batch of those arguments that have an axis."""

    def types(self, function: Function, types: Sequence[ArrayType]) -> list[ArrayType] | None:
        """The types of results, without values; None where that cannot be told."""


# --- functions of rows of arrays ------------------------------------------------------------------


class ForeignFunction:
    """A function of the library's at one signature.

    function: (*arrays) -> a tuple of arrays, all the library's.
    """

    def __init__(
        self,
        library: Library,
        name: str,
        function: Function,
        inputs: Sequence[ArrayType],
        outputs: Sequence[ArrayType],
    ) -> None:
        self.library = library
        self.name = name
        self.function = function
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self._compiled = library.compiled(function)
        self._derived: dict[Marks, CustomLinear] = {}
        self._batches: dict[Any, CustomCall] = {}

    def evaluate(self, *operands: Any) -> tuple[Any, ...]:
        """The results on NumPy's arrays."""
        results = self._compiled(*map(as_typed, operands, self.inputs))
        return tuple(map(self._fit, results, self.outputs))

    def _fit(self, result: Any, type_: ArrayType) -> Any:
        if result.shape != type_.shape:
            raise ShapeError(
                f"{self.name} returned an array of shape {result.shape}, and one of shape "
                f"{type_.shape} before, for arguments of the same types."
            )
        return result.astype(type_.dtype, copy=False)[()]

    def call(self) -> CustomCall:
        """What programs hold of it."""
        return CustomCall(
            self.name, self.inputs, self.outputs, self.evaluate, self.derive, self.batch
        )

    # --- derivatives -----------------------------------------------------------------------------

    def derive(self, moving: Marks) -> CustomLinear:
        """The derivative with respect to some operands, as a linear map of their tangents."""
        known = self._derived.get(moving)
        if known is None:
            linear = _ForeignLinear(self._pushed(moving), self._pulled(moving), len(self.inputs))
            known = self._derived.setdefault(moving, linear.map)
        return known

    def _at(self, operands: Sequence[Any], moving: Marks) -> tuple[Function, list[Any]]:
        """The results that vary as a function of the operands that move; and these."""
        places = [place for place, mark in enumerate(moving) if mark]

        def function(*primals: Any) -> tuple[Any, ...]:
            whole = list(operands)
            for place, x in zip(places, primals, strict=True):
                whole[place] = x
            results = zip(self.function(*whole), self.outputs, strict=True)
            return tuple(x for x, type_ in results if type_.inexact)

        return function, [operands[place] for place in places]

    def _tangents(self, moving: Marks) -> list[ArrayType]:
        pairs = zip(self.inputs, moving, strict=True)
        return [tangent_type(type_) for type_, mark in pairs if mark]

    @property
    def _slopes(self) -> list[ArrayType]:
        return [type_ for type_ in self.outputs if type_.inexact]

    def _pushed(self, moving: Marks) -> ForeignFunction:
        count, library = len(self.inputs), self.library

        def push(*arrays: Any) -> tuple[Any, ...]:
            function, primals = self._at(arrays[:count], moving)
            with library.without_draws(self.name):
                return tuple(library.pushed(function, primals, arrays[count:]))

        types = (*self.inputs, *self._tangents(moving))
        return ForeignFunction(library, self.name, push, types, self._slopes)

    def _pulled(self, moving: Marks) -> ForeignFunction:
        count, library = len(self.inputs), self.library

        def pull(*arrays: Any) -> tuple[Any, ...]:
            function, primals = self._at(arrays[:count], moving)
            with library.without_draws(self.name):
                return tuple(library.pulled(function, primals, arrays[count:]))

        types = (*self.inputs, *self._slopes)
        return ForeignFunction(library, self.name, pull, types, self._tangents(moving))

    # --- batches ---------------------------------------------------------------------------------

    def over(self, batched: Marks, size: int) -> ForeignFunction:
        """The function over a batch of the operands marked."""
        axes = tuple(0 if mark else None for mark in batched)
        inputs = [
            array_type((size, *type_.shape), type_.dtype) if mark else type_
            for type_, mark in zip(self.inputs, batched, strict=True)
        ]
        outputs = [array_type((size, *type_.shape), type_.dtype) for type_ in self.outputs]
        rows = self.library.rows(self.function, axes)
        return ForeignFunction(self.library, self.name, rows, inputs, outputs)

    def batch(self, batched: Marks, size: int) -> CustomCall:
        """The same, as programs hold it."""
        key = (batched, size)
        if key not in self._batches:
            self._batches[key] = self.over(batched, size).call()
        return self._batches[key]


class _ForeignLinear:
    """A linear map of the last operands, with its transpose.

    forward: (fixed operands, tangents) -> tangents; backward: (the same, cotangents) -> cotangents.
    """

    def __init__(self, forward: ForeignFunction, backward: ForeignFunction, fixed: int) -> None:
        self.forward, self.backward, self.fixed = forward, backward, fixed
        self.turned: _ForeignLinear | None = None
        self._batches: dict[Any, CustomLinear] = {}
        self._derived: dict[Marks, Pushed] = {}
        self.map = CustomLinear(
            forward.name,
            fixed,
            forward.inputs[fixed:],
            forward.outputs,
            True,
            forward.evaluate,
            self._transpose,
            self._derive,
            self._batch,
        )

    def _transpose(self) -> Pushed:
        if self.turned is None:
            self.turned = _ForeignLinear(self.backward, self.forward, self.fixed)
            self.turned.turned = self
        return _one_map(self.turned.map, self.backward.inputs)

    def _derive(self, moving: Marks) -> Pushed:
        if moving not in self._derived:
            pairs = zip(self.forward.inputs, moving, strict=True)
            tangents = [tangent_type(type_) for type_, mark in pairs if mark]
            whole = (*self.forward.inputs, *tangents)
            self._derived[moving] = _one_map(self.forward.derive(moving), whole)
        return self._derived[moving]

    def _batch(self, batched: Marks, size: int) -> CustomLinear:
        key = (batched, size)
        if key not in self._batches:
            forward, backward = (
                part.over((*batched, *(True for _ in part.inputs[self.fixed :])), size)
                for part in (self.forward, self.backward)
            )
            self._batches[key] = _ForeignLinear(forward, backward, self.fixed).map
        return self._batches[key]


def _one_map(function: CustomLinear, inputs: Sequence[ArrayType]) -> Pushed:
    """The program that applies one linear map."""
    builder = Builder()
    operands = [builder.input(type_) for type_ in inputs]
    outputs = builder.emit(operation(CUSTOM_LINEAR, function=function), operands)
    return Pushed(builder.build(outputs), (True,) * len(outputs))


def as_typed(operand: Any, type_: ArrayType) -> Any:
    """An array of a type; a number of Python's where it is weak, as NumPy code would have it."""
    array = np.asarray(operand, type_.dtype)
    return PYTHON[type_.dtype.kind](array[()]) if type_.weak else array


def _is_constant(operand: Any) -> bool:
    return type(operand) is not Traced or is_known(operand)


# --- what users call ------------------------------------------------------------------------------


class ForeignPrimitive(CustomFunction[..., Any]):
    """A function of another library, called with NumPy's arrays; its rules are the library's."""

    def __init__(self, function: Callable[..., Any], library: Library, result: Any) -> None:
        super().__init__(function, result)
        self._library = library
        self._foreign = function
        self._function = self._run
        self._known: dict[Any, tuple[Function, list[Any]]] = {}
        self._evaluated: dict[Any, ForeignFunction] = {}

    def __repr__(self) -> str:
        return f"<{self._library.name} function {self._name}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function; under capture, record the call."""
        if self._library.keeps_state and all(map(_is_constant, pytrees.flatten(args)[0])):
            note_effect(f"{self._name} is called with constants, and may give others next time")
        return super().__call__(*args, **kwargs)

    def _give(self, rule: Any, rules: Any) -> Any:
        raise ArgumentTypeError(
            f"{self._name} has the derivatives that {self._library.name} has for it. Declare a "
            "function with rules of your own by ad.primitive."
        )

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        arguments = Arguments(args, kwargs)
        operands = [leaf for leaf in pytrees.flatten(args)[0] if is_operand(leaf)]
        types = tuple(map(traced_type, operands))
        function, structure = self._flat(arguments)
        key = (function, types)
        foreign = self._evaluated.get(key)
        if foreign is None:
            foreign = ForeignFunction(self._library, self._name, function, types, ())
            self._evaluated[key] = foreign
        results = foreign._compiled(*map(as_typed, operands, types))
        return pytrees.unflatten(structure[0], [x[()] for x in results])

    def _flat(self, arguments: Arguments) -> tuple[Function, list[Any]]:
        """The function of a row of arrays, and where the structure of its result is noted."""
        key = (arguments.treedef, *self._static_key(arguments))
        known = self._known.get(key)
        if known is not None:
            return known
        structure: list[Any] = [None]

        def flat(*operands: Any) -> tuple[Any, ...]:
            returned = self._foreign(*arguments.join(operands), **arguments.keywords)
            leaves, structure[0] = pytrees.flatten(returned)
            return tuple(self._array(leaf) for leaf in leaves)

        return self._known.setdefault(key, (flat, structure))

    def _array(self, leaf: Any) -> Any:
        try:
            return self._library.array(leaf)
        except (TypeError, ValueError, RuntimeError) as error:
            raise ArgumentTypeError(
                f"{self._name} returned a {type(leaf).__name__}, which is no array of "
                f"{self._library.name}: {error}"
            ) from error

    def _results(
        self, key: Any, arguments: Arguments, types: Sequence[ArrayType], operands: Sequence[Any]
    ) -> tuple[Results, list[Any] | None]:
        if self._result is None:
            function, structure = self._flat(arguments)
            result_types = self._library.types(function, types)
            if result_types is not None:
                return (tuple(result_types), structure[0]), None
        return super()._results(key, arguments, types, operands)

    def _signature(
        self, arguments: Arguments, operands: Sequence[Any], values: list[Any], called: Any
    ) -> Signature:
        signature = super()._signature(arguments, operands, values, called)
        if signature.call.derive == signature.derive:  # it is new
            function = self._flat(arguments)[0]
            foreign = ForeignFunction(
                self._library, self._name, function, signature.types, signature.results
            )
            signature.call = CustomCall(
                self._name,
                signature.types,
                signature.results,
                signature.evaluate,
                foreign.derive,
                foreign.batch,
            )
        return signature
