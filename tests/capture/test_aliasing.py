"""Views and in-place writes: random programs give NumPy's values in every array, or AliasingError."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adjoint as ad
from tests.capture.comparing import same_derivative, same_values

SHAPES = [(6,), (2, 3), (3, 2), (1, 6), (2, 1, 3), (4, 3)]


def reshaped(a: Any, n: int) -> Any:
    shapes = [s for s in [*SHAPES, (12,), (2, 2, 3), (1, 1)] if int(np.prod(s)) == a.size]
    return a.reshape(shapes[n % len(shapes)]) if shapes else a


def sliced(a: Any, n: int) -> Any:
    choices: list[Any] = [
        (Ellipsis,),
        (slice(None, None, -1),),
        (slice(1, None),),
        (slice(None, -1),),
        (None, Ellipsis),
        (Ellipsis, slice(None, None, 2)),
        (Ellipsis, 0),
        (0,),
        (-1,),
        (slice(0, 2), Ellipsis, None),
    ]
    return a[choices[n % len(choices)]]


def halved(a: Any, n: int) -> Any:
    return np.array_split(a, 2, axis=n % a.ndim)[n % 2]


# Every way to come by an array that may share memory with another.
VIEWS = [
    reshaped,
    sliced,
    sliced,
    halved,
    lambda a, n: a.T,
    lambda a, n: a.ravel(),
    lambda a, n: np.ravel(a, order="F"),
    lambda a, n: a.squeeze(),
    lambda a, n: np.expand_dims(a, 0),
    lambda a, n: np.swapaxes(a, 0, a.ndim - 1),
    lambda a, n: list(a)[n % len(a)],
    lambda a, n: a.copy(),
    lambda a, n: a.flatten(),
    lambda a, n: np.asarray(a),
    lambda a, n: np.atleast_2d(a),
    lambda a, n: a.real,
    lambda a, n: np.real(a),
    lambda a, n: np.moveaxis(a, 0, -1),
    lambda a, n: a + 1.0,
    lambda a, n: np.flip(a),
    lambda a, n: a[[0, 0]],
    lambda a, n: np.concatenate([a, a]),
    lambda a, n: np.roll(a, 1),
    lambda a, n: np.tile(a, 2),
    lambda a, n: a.astype(float),
    lambda a, n: np.astype(a, a.dtype, copy=False),
    lambda a, n: np.reshape(a, a.shape[::-1]),
    lambda a, n: np.clip(a, -100, 100),
    lambda a, n: np.where(True, a, 0.0),
    lambda a, n: np.broadcast_arrays(a, a)[0],
    lambda a, n: np.nan_to_num(a),
    lambda a, n: np.positive(a),
    lambda a, n: +a,
    lambda a, n: np.squeeze(a, ()),
    lambda a, n: np.triu(np.atleast_2d(a)),
    lambda a, n: np.sort(a),
    lambda a, n: np.conjugate(a),
    lambda a, n: a.conj(),
    lambda a, n: np.round(a, 8),
    lambda a, n: np.take(a, [0, 1], axis=0, mode="clip") if len(a) > 1 else a,
    lambda a, n: np.vstack([a]),
    lambda a, n: np.einsum("i...->i...", a),
    lambda a, n: a.sum(axis=()),
    lambda a, n: np.broadcast_to(a, a.shape).copy(),
]


def added(a: Any, v: Any, n: int) -> None:
    a += v


def scaled(a: Any, v: Any, n: int) -> None:
    a *= 1.0 + 0.1 * v


def row_written(a: Any, v: Any, n: int) -> None:
    a[n % len(a)] = v


def row_added(a: Any, v: Any, n: int) -> None:
    a[n % len(a)] += v


def part_added(a: Any, v: Any, n: int) -> None:
    a[::2] += v


def rows_gathered(a: Any, v: Any, n: int) -> None:
    a[[0, -1]] += v


def masked(a: Any, v: Any, n: int) -> None:
    a[a > 0.5] = v


def last_column(a: Any, v: Any, n: int) -> None:
    a[..., -1] -= v


def filled(a: Any, v: Any, n: int) -> None:
    a.fill(v)


def copied_to(a: Any, v: Any, n: int) -> None:
    np.copyto(a, v)


def reversed_(a: Any, v: Any, n: int) -> None:
    a[...] = a[::-1] + v


def into(a: Any, v: Any, n: int) -> None:
    np.add(a, v, out=a)


def rows_iterated(a: Any, v: Any, n: int) -> None:
    for row in a:
        row += v


WRITES = [
    added,
    scaled,
    row_written,
    row_added,
    part_added,
    rows_gathered,
    masked,
    last_column,
    filled,
    copied_to,
    reversed_,
    into,
    rows_iterated,
]

STEP = st.tuples(
    st.booleans(), st.integers(0, 63), st.integers(0, 7), st.integers(0, 9), st.integers(0, 7)
)


def play(steps: Any, arrays: list[Any], scalar: Any) -> Any:
    """Run a random program. Each step takes a view or writes; all arrays are returned."""
    arrays = list(arrays)
    for writes, kind, source, number, other in steps:
        a = arrays[source % len(arrays)]
        if np.ndim(a) == 0:
            continue
        if writes:
            value = scalar * 0.5 if number % 2 else arrays[other % len(arrays)].sum() * 0.01
            if number % 5 == 0 and arrays[other % len(arrays)].shape == a.shape:
                value = arrays[other % len(arrays)]
            WRITES[kind % len(WRITES)](a, value, number)
        elif len(arrays) < 10:
            arrays.append(VIEWS[kind % len(VIEWS)](a, number))
    return arrays


def start(x: Any) -> list[Any]:
    """An array that is given, one that is computed, and one made here."""
    made = np.zeros(x.shape)
    return [x, x * 2.0, made]


def program(steps: Any) -> Any:
    def function(x: Any, scalar: Any) -> Any:
        return play(steps, start(x), scalar)

    return function


@settings(max_examples=600, deadline=None)
@given(st.lists(STEP, min_size=1, max_size=9), st.sampled_from(SHAPES), st.booleans())
def test_random_programs(steps: Any, shape: Any, backwards: bool) -> None:
    x = np.linspace(-1, 2, int(np.prod(shape))).reshape(shape)
    if backwards:
        x = np.asfortranarray(x)
    function = program(steps)
    try:
        expected: Any = function(x.copy(order="K"), 0.7)
    except (ValueError, IndexError) as error:
        expected = error
    try:
        found = ad.jit(function)(x.copy(order="K"), 0.7)
    except ad.errors.AliasingError:
        return
    except (ValueError, IndexError) as error:
        assert isinstance(expected, Exception), error
        return
    assert not isinstance(expected, Exception), expected
    same_values(found, expected)


@settings(max_examples=60, deadline=None)
@given(st.lists(STEP, min_size=1, max_size=7), st.sampled_from(SHAPES))
def test_random_programs_have_right_derivatives(steps: Any, shape: Any) -> None:
    x = np.linspace(-1, 2, int(np.prod(shape))).reshape(shape) + 0.01
    function = program([step for step in steps if WRITES[step[1] % len(WRITES)] is not masked])
    try:
        function(x.copy(), 0.7)
        ad.jit(function)(x.copy(), 0.7)
    except (ad.errors.AliasingError, ValueError, IndexError):
        return
    same_derivative(function, (x, 0.7), 1e-5)


@pytest.mark.parametrize("kind", range(len(VIEWS)))
@pytest.mark.parametrize("write", WRITES, ids=lambda write: write.__name__)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_each_view_with_each_write(kind: int, write: Any, place: int) -> None:
    x = np.linspace(-1, 2, 6).reshape(3, 2)

    def function(x: Any, scalar: Any) -> Any:
        a = start(x)[place]
        one = VIEWS[kind](a, 1)
        if np.ndim(one):
            write(one, scalar, 1)
            first = [np.array(a), np.array(one)]
            write(a, 2 * scalar, 2)
            return first, a, one
        return a, one

    try:
        found = ad.jit(function)(x.copy(), 0.7)
    except ad.errors.AliasingError:
        return
    same_values(found, function(x.copy(), 0.7))
