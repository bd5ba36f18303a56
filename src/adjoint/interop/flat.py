"""NumPy functions of a row of arrays, as bridges hand them on; so are their derivatives.

A bridge calls `run` with arrays and knows the types of results beforehand. The pullback of a
function is a function of its operands and of cotangents, written in NumPy: it is handed on by the
same bridge, and so is its own derivative, to any order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from math import prod
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from adjoint.base import pytrees
from adjoint.base.arrays import ArrayType, array_type, type_of
from adjoint.base.errors import (
    AdjointError,
    ArgumentTypeError,
    DTypeError,
    MissingRuleError,
    ShapeError,
    UnknownResultError,
    UnsupportedFunctionError,
    ValueNeededError,
)
from adjoint.calculus import jacobian, jit, jvp, vjp, vmap
from adjoint.capture.capture import capture
from adjoint.capture.clones.entering.users import is_users
from adjoint.capture.recording.effects.script import script_under_way

Arrays = Sequence[Any]
Call = Callable[[Callable[..., Any], Arrays], Any]


class FlatFunction:
    """A NumPy function of arrays, at one signature.

    function: the user's, or one of ours. call: (function, arrays) -> a tuple of arrays. inputs,
    outputs: types. name: for errors. bilinear: whether cotangents are those of the pairing
    sum(a b), as JAX has them, and not of Re sum(conj(a) b): these differ for complex numbers only.

    Capture enters, and looks for facts in, what stands under the name `function` in a closure of
    ours, and nothing that lies deeper. So the function is handed on beside what calls it.
    """

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        call: Call,
        inputs: Sequence[ArrayType],
        outputs: Sequence[ArrayType],
        bilinear: bool,
    ) -> None:
        self.name = name
        self.function = function
        self.call = call
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.bilinear = bilinear
        self._in_rows = True

    # --- runs ------------------------------------------------------------------------------------

    def run(self, *arrays: Any) -> tuple[Any, ...]:
        """The results as arrays of the types that are known."""
        results = self.call(self.function, [_plain(x) for x in arrays])
        return tuple(self._fit(x, type_) for x, type_ in zip(results, self.outputs, strict=True))

    def _fit(self, result: Any, type_: ArrayType, lead: tuple[int, ...] = ()) -> Any:
        array = np.asarray(result)
        if array.shape != (*lead, *type_.shape):
            raise ShapeError(
                f"{self.name} returned an array of shape {array.shape}, and one of shape "
                f"{type_.shape} was expected from its `result`, or from an earlier call. The shape "
                "of a result must depend on those of the arguments alone."
            )
        if not np.can_cast(array.dtype, type_.dtype, "same_kind"):
            raise DTypeError(
                f"{self.name} returned an array of dtype {array.dtype}; expected {type_.dtype}."
            )
        return array.astype(type_.dtype)  # a copy: whoever takes it may keep it

    def run_rows(self, *arrays: Any) -> tuple[Any, ...]:
        """The same over axes of a batch in front of arrays, which are of length 1 if all share."""
        leads = [x.shape[: x.ndim - t.ndim] for x, t in zip(arrays, self.inputs, strict=True)]
        lead = np.broadcast_shapes(*leads)
        if not lead:
            return self.run(*arrays)
        count = prod(lead)
        # Nested batches are one, of the rows that each operand has for it.
        whole = [
            (x.reshape(t.shape), False)
            if set(own) <= {1}
            else (np.broadcast_to(x, (*lead, *t.shape)).reshape(count, *t.shape), True)
            for x, t, own in zip(arrays, self.inputs, leads, strict=True)
        ]
        columns = self._columns(whole, count)
        return tuple(x.reshape(*lead, *t.shape) for x, t in zip(columns, self.outputs, strict=True))

    def _columns(self, whole: list[tuple[Any, bool]], count: int) -> list[Any]:
        """All results over a batch: by one program, or row by row where values are asked for."""
        if self._in_rows and count > 1 and any(mark for _, mark in whole):
            axes = tuple(0 if mark else None for _, mark in whole)
            try:
                results = vmap(in_row(self.function, self.call), axes)(*(x for x, _ in whole))
                return [
                    self._fit(x, t, (count,)) for x, t in zip(results, self.outputs, strict=True)
                ]
            except (ValueNeededError, MissingRuleError):
                self._in_rows = False
        if not count:
            return [np.zeros((0, *t.shape), t.dtype) for t in self.outputs]
        rows = [self.run(*(x[n] if mark else x for x, mark in whole)) for n in range(count)]
        return [np.stack(column) for column in zip(*rows, strict=True)]

    # --- derivatives -----------------------------------------------------------------------------

    @cached_property
    def moving(self) -> tuple[int, ...]:
        """The operands, by number, that derivatives are with respect to."""
        return tuple(place for place, type_ in enumerate(self.inputs) if type_.inexact)

    @cached_property
    def varying(self) -> tuple[int, ...]:
        """The results, by number, that have derivatives."""
        return tuple(place for place, type_ in enumerate(self.outputs) if type_.inexact)

    @property
    def moving_types(self) -> list[ArrayType]:
        """The types of tangents."""
        return [self.inputs[place] for place in self.moving]

    @property
    def varying_types(self) -> list[ArrayType]:
        """The types of cotangents."""
        return [self.outputs[place] for place in self.varying]

    def _of_moving(
        self, function: Callable[..., Any], arrays: Arrays
    ) -> tuple[Callable[..., tuple[Any, ...]], list[Any]]:
        """The results that vary as a function of the operands that move; and these."""
        call, places, varying = self.call, self.moving, self.varying

        def results_that_vary(*moving: Any) -> tuple[Any, ...]:
            results = call(function, _replaced(arrays, places, moving))
            return tuple(results[place] for place in varying)

        return results_that_vary, [arrays[place] for place in places]

    @cached_property
    def pullback(self) -> FlatFunction:
        """(operands, cotangents of results that vary) -> cotangents of the operands that move."""
        function, count = self.function, len(self.inputs)

        def pull(*arrays: Any) -> tuple[Any, ...]:
            varying, primals = self._of_moving(function, arrays[:count])
            values, back = vjp(varying, *primals)
            self._refuse_draws()
            seeds = zip(self._turned(arrays[count:]), values, strict=True)
            return self._turned(back(tuple(_of_dtype(seed, value) for seed, value in seeds)))

        types = [*self.inputs, *self.varying_types]
        name = f"the pullback of {self.name}"
        return FlatFunction(name, jit(pull), apply_row, types, self.moving_types, self.bilinear)

    @cached_property
    def pushforward(self) -> FlatFunction:
        """(operands, tangents of those that move) -> tangents of the results that vary."""
        function, count = self.function, len(self.inputs)

        def push(*arrays: Any) -> tuple[Any, ...]:
            varying, primals = self._of_moving(function, arrays[:count])
            slopes: tuple[Any, ...] = jvp(varying, primals, list(arrays[count:]))[1]
            self._refuse_draws()
            return slopes

        types = [*self.inputs, *self.moving_types]
        name = f"the derivative of {self.name}"
        return FlatFunction(name, jit(push), apply_row, types, self.varying_types, self.bilinear)

    @cached_property
    def matrix(self) -> FlatFunction:
        """(operands) -> the Jacobian matrix, of all results in a row by all operands in a row."""
        inputs, outputs = self.moving_types, self.varying_types
        ends = np.cumsum([type_.size for type_ in inputs])
        function, call, places, varying = self.function, self.call, self.moving, self.varying

        def columns(*arrays: Any) -> tuple[Any, ...]:
            def of_row(row: Any) -> Any:
                parts = zip(np.split(row, ends[:-1]), inputs, strict=True)
                moving = [x.astype(t.dtype).reshape(t.shape) for x, t in parts]
                results = call(function, _replaced(arrays, places, moving))
                return np.concatenate([np.reshape(results[place], -1) for place in varying])

            row = np.concatenate([np.reshape(arrays[place], -1) for place in places])
            matrix = jacobian(of_row)(row)
            self._refuse_draws()
            return (matrix,)

        dtype = np.result_type(*(type_.dtype for type_ in (*inputs, *outputs)))
        type_ = array_type((sum(type_.size for type_ in outputs), int(ends[-1])), dtype)
        name = f"the Jacobian matrix of {self.name}"
        return FlatFunction(name, jit(columns), apply_row, self.inputs, [type_], self.bilinear)

    def _refuse_draws(self) -> None:
        """Refuse a derivative at other random numbers than those that the value was computed with.

        Where a capture is under way that writes down what is drawn, as of what is jitted.
        """
        script = script_under_way()
        if script is not None and script.before:
            raise UnsupportedFunctionError(
                f"{self.name} draws random numbers, and its derivative would be at others than "
                "its value. Draw them outside of it, and pass them as an argument."
            )

    def _turned(self, arrays: Arrays) -> tuple[Any, ...]:
        """Cotangents of the one pairing as those of the other."""
        if not self.bilinear:
            return tuple(arrays)
        return tuple(np.conj(x) if np.iscomplexobj(x) else x for x in arrays)


def _replaced(arrays: Arrays, places: Sequence[int], others: Arrays) -> list[Any]:
    """The arrays with others in these places."""
    whole = list(arrays)
    for place, x in zip(places, others, strict=True):
        whole[place] = x
    return whole


def apply_row(function: Callable[..., Any], arrays: Arrays) -> Any:
    """The call of a function whose arguments are the arrays."""
    return function(*arrays)


def entered(function: Callable[..., Any]) -> Callable[..., Any]:
    """What capture enters: of an object of the user's that is called, its method."""
    method = getattr(type(function), "__call__", None)  # noqa: B004  # the method itself
    if isinstance(method, FunctionType) and is_users(method):
        return MethodType(method, function)
    return function


