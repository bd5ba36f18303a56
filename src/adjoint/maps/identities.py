"""How far a space or a map is from what the mathematics says: scale-free errors, 0 being exact.

What they cannot see: an apply and a transpose that are wrong in the same way, and errors in
directions that random elements miss by chance (of probability zero for a linear fault).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.signatures.checked import Seed, checked, generator_of
from adjoint.maps.linear_map import LinearMap
from adjoint.spaces import Space


@checked
def adjoint_error(linear_map: LinearMap, seed: Seed = 0) -> float:
    """|<D u, v> - <u, D.H v>| / (|D u| |v| + |u| |D.H v|) for random u and v (E.1.52).

    Args:
        linear_map: the map to measure.
        seed: a seed, or a generator of NumPy, for the random elements.

    Returns:
        A number from 0 (exact) to 1; infinity where values are not finite.

    Raises:
        MissingTransposeError: the map has no transpose.
        ArgumentTypeError: what is given is no linear map, or no seed.

    Example:
        >>> import numpy as np
        >>> from adjoint.spaces import Euclidean
        >>> wrong = LinearMap(
        ...     Euclidean(2), Euclidean(2), lambda u: 2 * u, lambda c: 3 * c
        ... )
        >>> adjoint_error(wrong) > 0.01
        True
    """
    generator = generator_of(seed)
    domain, codomain = linear_map.domain, linear_map.codomain
    u, v = domain.random(generator), codomain.random(generator)
    image, pulled = linear_map(u), linear_map.H(v)
    scale = codomain._norm(image) * codomain._norm(v) + domain._norm(u) * domain._norm(pulled)
    return _ratio(codomain._inner(image, v) - domain._inner(u, pulled), scale)


@checked
def linearity_error(linear_map: LinearMap, seed: Seed = 0) -> float:
    """|D(a u + b v) - a D u - b D v| / (|a D u| + |b D v| + |D(a u + b v)|), all random (E.1.3).

    Args:
        linear_map: the map to measure.
        seed: a seed, or a generator of NumPy, for the random elements.

    Returns:
        A number from 0 (exact) to 1; infinity where values are not finite.

    Raises:
        ArgumentTypeError: what is given is no linear map, or no seed.

    Example:
        >>> from adjoint.spaces import Euclidean
        >>> linearity_error(LinearMap(Euclidean(2), Euclidean(2), lambda u: u + 1)) > 0.01
        True
    """
    generator = generator_of(seed)
    domain, codomain = linear_map.domain, linear_map.codomain
    u, v = domain.random(generator), domain.random(generator)
    a, b = (float(number) for number in generator.uniform(0.5, 2.0, 2))
    joint = linear_map(domain._add(domain._scale(a, u), domain._scale(b, v)))
    one, two = codomain._scale(a, linear_map(u)), codomain._scale(b, linear_map(v))
    scale = codomain._norm(one) + codomain._norm(two) + codomain._norm(joint)
    return _ratio(codomain._norm(_difference(codomain, joint, codomain._add(one, two))), scale)


@checked
def space_error(space: Space, seed: Seed = 0) -> float:
    """The largest relative error among the laws of an inner-product space, on random elements.

    The laws: symmetry and linearity of the inner product, <x, y> = (Rx)(y), R^-1 R x = x and R R^-1
    w = w, <Rx, Ry>' = <x, y>, coordinates of the element with given coordinates. Infinity if <x, x>
    <= 0 or if zero, x or R^-1 w is not an element.

    Args:
        space: the space to try.
        seed: a seed, or a generator of NumPy, for the random elements.

    Returns:
        A number, some units of rounding where the laws hold; infinity where one fails altogether.

    Raises:
        ArgumentTypeError: what is given is no space, or no seed.

    Example:
        >>> from adjoint.spaces import Euclidean
        >>> space_error(Euclidean((2, 3))) < 1e-14
        True
    """
    return max(space_errors(space, seed).values(), default=0.0)


@checked
def space_errors(space: Space, seed: Seed = 0) -> dict[str, float]:
    """The relative error of each law of an inner-product space, by its name, on random elements.

    Args:
        space: the space to try.
        seed: a seed, or a generator of NumPy, for the random elements.

    Returns:
        A dict from the words for a law to its error; empty where the space has dimension 0.

    Raises:
        ArgumentTypeError: what is given is no space, or no seed.

    Example:
        >>> from adjoint.spaces import Euclidean
        >>> next(iter(space_errors(Euclidean((2, 3))).items()))
        ('elements are elements', 0.0)
    """
    if space.dimension == 0:
        return {}
    generator = generator_of(seed)
    x, y, z = (space.random(generator) for _ in range(3))
    if not all(map(space.contains, (x, space.zero()))):
        return {"elements are elements": float("inf")}
    if not space._inner(x, x) > 0:
        return {"<x, x> > 0": float("inf")}
    covector = space.riesz(x)
    back = space.represent(covector)
    if not space.contains(back):
        return {"R^-1 R x is an element": float("inf")}
    dual, inner = space.dual, space._inner(x, y)
    scale = space._norm(x) * space._norm(y)
    summed = space._inner(space._add(x, space._scale(2.0, z)), y)
    terms = inner + 2.0 * space._inner(z, y)
    again = dual._add(space.riesz(back), dual._scale(-1.0, covector))
    coordinates = space._coordinates(x)
    round_trip = space._coordinates(space._from_coordinates(coordinates)) - coordinates
    return {
        "elements are elements": 0.0,
        "<x, y> = <y, x>": _ratio(space._inner(y, x) - inner, scale),
        "<x + 2 z, y> = <x, y> + 2 <z, y>": _ratio(
            summed - terms, scale + 2.0 * space._norm(z) * space._norm(y)
        ),
        "(R x)(y) = <x, y>": _ratio(space._pair(space._riesz(x), y) - inner, scale),
        "<R x, R y>' = <x, y>": _ratio(dual._inner(covector, space.riesz(y)) - inner, scale),
        "R^-1 R x = x": _ratio(space._norm(_difference(space, back, x)), space._norm(x)),
        "R R^-1 w = w": _ratio(dual._norm(again), dual._norm(covector)),
        "coordinates go to and fro": _ratio(
            np.linalg.norm(round_trip), np.linalg.norm(coordinates)
        ),
    }


def _difference(space: Space, x: Any, y: Any) -> Any:
    return space._add(x, space._scale(-1.0, y))


def _ratio(error: Any, scale: Any) -> float:
    """|error| / scale; NaN counts as infinitely wrong, and 0 / 0 as right."""
    error, scale = abs(float(error)), float(scale)
    if error == 0:
        return 0.0
    return error / scale if np.isfinite(error) and scale > 0 else float("inf")
