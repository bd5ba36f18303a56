"""Comparing a captured function with NumPy running it.

Values exactly, derivatives with differences.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base import pytrees


def leaves(tree: Any) -> list[Any]:
    """The arrays of a result, in order."""
    return [np.asarray(leaf) for leaf in pytrees.leaves(tree)]


def same_values(found: Any, expected: Any, tolerance: float = 1e-12) -> None:
    """Shape, dtype and values agree; the values up to the order of summation."""
    one, other = leaves(found), leaves(expected)
    assert len(one) == len(other), (found, expected)
    for a, b in zip(one, other, strict=True):
        assert a.shape == b.shape, (a.shape, b.shape)
        assert a.dtype == b.dtype, (a.dtype, b.dtype)
        if b.dtype.kind in "fc":
            wide = max(tolerance, 40 * np.finfo(b.dtype).eps)
            np.testing.assert_allclose(a, b, rtol=wide, atol=wide)
        else:
            np.testing.assert_array_equal(a, b)


def captured_value(function: Callable[..., Any], *args: Any) -> Any:
    """The value of a function that is captured and run as a program."""
    return ad.jit(function)(*copied(args))


def refuses(
    transform: Callable[..., Any],
    function: Callable[..., Any],
    args: tuple[Any, ...],
    error: type[Exception],
    text: str,
) -> None:
    """A transform of the function raises NumPy's own error, or else a typed one with this text."""
    expected: type[Exception] = error
    try:
        function(*copied(args))
    except Exception as numpys:
        expected = type(numpys)
    with pytest.raises((expected, error)) as caught:
        transform(function)(*args)
    assert text in str(caught.value) or (expected is not error and caught.type is expected)


def copied(tree: Any) -> Any:
    """A tree whose arrays are copies.

    So that a function that writes into its argument cannot be seen.
    """
    return pytrees.tree_map(
        lambda leaf: leaf.copy() if isinstance(leaf, np.ndarray) else leaf, tree
    )


def is_inexact(leaf: Any) -> bool:
    """Whether a leaf has a derivative."""
    return np.asarray(leaf).dtype.kind in "fc"


def direction(tree: Any, seed: int) -> Any:
    """Random tangents of a tree of arrays."""
    generator = np.random.default_rng(seed)

    def draw(leaf: Any) -> Any:
        leaf = np.asarray(leaf)
        values = generator.uniform(-1, 1, leaf.shape)
        if leaf.dtype.kind == "c":
            values = values + 1j * generator.uniform(-1, 1, leaf.shape)
        return np.asarray(values, leaf.dtype)[()]

    return pytrees.tree_map(draw, tree)


def pair(one: Any, other: Any) -> float:
    """Re <a, b> over trees."""
    return float(
        sum(np.sum((np.conj(a) * b).real) for a, b in zip(leaves(one), leaves(other), strict=True))
    )


def same_derivative(
    function: Callable[..., Any], args: tuple[Any, ...], tolerance: float = 1e-6, step: float = 1e-5
) -> None:
    """The JVP is the central difference of the plain function, and the pullback its transpose."""
    places = [n for n, arg in enumerate(args) if all(map(is_inexact, pytrees.leaves(arg)))]
    chosen = tuple(args[n] for n in places)

    def inexact_part(*some: Any) -> Any:
        whole = list(copied(args))
        for place, arg in zip(places, some, strict=True):
            whole[place] = arg
        return function(*whole)

    def plain(*some: Any) -> list[Any]:
        return leaves(inexact_part(*copied(some)))

    for seed in (1, 2):
        tangents = direction(chosen, seed)
        ahead = plain(*pytrees.tree_map(lambda x, u: x + step * u, chosen, tangents))
        behind = plain(*pytrees.tree_map(lambda x, u: x - step * u, chosen, tangents))
        expected = [(a - b) / (2 * step) for a, b in zip(ahead, behind, strict=True)]
        _, image = ad.jvp(function_of(function, args, places), copied(chosen), tangents)
        scale = max([1.0, *(float(np.max(np.abs(e), initial=0)) for e in expected)])
        for found, wanted in zip(leaves(image), expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=0, atol=tolerance * scale)
        value, pullback = ad.vjp(function_of(function, args, places), *copied(chosen))
        same_values(value, inexact_part(*copied(chosen)), 1e-9)
        weights = direction(value, seed + 10)
        back = pullback(weights)
        np.testing.assert_allclose(
            pair(back, tangents),
            pair(weights, image),
            rtol=0,
            atol=1e-9 * scale * max(1, len(leaves(image))),
        )


def same_second_derivative(
    function: Callable[..., Any], args: tuple[Any, ...], mode: str, step: float = 1e-5
) -> None:
    """The second derivative along two directions is the central difference of the first.

    mode: how it is composed, the outer mode first: "fr" is forward over reverse.
    """
    places = [n for n, arg in enumerate(args) if all(map(is_inexact, pytrees.leaves(arg)))]
    alone = function_of(function, args, places)
    point = tuple(args[n] for n in places)
    weights = direction(alone(*copied(point)), 3)
    u, v = direction(point, 4), direction(point, 5)

    def along(*some: Any) -> Any:
        return ad.jvp(alone, some, v)[1]

    def pulled(*some: Any) -> Any:
        return ad.vjp(alone, *some)[1](weights)

    inner, first = (along, weights) if mode[1] == "f" else (pulled, v)
    if mode[0] == "f":
        found = pair(ad.jvp(inner, copied(point), u)[1], first)
    else:
        found = pair(ad.vjp(inner, *copied(point))[1](first), u)
    ahead = pytrees.tree_map(lambda x, t: x + step * t, point, u)
    behind = pytrees.tree_map(lambda x, t: x - step * t, point, u)
    difference = pair(along(*copied(ahead)), weights) - pair(along(*copied(behind)), weights)
    expected = difference / (2 * step)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4 * max(1.0, abs(expected)))


def function_of(
    function: Callable[..., Any], args: tuple[Any, ...], places: list[int]
) -> Callable[..., Any]:
    """The function of its inexact arguments alone."""
    rest = copied(args)

    def alone(*some: Any) -> Any:
        whole = list(rest)
        for place, arg in zip(places, some, strict=True):
            whole[place] = arg
        return function(*whole)

    return alone
