"""Contraction of several tensors by named indices, with variance and spaces checked."""

from __future__ import annotations

from string import ascii_letters
from typing import Any, NamedTuple

import numpy as np

from adjoint.base.errors import ArgumentError, ArgumentTypeError, SpaceMismatchError, VarianceError
from adjoint.base.signatures.checked import checked
from adjoint.spaces import Space
from adjoint.spaces.elements.values import describe
from adjoint.tensors.tensor import Tensor


class _Index(NamedTuple):
    """Where a name occurs: in which tensor, over which space, and with which variance."""

    tensor: int
    space: Space
    is_output: bool


@checked
def contract(pattern: str, *tensors: Tensor) -> Any:
    """Tensors multiplied, and every output index contracted with the input index of its name.

    Args:
        pattern: one `inputs -> outputs` for each tensor (Table T.1.2), names separated by spaces,
            joined by `;`. A name that occurs as an output and as an input is summed over; one that
            occurs once stays. After `=` may follow the pattern of the result; without it, indices
            stay in the order of their appearance.
        tensors: the tensors, without batch axes.

    Returns:
        A tensor, or a number where no index is left.

    Raises:
        VarianceError: a name occurs as two inputs, or as two outputs.
        SpaceMismatchError: the two indices of a name are over different spaces.
        ArgumentError, ArgumentTypeError: the pattern does not fit the tensors.

    Example:
        >>> import numpy as np
        >>> from adjoint.spaces import Euclidean
        >>> X = Euclidean(2)
        >>> A = Tensor(np.array([[1.0, 2.0], [3.0, 4.0]]), (X,), (X,))
        >>> contract("i -> j; j -> k", A, A).components
        array([[ 7., 10.],
               [15., 22.]])
        >>> float(contract("i -> i", A))
        5.0
    """
    if not isinstance(pattern, str):
        raise ArgumentTypeError(
            f"contract takes a pattern first. Got {describe(pattern)}. "
            "'i -> j; j -> k' composes two maps."
        )
    structure, _, result = pattern.partition("=")
    operands = [_names(part, pattern) for part in structure.split(";")]
    if len(operands) != len(tensors):
        raise ArgumentError(
            f"The pattern {pattern!r} is one of {len(operands)} tensors. Got {len(tensors)}. "
            "Separate the patterns of the tensors by semicolons."
        )
    places: dict[str, list[_Index]] = {}
    for number, (names, tensor) in enumerate(zip(operands, tensors, strict=True)):
        _record(names, number, tensor, places)
    for name, indices in places.items():
        _check_pair(name, indices)
    free = {name: indices[0] for name, indices in places.items() if len(indices) == 1}
    inputs, outputs = _result(result, free, pattern)
    letters = dict(zip(places, ascii_letters, strict=False))
    if len(places) > len(ascii_letters):
        raise ArgumentError(f"At most {len(ascii_letters)} indices can be named in one pattern.")
    terms = ["".join(letters[name] for name in (*above, *below)) for below, above in operands]
    wanted = "".join(letters[name] for name in (*outputs, *inputs))
    equation = f"{','.join(terms)}->{wanted}"
    components = np.einsum(equation, *(tensor.components for tensor in tensors))
    if not wanted:
        return components
    above, below = ([free[name].space for name in names] for names in (outputs, inputs))
    return Tensor(components, above, below)


def _names(part: str, pattern: str) -> tuple[list[str], list[str]]:
    """The names of the inputs and of the outputs in `i j -> k`."""
    inputs, arrow, outputs = part.partition("->")
    if not arrow or "->" in outputs:
        raise ArgumentError(
            f"A pattern is written inputs -> outputs, as in 'i j -> k'. Got {part.strip()!r} in "
            f"{pattern!r}. A vector is '-> i', a linear functional 'i ->'."
        )
    return inputs.split(), outputs.split()


def _record(
    names: tuple[list[str], list[str]], number: int, tensor: Any, places: dict[str, list[_Index]]
) -> None:
    if not isinstance(tensor, Tensor):
        raise ArgumentTypeError(
            f"contract takes tensors. Got {describe(tensor)}. "
            "ad.tensors.from_vector, from_covector and from_map make tensors."
        )
    inputs, outputs = names
    if tensor.batch or (len(inputs), len(outputs)) != tensor.type:
        raise ArgumentError(
            f"A pattern of type {(len(inputs), len(outputs))} without batch axes was given for "
            f"{tensor._summary()}, with {tensor.batch} batch axes. "
            f"Its pattern is one like {tensor.pattern!r}."
        )
    for name, space in zip(outputs, tensor.outputs, strict=True):
        places.setdefault(name, []).append(_Index(number, space, True))
    for name, space in zip(inputs, tensor.inputs, strict=True):
        places.setdefault(name, []).append(_Index(number, space, False))


def _check_pair(name: str, indices: list[_Index]) -> None:
    if len(indices) == 1:
        return
    if len(indices) > 2:
        raise ArgumentError(
            f"The index {name!r} occurs {len(indices)} times. It may occur once, or as one output "
            "and one input. Give the others names of their own."
        )
    one, other = indices
    if one.is_output == other.is_output:
        word = "outputs" if one.is_output else "inputs"
        change = "lowered()" if one.is_output else "raised()"
        raise VarianceError(
            f"The index {name!r} joins two {word} (of tensors {one.tensor} and {other.tensor}). "
            f"Only an output and an input contract without an inner product: {change} changes "
            "the variance of one of them by the inner product of its space."
        )
    if one.space != other.space:
        raise SpaceMismatchError(
            f"The index {name!r} joins an index over {one.space!r} with one over {other.space!r}. "
            "Only indices over one space, in one basis, contract."
        )


def _result(result: str, free: dict[str, _Index], pattern: str) -> tuple[list[str], list[str]]:
    """The names of the inputs and of the outputs of the result."""
    inputs = [name for name, index in free.items() if not index.is_output]
    outputs = [name for name, index in free.items() if index.is_output]
    if not result:
        return inputs, outputs
    wanted = _names(result, pattern)
    if (sorted(wanted[0]), sorted(wanted[1])) != (sorted(inputs), sorted(outputs)):
        raise ArgumentError(
            f"The result in {pattern!r} must have the inputs {sorted(inputs)} and the outputs "
            f"{sorted(outputs)}. Got {wanted[0]} and {wanted[1]}. "
            "It may only reorder the indices that are left."
        )
    return wanted
