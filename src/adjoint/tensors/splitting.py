"""Several indices as one index over a tensor product of spaces, and back (E.1.81, E.1.82)."""

from __future__ import annotations

from math import prod

import numpy as np

from adjoint.base.errors import ArgumentError
from adjoint.base.signatures.checked import checked
from adjoint.spaces import Dual, Space
from adjoint.tensors.products import TensorProduct
from adjoint.tensors.tensor import Tensor


@checked
def joined(tensor: Tensor) -> Tensor:
    """The linear map on the tensor product of the inputs that a multilinear map is (E.1.82).

    The inputs become one over `TensorProduct(*inputs)`, and so do the outputs. The components are
    the same numbers in another shape. `split` undoes it.

    Args:
        tensor: of any type; a batch stays one.

    Returns:
        A `Tensor` with one output and one input at most.

    Raises:
        ArgumentTypeError: what is given is no tensor.

    Example:
        >>> import numpy as np
        >>> from adjoint.spaces import Euclidean
        >>> X = Euclidean(2)
        >>> W = Tensor(np.array([[1.0, 2.0], [3.0, 4.0]]), inputs=(X, X))
        >>> joined(W).type, joined(W)(np.array([[0.0, 1.0], [0.0, 0.0]]))
        ((1, 0), np.float64(2.0))
    """
    outputs, inputs = _one(tensor.outputs), _one(tensor.inputs)
    return _reshaped(tensor, outputs, inputs)


@checked
def as_vector(tensor: Tensor) -> Tensor:
    """A tensor as a vector of the tensor product of its outputs and of the duals of its inputs.

    So a linear map X -> Y is a vector of Y (x) X'. `split` undoes it.

    Args:
        tensor: of two indices or more.

    Returns:
        A `Tensor` with one output, over a `TensorProduct`.

    Raises:
        ArgumentError: the tensor has fewer than two indices.
        ArgumentTypeError: what is given is no tensor.

    Example:
        >>> import numpy as np
        >>> from adjoint.spaces import Euclidean
        >>> A = Tensor(np.ones((3, 2)), outputs=(Euclidean(3),), inputs=(Euclidean(2),))
        >>> as_vector(A).outputs
        (TensorProduct(Euclidean((3,)), Dual(Euclidean((2,)))),)
    """
    factors = (*tensor.outputs, *(space.dual for space in tensor.inputs))
    if len(factors) < 2:
        raise ArgumentError(
            f"as_vector takes a tensor of two indices or more. Got {tensor._summary()}. "
            "raised() turns a covector into a vector by the inner product."
        )
    return _reshaped(tensor, (TensorProduct(*factors),), ())


@checked
def split(tensor: Tensor) -> Tensor:
    """Each index over a tensor product of spaces as one index for each factor (E.1.81).

    A factor that is a dual gives an index of the other variance. Indices over other spaces stay.

    Args:
        tensor: of any type; a batch stays one.

    Returns:
        A `Tensor` with the same numbers, with an axis for each factor.

    Raises:
        ArgumentTypeError: what is given is no tensor.

    Example:
        >>> import numpy as np
        >>> from adjoint.spaces import Euclidean
        >>> matrices = TensorProduct(Euclidean(2), Euclidean(3))
        >>> functional = Tensor(np.arange(6.0), inputs=(matrices,))
        >>> functional.type, split(functional).type
        ((1, 0), (2, 0))
    """
    above = [factor for space in tensor.outputs for factor in _factors(space)]
    below = [factor for space in tensor.inputs for factor in _factors(space)]
    shape = [factor.dimension for factor in (*above, *below)]
    components = np.reshape(tensor.components, (*tensor.components.shape[: tensor.batch], *shape))
    # An output over X' is an input over X, and an input over X' an output over X.
    sides = [not isinstance(factor, Dual) for factor in above]
    sides += [isinstance(factor, Dual) for factor in below]
    factors = [_primal(factor) for factor in (*above, *below)]
    outputs = [number for number, is_output in enumerate(sides) if is_output]
    inputs = [number for number, is_output in enumerate(sides) if not is_output]
    axes = [*range(tensor.batch), *(tensor.batch + number for number in (*outputs, *inputs))]
    return Tensor(
        np.transpose(components, axes),
        [factors[number] for number in outputs],
        [factors[number] for number in inputs],
        tensor.batch,
    )


def _one(spaces: tuple[Space, ...]) -> tuple[Space, ...]:
    return (TensorProduct(*spaces),) if len(spaces) > 1 else spaces


def _factors(space: Space) -> tuple[Space, ...]:
    return space.factors if isinstance(space, TensorProduct) else (space,)


def _primal(factor: Space) -> Space:
    return factor.primal if isinstance(factor, Dual) else factor


def _reshaped(tensor: Tensor, outputs: tuple[Space, ...], inputs: tuple[Space, ...]) -> Tensor:
    lengths = [prod(space.dimension for space in spaces) for spaces in (outputs, inputs) if spaces]
    shape = (*tensor.components.shape[: tensor.batch], *lengths)
    return Tensor(np.reshape(tensor.components, shape), outputs, inputs, tensor.batch)
