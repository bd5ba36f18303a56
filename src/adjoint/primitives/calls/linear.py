"""Calls of functions that capture does not enter: linear ones, given with their transpose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, array_type, type_of
from adjoint.base.errors import MissingRuleError, ShapeError
from adjoint.primitives.declaration import ITSELF, Joint, Primitive
from adjoint.primitives.expression import bind
from adjoint.primitives.samples import draw, sample
from adjoint.primitives.structure.moving import with_batch, zeros


class LinearFunction:
    """A linear function of arrays with its transpose, neither of which capture enters.

    forward: arrays of `inputs` types -> a tuple of arrays of `outputs` types; transpose the other
        way, or None. Over complex numbers the transpose is that of the pairing Re sum conj(a) b, so
        of a complex matrix it is the conjugate transpose.
    """

    __slots__ = ("__name__", "forward", "inputs", "outputs", "transpose")

    def __init__(
        self,
        forward: Callable[..., tuple[Any, ...]],
        transpose: Callable[..., tuple[Any, ...]] | None,
        inputs: Sequence[ArrayType],
        outputs: Sequence[ArrayType],
        name: str,
    ) -> None:
        self.forward = forward
        self.transpose = transpose
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.__name__ = name

    def call(self, transposed: bool, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """Apply it, or its transpose, and check what comes back."""
        function = self.transpose if transposed else self.forward
        if function is None:
            raise MissingRuleError(
                f"The linear function {self.__name__!r} was given without its transpose, which "
                "reverse mode needs."
            )
        expected = self.inputs if transposed else self.outputs
        # Copies: what runs after it may write over the memory of its operands.
        results = tuple(
            np.array(result, type_.dtype)
            for result, type_ in zip(function(*arrays), expected, strict=True)
        )
        for result, type_ in zip(results, expected, strict=True):
            if result.shape != type_.shape:
                raise ShapeError(
                    f"The linear function {self.__name__!r} returned an array of shape "
                    f"{result.shape}, and {type_.shape} was expected."
                )
        return results


def _linear_types(*types: ArrayType, function: LinearFunction, transposed: bool) -> Any:
    return function.inputs if transposed else function.outputs


def _linear_transpose(
    cotangents: Any, operands: Any, function: LinearFunction, transposed: bool
) -> Any:
    builder = next(cotangent.builder for cotangent in cotangents if cotangent is not None)
    types = function.inputs if transposed else function.outputs
    whole = [
        cotangent if cotangent is not None else zeros(builder, type_)
        for cotangent, type_ in zip(cotangents, types, strict=True)
    ]
    return bind(LINEAR_CALL, *whole, function=function, transposed=not transposed)


def _linear_batch(
    operands: Any, batched: Any, size: int, function: LinearFunction, transposed: bool
) -> Any:
    whole = [with_batch(x, mark, size) for x, mark in zip(operands, batched, strict=True)]
    return bind(LINEAR_CALL, *whole, function=_mapped(function, size), transposed=transposed)


def _mapped(function: LinearFunction, size: int) -> LinearFunction:
    """The function applied to every example of a batch."""

    def over(transposed: bool) -> Callable[..., tuple[Any, ...]]:
        def by_example(*arrays: Any) -> tuple[Any, ...]:
            rows = [function.call(transposed, row) for row in zip(*arrays, strict=True)]
            return tuple(np.stack(column) for column in zip(*rows, strict=True))

        return by_example

    def batched(types: Sequence[ArrayType]) -> list[ArrayType]:
        return [array_type((size, *type_.shape), type_.dtype) for type_ in types]

    back = None if function.transpose is None else over(True)
    return LinearFunction(
        over(False), back, batched(function.inputs), batched(function.outputs), function.__name__
    )


def _matrix_sample() -> LinearFunction:
    matrix = np.array([[1.0, 2.0, 0.5], [0.0, -1.0, 3.0]])
    type_in, type_out = type_of(np.zeros(3)), type_of(np.zeros(2))
    return LinearFunction(
        lambda x: (matrix @ x,), lambda y: (matrix.T @ y,), [type_in], [type_out], "matrix"
    )


LINEAR_CALL = Primitive(
    "linear_call",
    infer=_linear_types,
    evaluate=lambda *arrays, function, transposed: function.call(transposed, arrays),
    linear=Joint(),
    derivative=ITSELF,
    transpose=_linear_transpose,
    batch=_linear_batch,
    samples=(
        sample(draw(3), function=_matrix_sample(), transposed=False),
        sample(draw(2), function=_matrix_sample(), transposed=True),
    ),
    multiple=True,
    opaque=True,
)