def in_row(function: Callable[..., Any], call: Call) -> Callable[..., Any]:
    """The call as one function of the arrays, which capture enters."""

    def row(*arrays: Any) -> Any:
        return call(function, arrays)

    return row


def _plain(x: Any) -> Any:
    """An array; a NumPy scalar where there are no axes, as NumPy itself would have it."""
    return x if x.ndim else x[()]


def _of_dtype(seed: Any, value: Any) -> Any:
    """A cotangent in the dtype of the value, which NumPy may have in a higher precision."""
    dtype = value.dtype if hasattr(value, "dtype") else np.asarray(value).dtype
    return seed if seed.dtype == dtype else seed.astype(dtype)


# --- the types of results -------------------------------------------------------------------------


def results_on_types(
    name: str, function: Any, call: Call, types: Sequence[ArrayType]
) -> tuple[list[ArrayType], Any]:
    """The types and the structure of the results of a function, which runs on types alone.

    call: (function, arrays) -> what it returns.

    Raises:
        UnknownResultError: the function asks for a value.
    """
    try:
        captured = capture(
            function, call, types, {}, [type_.inexact for type_ in types], frozen=True
        )
    except ValueNeededError as error:
        raise UnknownResultError(
            f"{name} was called where only the types of its arguments are known, and asks for a "
            f"value ({error}) Declare its result: result=lambda x: x for a result like x, or "
            "return np.empty(shape, dtype) from that function."
        ) from error
    return captured.output_types, captured.treedef


def results_declared(
    name: str, result: Any, given: tuple[Any, ...], keywords: dict[str, Any]
) -> tuple[list[ArrayType], Any]:
    """The types and the structure of results that the user has declared."""
    tree = result(*given, **keywords) if callable(result) else result
    leaves, treedef = pytrees.flatten(tree)
    try:
        types = [x if isinstance(x, ArrayType) else type_of(x) for x in leaves]
    except (AdjointError, TypeError, ValueError) as error:
        raise ArgumentTypeError(
            f"The `result` of {name} must be an array, a tree of arrays, or a function of the "
            f"arguments that returns one: {error}"
        ) from error
    return types, treedef
