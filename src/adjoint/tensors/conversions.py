"""Vectors, covectors, maps and inner products as tensors, and back (Table T.1.2)."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.errors import ArgumentError, ArgumentTypeError
from adjoint.base.signatures.checked import checked
from adjoint.maps import BilinearMap, LinearMap
from adjoint.maps.linear_map import matrix_map
from adjoint.spaces import Covector, Space, infer
from adjoint.spaces.elements.values import describe
from adjoint.tensors.tensor import Tensor


@checked
def from_vector(x: Any, space: Space | None = None) -> Tensor:
    """A vector as a (0, 1) tensor.

    Args:
        x: an element of the space.
        space: unless told, the Euclidean one.

    Returns:
        A `Tensor` with one output, over the space.

    Raises:
        MembershipError, SpaceMismatchError: x is no element of the space.
        ArgumentTypeError: x is no array of numbers, or the space is none.
        NotDifferentiableError: x holds integers, and no space is given.

    Example:
        >>> import numpy as np
        >>> from_vector(np.array([1.0, 2.0])).pattern
        '-> i'
    """
    home = infer(x) if space is None else space
    home.check(x, "x")
    return Tensor(home._coordinates(x), outputs=(home,))


@checked
def from_covector(covector: Covector) -> Tensor:
    """A covector, or linear functional, as a (1, 0) tensor.

    Args:
        covector: an element of the dual of a space.

    Returns:
        A `Tensor` with one input, over the space that the covector is on.

    Raises:
        ArgumentTypeError: the argument is no covector.

    Example:
        >>> import numpy as np
        >>> from adjoint.spaces import Euclidean
        >>> from_covector(Euclidean(2).covector(np.array([1.0, 2.0]))).pattern
        'i ->'
    """
    if not isinstance(covector, Covector):
        raise ArgumentTypeError(
            f"from_covector takes a covector. Got {describe(covector)}. "
            "space.riesz(x) and space.covector(components) make covectors."
        )
    space = covector.space
    return Tensor(space._component_coordinates(covector.components), inputs=(space,))


@checked
def from_map(linear_map: LinearMap) -> Tensor:
    """A linear map as a (1, 1) tensor: its matrix (E.1.36).

    Args:
        linear_map: X -> Y.

    Returns:
        A tensor with an input over X and an output over Y.

    Raises:
        ArgumentTypeError: the argument is no linear map.

    Example:
        >>> from adjoint.maps import identity as identity_map
        >>> from adjoint.spaces import Euclidean
        >>> from_map(identity_map(Euclidean(2))).pattern
        'i -> j'
    """
    if not isinstance(linear_map, LinearMap):
        raise ArgumentTypeError(
            f"from_map takes a linear map. Got {describe(linear_map)}. "
            "ad.derivative and ad.maps.from_matrix make linear maps."
        )
    return Tensor(linear_map.matrix(), (linear_map.codomain,), (linear_map.domain,))


@checked
def from_bilinear_map(bilinear_map: BilinearMap) -> Tensor:
    """A bilinear map as a (2, 1) tensor, or as a (2, 0) one where it is real-valued (E.1.78).

    Args:
        bilinear_map: X x Y -> Z.

    Returns:
        A tensor with inputs over X and Y, and an output over Z where Z is not the real numbers.

    Raises:
        ArgumentTypeError: the argument is no bilinear map.

    Example:
        >>> from adjoint.maps import BilinearMap
        >>> from adjoint.spaces import Euclidean
        >>> X = Euclidean(2)
        >>> dot = BilinearMap(X, X, Euclidean(()), lambda u, v: u @ v)
        >>> from_bilinear_map(dot).pattern
        'i j ->'
    """
    if not isinstance(bilinear_map, BilinearMap):
        raise ArgumentTypeError(
            f"from_bilinear_map takes a bilinear map. Got {describe(bilinear_map)}. "
            "ad.maps.BilinearMap makes one of a function of two arguments."
        )
    array, codomain = bilinear_map.array(), bilinear_map.codomain
    inputs = (bilinear_map.domain_left, bilinear_map.domain_right)
    if codomain.dimension == 1 and getattr(codomain, "shape", None) == ():
        return Tensor(array[0], inputs=inputs)
    return Tensor(array, (codomain,), inputs)


@checked
def inner_product(space: Space) -> Tensor:
    """The inner product of a space, a (2, 0) tensor: its Gram matrix (E.1.25).

    Args:
        space: any space; both inputs are over it.

    Returns:
        A `Tensor` with two inputs, symmetric, of shape (dimension, dimension).

    Raises:
        ArgumentTypeError: what is given is no space.

    Example:
        >>> import numpy as np
        >>> from adjoint.spaces import Euclidean, Weighted
        >>> W = inner_product(Weighted(Euclidean(2), np.array([1.0, 4.0])))
        >>> float(W(np.array([1.0, 1.0]), np.array([1.0, 2.0])))
        9.0
    """
    return Tensor(space._gram(), inputs=(space, space))


@checked
def inverse_inner_product(space: Space) -> Tensor:
    """The inner product of covectors, a (0, 2) tensor: the inverse of the Gram matrix.

    Args:
        space: any space; both outputs are over it.

    Returns:
        A `Tensor` with two outputs, symmetric, of shape (dimension, dimension).

    Raises:
        ArgumentTypeError: what is given is no space.

    Example:
        >>> import numpy as np
        >>> from adjoint.spaces import Euclidean, Weighted
        >>> inverse_inner_product(Weighted(Euclidean(2), np.array([1.0, 4.0]))).components
        array([[1.  , 0.  ],
               [0.  , 0.25]])
    """
    return Tensor(np.linalg.inv(space._gram()), outputs=(space, space))


@checked
def identity(space: Space) -> Tensor:
    """The identity, a (1, 1) tensor with the same components in every basis.

    Args:
        space: of the input and the output.

    Returns:
        A `Tensor` with one output and one input, whose components are the unit matrix.

    Raises:
        ArgumentTypeError: what is given is no space.

    Example:
        >>> from adjoint.spaces import Euclidean
        >>> float(identity(Euclidean(3)).trace())
        3.0
    """
    return Tensor(np.eye(space.dimension, dtype=space._real_dtype), (space,), (space,))


@checked
def ket(x: Any, space: Space | None = None) -> Tensor:
    """|x>: a vector as a (0, 1) tensor, another name for `from_vector`.

    Args:
        x: an element of the space.
        space: unless told, the Euclidean one.

    Returns:
        A `Tensor` with one output, over the space.

    Raises:
        MembershipError, SpaceMismatchError: x is no element of the space.
        ArgumentTypeError: x is no array of numbers, or the space is none.
        NotDifferentiableError: x holds integers, and no space is given.

    Example:
        >>> import numpy as np
        >>> x = np.array([1.0, 2.0])
        >>> float(bra(x) @ ket(x)), (ket(x) @ bra(x)).type
        (5.0, (1, 1))
    """
    return from_vector(x, space)


@checked
def bra(x: Any, space: Space | None = None) -> Tensor:
    """<x|: the covector <x, .> of a vector as a (1, 0) tensor (E.1.30).

    `bra(x) @ ket(y)` is the number <x, y>, and `ket(x) @ bra(y)` the map |x><y|.

    Args:
        x: an element of the space.
        space: unless told, the Euclidean one.

    Returns:
        A `Tensor` with one input, over the space.

    Raises:
        MembershipError, SpaceMismatchError: x is no element of the space.
        ArgumentTypeError: x is no array of numbers, or the space is none.

    Example:
        >>> import numpy as np
        >>> from adjoint.spaces import Euclidean, Weighted
        >>> space = Weighted(Euclidean(2), np.array([1.0, 100.0]))
        >>> bra(np.array([1.0, 2.0]), space).components
        array([  1., 200.])
    """
    home = infer(x) if space is None else space
    home.check(x, "x")
    return Tensor(home._component_coordinates(home._riesz(x)), inputs=(home,))


@checked
def to_vector(tensor: Tensor) -> Any:
    """The element of the space that a (0, 1) tensor stands for.

    Args:
        tensor: of type (0, 1).

    Returns:
        An element of the space of the output.

    Raises:
        ArgumentError: the tensor is of another type.

    Example:
        >>> import numpy as np
        >>> to_vector(ket(np.array([1.0, 2.0])))
        array([1., 2.])
    """
    _require(tensor, ((0, 1),), "to_vector")
    return tensor()


@checked
def to_covector(tensor: Tensor) -> Any:
    """The covector that a (1, 0) tensor stands for.

    Args:
        tensor: of type (1, 0).

    Returns:
        A `Covector` on the space of the input.

    Raises:
        ArgumentError: the tensor is of another type.

    Example:
        >>> import numpy as np
        >>> to_covector(bra(np.array([1.0, 2.0])))
        Covector(Euclidean((2,)), array([1., 2.]))
    """
    _require(tensor, ((1, 0),), "to_covector")
    (space,) = tensor.inputs
    return space._as_covector(space._components_from_coordinates(tensor.components))


@checked
def to_map(tensor: Tensor) -> LinearMap:
    """The linear map that a (1, 1) tensor stands for.

    Args:
        tensor: of type (1, 1).

    Returns:
        A `LinearMap` from the space of the input to that of the output.

    Raises:
        ArgumentError: the tensor is of another type.

    Example:
        >>> import numpy as np
        >>> from adjoint.spaces import Euclidean
        >>> to_map(identity(Euclidean(2)))(np.array([1.0, 2.0]))
        array([1., 2.])
    """
    _require(tensor, ((1, 1),), "to_map")
    return matrix_map(tensor.components, tensor.inputs[0], tensor.outputs[0])


@checked
def to_bilinear_map(tensor: Tensor) -> BilinearMap:
    """The bilinear map that a tensor of type (2, 1) or (2, 0) stands for.

    Args:
        tensor: of type (2, 1) or (2, 0).

    Returns:
        A `BilinearMap` of the spaces of the two inputs; real-valued without an output.

    Raises:
        ArgumentError: the tensor is of another type.

    Example:
        >>> import numpy as np
        >>> from adjoint.spaces import Euclidean
        >>> dot = to_bilinear_map(inner_product(Euclidean(2)))
        >>> float(dot(np.array([1.0, 2.0]), np.array([3.0, 4.0])))
        11.0
    """
    _require(tensor, ((2, 1), (2, 0)), "to_bilinear_map")
    left, right = tensor.inputs
    codomain = tensor.outputs[0] if tensor.outputs else infer(0.0)

    def transpose(u: Any, components: Any) -> Any:
        inner = np.tensordot(left._coordinates(u), tensor.components, axes=((0,), (-2,)))
        pulled = inner
        if tensor.outputs:
            pulled = np.tensordot(codomain._component_coordinates(components), inner, axes=1)
        else:
            pulled = inner * components
        return right._components_from_coordinates(pulled)

    return BilinearMap(left, right, codomain, tensor, transpose)


def _require(tensor: Any, types: tuple[tuple[int, int], ...], name: str) -> None:
    if not isinstance(tensor, Tensor) or tensor.type not in types or tensor.batch:
        received = tensor._summary() if isinstance(tensor, Tensor) else describe(tensor)
        raise ArgumentError(
            f"{name} takes a tensor of type {' or '.join(map(str, types))} without batch axes. "
            f"Got {received}. T.type says which type a tensor has; contract, raised and lowered "
            "change it."
        )
