"""Jacobians: the derivative in the standard bases (E.1.36), by columns or by rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

import numpy as np

from adjoint.base import pytrees
from adjoint.base.arrays import ArrayType
from adjoint.base.errors import ArgumentTypeError, NotDifferentiableError
from adjoint.calculus.arguments import Argnums, Chosen, check_callable
from adjoint.calculus.derivative import Linearisation
from adjoint.calculus.leaves import refuse_covector_results


class Mode(Enum):
    """In which direction a Jacobian is accumulated.

    FORWARD: one JVP for each number in the arguments. REVERSE: one VJP for each number in the
        result. AUTO: whichever are fewer.

    Example:
        >>> import adjoint as ad
        >>> ad.Mode.AUTO.value
        'auto'
    """

    AUTO = "auto"
    FORWARD = "forward"
    REVERSE = "reverse"


def jacobian(
    function: Callable[..., Any],
    argnums: Argnums = 0,
    mode: Mode = Mode.AUTO,
    has_aux: bool = False,
) -> Callable[..., Any]:
    """The Jacobian of a function, as arrays of shape `result.shape + argument.shape`.

    All columns (or rows) are computed in one vectorised run of the linear map; the function itself
    runs once.

    Args:
        function: plain NumPy code on real arrays; arguments and result may be pytrees.
        argnums: with respect to which arguments.
        mode: see `Mode`.
        has_aux: whether the function returns a pair `(value, auxiliary)`.

    Returns:
        A function that returns, in the structure of the result, trees in the structure of the
        arguments.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> ad.jacobian(lambda x: x**2)(np.array([1.0, 2.0]))
        array([[2., 0.],
               [0., 4.]])
    """
    check_callable(function, "jacobian")
    if not isinstance(mode, Mode):
        raise ArgumentTypeError(f"mode must be ad.Mode.AUTO, FORWARD or REVERSE, got {mode!r}.")

    def jacobian_of(*args: Any, **kwargs: Any) -> Any:
        chosen = Chosen(argnums, args, kwargs)
        state = Linearisation(function, chosen, has_aux)
        refuse_covector_results(state.output_tree, "jacobian")
        inputs, outputs = chosen.types, state.output_types[: state.output_count]
        for type_ in (*inputs, *outputs):
            if type_.dtype.kind != "f":
                raise NotDifferentiableError(
                    f"A Jacobian was asked of a function from {_listing(inputs)} to "
                    f"{_listing(outputs)}; it is defined here for real "
                    "floating-point arrays. For complex ones use ad.derivative(...).matrix(), "
                    "over the reals."
                )
        columns = sum(type_.size for type_ in inputs)
        rows = sum(type_.size for type_ in outputs)
        forward = mode is Mode.FORWARD or (mode is Mode.AUTO and columns <= rows)
        blocks = _forward(state, inputs) if forward else _reverse(state, outputs, inputs)
        result = pytrees.unflatten(state.output_tree, [chosen.unflatten(row) for row in blocks])
        return (result, state.aux) if has_aux else result

    return jacobian_of


def _listing(types: Sequence[ArrayType]) -> str:
    return ", ".join(map(str, types))


def standard_basis(types: Sequence[ArrayType]) -> list[Any]:
    """The standard basis of a product of array spaces (E.1.22).

    For each factor, an array of all its parts, one a row.
    """
    total = sum(type_.size for type_ in types)
    basis, start = [], 0
    for type_ in types:
        block = np.zeros((total, type_.size), type_.dtype)
        block[np.arange(start, start + type_.size), np.arange(type_.size)] = 1
        basis.append(block.reshape((total, *type_.shape)))
        start += type_.size
    return basis


def _forward(state: Linearisation, inputs: Sequence[ArrayType]) -> list[list[Any]]:
    """Columns: for each output leaf, its derivative with respect to each input leaf."""
    total = sum(type_.size for type_ in inputs)
    columns = state.fill(state.push(standard_basis(inputs), total), total)
    blocks = []
    for column in columns:
        row, start = [], 0
        for type_ in inputs:
            part = np.moveaxis(column[start : start + type_.size], 0, -1)
            row.append(part.reshape((*column.shape[1:], *type_.shape))[()])
            start += type_.size
        blocks.append(row)
    return blocks


def _reverse(
    state: Linearisation, outputs: Sequence[ArrayType], inputs: Sequence[ArrayType]
) -> list[list[Any]]:
    """Rows: the same blocks, from one pullback for each number in the result."""
    total = sum(type_.size for type_ in outputs)
    rows = state.pull(standard_basis(outputs), total)
    blocks, start = [], 0
    for type_ in outputs:
        stop = start + type_.size
        blocks.append(
            [
                row[start:stop].reshape((*type_.shape, *each.shape))[()]
                for row, each in zip(rows, inputs, strict=True)
            ]
        )
        start = stop
    return blocks
