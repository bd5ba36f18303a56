"""Ready-made linear maps: identity, zero, diagonal, finite rank, embeddings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.base.errors import ArgumentError, ArgumentTypeError, SpaceMismatchError
from adjoint.base.pytrees import tree_map
from adjoint.base.signatures.checked import checked
from adjoint.maps.linear_map import LinearMap, singular
from adjoint.spaces import Covector, Dual, Euclidean, Product, Space, Weighted, infer
from adjoint.spaces.elements.values import copied, describe


@checked
def identity(space: Space) -> LinearMap:
    """The identity of a space.

    Args:
        space: the domain and the codomain.

    Returns:
        A `LinearMap` of the space into itself, its own inverse.

    Raises:
        ArgumentTypeError: the argument is no space.

    Example:
        >>> from adjoint.spaces import Euclidean
        >>> identity(Euclidean(2)).matrix()
        array([[1., 0.],
               [0., 1.]])
    """
    unit_map = LinearMap(space, space, _unchanged, _unchanged, name="identity")
    unit_map._find_inverse = _itself
    return unit_map


@checked
def zero(domain: Space, codomain: Space) -> LinearMap:
    """The map that sends everything to zero.

    Args:
        domain: X.
        codomain: Y.

    Returns:
        A `LinearMap` from the domain to the codomain, with its transpose; it has no inverse.

    Raises:
        ArgumentTypeError: one of them is no space.

    Example:
        >>> from adjoint.spaces import Euclidean
        >>> zero(Euclidean(2), Euclidean(1)).matrix()
        array([[0., 0.]])
    """
    return LinearMap(
        domain,
        codomain,
        lambda _: codomain._zero(),
        lambda _: domain._zero_components(),
        name="zero",
    )


@checked
def diagonal(weights: Any, space: Space) -> LinearMap:
    """The map u -> weights * u of a space into itself, elementwise.

    Args:
        weights: a scalar or an array of the shape of the elements of an array space (complex
            numbers for a complex one); a tree of such for a product; for any other space, real
            numbers of shape (dimension,) that multiply the coordinates.
        space: the domain and codomain; its inner product does not matter, except for `.H`.

    The inverse divides; it is missing where a weight is zero.

    Returns:
        A `LinearMap` of the space into itself.

    Raises:
        ArgumentError, ArgumentTypeError, MembershipError: the weights do not fit the space.

    Example:
        >>> import numpy as np
        >>> from adjoint.spaces import Euclidean
        >>> scaling = diagonal(np.array([1.0, 4.0]), Euclidean(2))
        >>> scaling.inverse(np.array([1.0, 1.0]))
        array([1.  , 0.25])
    """
    plain = space.base if isinstance(space, Weighted) else space
    if isinstance(plain, Product):
        return _diagonal_product(weights, plain, space)
    if isinstance(plain, Euclidean):
        if not plain.contains(weights):
            # A scalar acts on every entry.
            Euclidean((), plain.dtype).check(
                weights, f"weights (of shape {plain.shape}, or a scalar)"
            )
        return _entrywise(copied(weights, writeable=False), space)
    values = np.array(weights)
    if values.dtype.kind not in "iuf" or values.shape not in ((), (space.dimension,)):
        raise ArgumentError(
            f"weights on {space!r} multiply its real coordinates. Got {describe(weights)}. "
            f"They must be real numbers of shape ({space.dimension},), or one."
        )
    return _coordinatewise(values.astype(space._real_dtype), space)


def _entrywise(weights: Any, space: Space) -> LinearMap:
    def find_inverse(owner: LinearMap) -> LinearMap:
        _require_nonzero(weights, owner)
        return _entrywise(1 / weights, space)

    conjugates = np.conj(weights) if space._complex else weights
    diagonal_map = LinearMap(
        space, space, lambda u: weights * u, lambda c: conjugates * c, name="diagonal"
    )
    diagonal_map._find_inverse = find_inverse
    return diagonal_map


def _coordinatewise(weights: Any, space: Space) -> LinearMap:
    def find_inverse(owner: LinearMap) -> LinearMap:
        _require_nonzero(weights, owner)
        return _coordinatewise(1 / weights, space)

    diagonal_map = LinearMap(
        space,
        space,
        lambda u: space._from_coordinates(weights * space._coordinates(u)),
        lambda c: space._components_from_coordinates(weights * space._component_coordinates(c)),
        name="diagonal",
    )
    diagonal_map._find_inverse = find_inverse
    return diagonal_map


def _diagonal_product(weights: Any, plain: Product, space: Space) -> LinearMap:
    try:
        parts = plain._split(weights)
    except (ValueError, TypeError):
        raise ArgumentError(
            f"weights on {space!r} must be a tree of its structure. Got {describe(weights)}. "
            "For one factor everywhere write factor * identity(space)."
        ) from None
    maps = [diagonal(part, leaf) for part, leaf in zip(parts, plain.spaces, strict=True)]
    return _leafwise(maps, plain, space)


def _leafwise(maps: list[LinearMap], plain: Product, space: Space) -> LinearMap:
    def on_leaves(function: Callable[[LinearMap, Any], Any], tree: Any) -> Any:
        leaves = zip(maps, plain._split(tree), strict=True)
        return plain._assemble([function(map_, leaf) for map_, leaf in leaves])

    diagonal_map = LinearMap(
        space,
        space,
        lambda u: on_leaves(lambda map_, leaf: map_._apply(leaf), u),
        lambda c: on_leaves(lambda map_, leaf: map_._require_transpose()(leaf), c),
        name="diagonal",
    )
    diagonal_map._find_inverse = lambda _: _leafwise([map_.inverse for map_ in maps], plain, space)
    return diagonal_map


@checked
def rank_one(covector: Covector, y: Any, codomain: Space | None = None) -> LinearMap:
    """The map u -> covector(u) y (E.1.32); sums of such are all maps of finite rank (E.1.33).

    Args:
        covector: on the domain.
        y: an element of the codomain.
        codomain: the space of y; unless told, the Euclidean one.

    Returns:
        A `LinearMap` from the space that the covector is on to the codomain.

    Raises:
        SpaceMismatchError: the first argument is no covector.
        MembershipError: y is not an element of the codomain.
        ArgumentTypeError: the covector is no `Covector`.
        NotDifferentiableError: y holds integers, and no codomain is given.

    Example:
        >>> import numpy as np
        >>> from adjoint.spaces import Euclidean
        >>> w = Euclidean(2).covector(np.array([1.0, 2.0]))
        >>> rank_one(w, np.array([1.0, 10.0])).matrix()
        array([[ 1.,  2.],
               [10., 20.]])
    """
    if not isinstance(covector, Covector):
        raise SpaceMismatchError(
            f"rank_one takes a covector and a vector. Got {describe(covector)} for the covector. "
            "space.riesz(x) makes the covector <x, .>, and space.covector(components) any other."
        )
    domain: Space = covector.space
    components = covector.components
    target = infer(y) if codomain is None else codomain
    target.check(y, "y")
    y = tree_map(lambda leaf: copied(leaf, writeable=False), y)
    return LinearMap(
        domain,
        target,
        lambda u: target._scale(domain._pair(components, u), y),
        lambda c: domain._scale(target._pair(c, y), components),
        name="rank_one",
    )


@checked
def embedding(subspace: Space) -> LinearMap:
    """The inclusion of a space into its ambient space of arrays.

    Its adjoint is the orthogonal projection, for symmetric matrices X -> (X + X')/2. For a weighted
    space it is the same arrays under another inner product.

    Args:
        subspace: a space of arrays, or a product of such.

    Returns:
        A map from the space to `subspace.ambient`; invertible where no constraint ties entries.

    Raises:
        ArgumentTypeError: the argument is not a space of arrays.

    Example:
        >>> import numpy as np
        >>> from adjoint.spaces import Symmetric
        >>> embedding(Symmetric(2)).H(np.array([[1.0, 4.0], [0.0, 1.0]]))
        array([[1., 2.],
               [2., 1.]])
    """
    is_space = isinstance(subspace, Space)  # it may be anything: a user wrote it
    if not is_space or isinstance(subspace, Dual):
        raise ArgumentTypeError(
            f"embedding takes a space of arrays. Got {describe(subspace)}. "
            "Symmetric(n), Skew(n) and products of them lie in an ambient space of arrays."
        )
    # The transpose restricts covectors, which LinearMap does by itself where entries are tied.
    inclusion = LinearMap(subspace, subspace.ambient, _unchanged, _unchanged, name="embedding")
    if subspace._full:
        ambient = subspace.ambient
        inclusion._find_inverse = lambda _: LinearMap(
            ambient, subspace, _unchanged, _unchanged, inverse=embedding(subspace), name="identity"
        )
    return inclusion


def _unchanged(argument: Any) -> Any:
    return argument


def _itself(owner: LinearMap) -> LinearMap:
    return owner


def _require_nonzero(weights: Any, owner: LinearMap) -> None:
    if isinstance(weights, (np.ndarray, np.generic, int, float, complex)) and not np.all(weights):
        raise singular(owner, "a weight is zero")
