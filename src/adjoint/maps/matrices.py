"""Linear maps from matrices and from SciPy's linear operators."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.errors import ArgumentError, ArgumentTypeError
from adjoint.base.signatures.checked import checked
from adjoint.maps.linear_map import LinearMap, inverse_matrix, matrix_map
from adjoint.spaces import Euclidean, Space, Weighted, opaque
from adjoint.spaces.elements.values import describe


@checked
def from_matrix(matrix: Any, domain: Space, codomain: Space, name: str | None = None) -> LinearMap:
    """The map that a matrix describes.

    Args:
        matrix: real, of shape (codomain.dimension, domain.dimension), in the bases of the spaces;
            or, between array spaces one of which is complex, of shape (codomain.size, domain.size),
            acting on the entries (flattened row by row), complex where the codomain is. Dense or
            SciPy sparse.
        domain: X.
        codomain: Y.
        name: for the repr.

    The adjoint of a complex matrix is its conjugate transpose. A square dense one has an inverse.

    Returns:
        A `LinearMap` from the domain to the codomain, with its transpose.

    Raises:
        ArgumentError: the shape does not fit the spaces.
        ArgumentTypeError: the matrix is not one of numbers, or complex where the codomain is real.

    Example:
        >>> import numpy as np
        >>> from adjoint.spaces import Euclidean
        >>> from_matrix(np.array([[1.0, 2.0]]), Euclidean(2), Euclidean(1)).H(
        ...     np.array([3.0])
        ... )
        array([3., 6.])
    """
    held = matrix.copy() if hasattr(matrix, "tocsc") else _held(matrix)
    if held.dtype.kind not in "iufc" or held.ndim != 2:
        raise ArgumentTypeError(
            f"from_matrix takes a two-dimensional array of numbers. Got {describe(matrix)}. "
            "LinearMap(domain, codomain, apply, transpose) takes functions."
        )
    is_complex, shape = held.dtype.kind == "c", tuple(held.shape)
    if shape == (codomain.dimension, domain.dimension) and not is_complex:
        linear_map = matrix_map(held, domain, codomain, name)
        return linear_map if isinstance(held, np.ndarray) else _whole(linear_map)
    sizes = (_entries(codomain), _entries(domain))
    if shape != sizes:
        raise ArgumentError(
            f"This matrix does not map {domain!r} to {codomain!r}. Got {describe(matrix)}. "
            f"It must be real of shape ({codomain.dimension}, {domain.dimension}), or have "
            "a row for each entry of the codomain and a column for each entry of the domain."
        )
    if not codomain._complex:
        raise ArgumentTypeError(
            f"A complex matrix or domain needs a complex codomain. Got {codomain!r}. "
            "Compose with the real part, or use a real matrix in coordinates."
        )
    linear_map = _entry_map(held, domain, codomain, name)
    return linear_map if isinstance(held, np.ndarray) else _whole(linear_map)


def _entry_map(matrix: Any, domain: Space, codomain: Space, name: str | None) -> LinearMap:
    inward, outward = _shape(domain), _shape(codomain)
    adjoint = matrix.conj().T

    def transpose(components: Any) -> Any:
        product = np.reshape(adjoint @ np.reshape(components, (-1,)), inward)
        # On a real domain, u -> Re conj(c) u has the components Re c.
        return product if domain._complex else np.real(product)

    linear_map = LinearMap(
        domain,
        codomain,
        lambda u: np.reshape(matrix @ np.reshape(u, (-1,)), outward),
        transpose,
        name=name,
    )
    square = matrix.shape[0] == matrix.shape[1] and isinstance(matrix, np.ndarray)
    if square and domain._complex:
        linear_map._find_inverse = lambda owner: _entry_map(
            inverse_matrix(matrix, owner), codomain, domain, None
        )
    return linear_map


@checked
def from_scipy(operator: Any, domain: Space, codomain: Space, name: str | None = None) -> LinearMap:
    """The map that a real `scipy.sparse.linalg.LinearOperator` describes in coordinates.

    Its `rmatvec` is taken for the transpose; where the operator has none, so has the map.

    Args:
        operator: of shape (codomain.dimension, domain.dimension).
        domain: X.
        codomain: Y.
        name: for the repr.

    Returns:
        A `LinearMap` from the domain to the codomain, which calls the operator.

    Raises:
        ArgumentTypeError: the operator lacks `matvec` or `shape`, or is complex.
        ArgumentError: its shape is not (codomain.dimension, domain.dimension).

    Example:
        >>> import numpy as np
        >>> from scipy.sparse.linalg import aslinearoperator
        >>> from adjoint.spaces import Euclidean
        >>> operator = aslinearoperator(np.array([[1.0, 2.0]]))
        >>> from_scipy(operator, Euclidean(2), Euclidean(1)).H(np.array([3.0]))
        array([3., 6.])
    """
    shape = getattr(operator, "shape", None)
    if shape is None or not callable(getattr(operator, "matvec", None)):
        raise ArgumentTypeError(
            f"from_scipy takes a scipy.sparse.linalg.LinearOperator. Got {describe(operator)}. "
            "from_matrix takes dense and sparse matrices."
        )
    if np.dtype(operator.dtype or float).kind == "c":
        raise ArgumentTypeError(
            f"from_scipy takes a real operator on coordinates. Got dtype {operator.dtype}. "
            "LinearMap(domain, codomain, operator.matvec, operator.rmatvec) acts on complex "
            "entries."
        )
    if tuple(shape) != (codomain.dimension, domain.dimension):
        raise ArgumentError(
            f"This operator does not map {domain!r} to {codomain!r}. Its shape is {tuple(shape)}. "
            f"It must be ({codomain.dimension}, {domain.dimension}), for it acts on coordinates."
        )

    def transpose(components: Any) -> Any:
        coordinates = operator.rmatvec(codomain._component_coordinates(components))
        return domain._components_from_coordinates(coordinates)

    linear_map = LinearMap(
        domain,
        codomain,
        lambda u: codomain._from_coordinates(operator.matvec(domain._coordinates(u))),
        transpose if _has_transpose(operator, codomain) else None,
        name=name,
    )
    return _whole(linear_map)


def _whole(linear_map: LinearMap) -> LinearMap:
    """The map as one operation on traced arrays, which SciPy's products do not take."""
    name = linear_map.name or "linear map"
    apply, pull = linear_map._apply, linear_map._transpose
    back = None if pull is None else opaque.LINEAR(pull, apply, name)
    forward = opaque.LINEAR(apply, pull, name)
    return LinearMap(linear_map.domain, linear_map.codomain, forward, back, name=linear_map.name)


def _has_transpose(operator: Any, codomain: Space) -> bool:
    # SciPy says so only by raising when it is called.
    try:
        operator.rmatvec(np.zeros(codomain.dimension, codomain._real_dtype))
    except NotImplementedError:
        return False
    return True


def _held(matrix: Any) -> Any:
    copy = np.array(matrix)
    copy.setflags(write=False)
    return copy


def _array_space(space: Space) -> Euclidean | None:
    plain = space.base if isinstance(space, Weighted) else space
    return plain if isinstance(plain, Euclidean) else None


def _entries(space: Space) -> int:
    plain = _array_space(space)
    return -1 if plain is None else plain.size


def _shape(space: Space) -> tuple[int, ...]:
    plain = _array_space(space)
    assert plain is not None  # the caller has matched the number of entries
    return plain.shape
