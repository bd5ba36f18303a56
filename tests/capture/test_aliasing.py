"""Views and in-place writes.

Random programs give NumPy's values in every array, or AliasingError.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adjoint as ad
from tests.capture.comparing import same_derivative, same_values

SHAPES = [(6,), (2, 3), (3, 2), (1, 6), (2, 1, 3), (4, 3)]


def reshaped(np: Any, a: Any, n: int) -> Any:
    shapes = [s for s in [*SHAPES, (12,), (2, 2, 3), (1, 1)] if int(np.prod(s)) == a.size]
    return a.reshape(shapes[n % len(shapes)]) if shapes else a


def sliced(np: Any, a: Any, n: int) -> Any:
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


def halved(np: Any, a: Any, n: int) -> Any:
    return np.array_split(a, 2, axis=n % a.ndim)[n % 2]


# Every way to come by an array that may share memory with another.
VIEWS = [
    reshaped,
    sliced,
    sliced,
    halved,
    lambda np, a, n: a.T,
    lambda np, a, n: a.ravel(),
    lambda np, a, n: np.ravel(a, order="F"),
    lambda np, a, n: a.squeeze(),
    lambda np, a, n: np.expand_dims(a, 0),
    lambda np, a, n: np.swapaxes(a, 0, a.ndim - 1),
    lambda np, a, n: list(a)[n % len(a)],
    lambda np, a, n: a.copy(),
    lambda np, a, n: a.flatten(),
    lambda np, a, n: np.asarray(a),
    lambda np, a, n: np.atleast_2d(a),
    lambda np, a, n: a.real,
    lambda np, a, n: np.real(a),
    lambda np, a, n: np.moveaxis(a, 0, -1),
    lambda np, a, n: a + 1.0,
    lambda np, a, n: np.flip(a),
    lambda np, a, n: a[[0, 0]],
    lambda np, a, n: np.concatenate([a, a]),
    lambda np, a, n: np.roll(a, 1),
    lambda np, a, n: np.tile(a, 2),
    lambda np, a, n: a.astype(float),
    lambda np, a, n: np.astype(a, a.dtype, copy=False),
    lambda np, a, n: np.reshape(a, a.shape[::-1]),
    lambda np, a, n: np.clip(a, -100, 100),
    lambda np, a, n: np.where(True, a, 0.0),
    lambda np, a, n: np.broadcast_arrays(a, a)[0],
    lambda np, a, n: np.nan_to_num(a),
    lambda np, a, n: np.positive(a),
    lambda np, a, n: +a,
    lambda np, a, n: np.squeeze(a, ()),
    lambda np, a, n: np.triu(np.atleast_2d(a)),
    lambda np, a, n: np.sort(a),
    lambda np, a, n: np.conjugate(a),
    lambda np, a, n: a.conj(),
    lambda np, a, n: np.take(a, [0, 1], axis=0) if len(a) > 1 else a,
    lambda np, a, n: np.vstack([a]),
    lambda np, a, n: np.einsum("i...->i...", a),
    lambda np, a, n: a.sum(axis=()),
    lambda np, a, n: np.broadcast_to(a, a.shape).copy(),
    lambda np, a, n: np.broadcast_to(a, a.shape),
    lambda np, a, n: a.view(),
    lambda np, a, n: a.flat[1:],
    lambda np, a, n: a[None].squeeze(),
    lambda np, a, n: np.rot90(np.atleast_2d(a)),
    lambda np, a, n: np.atleast_2d(a).diagonal(),
    lambda np, a, n: np.atleast_2d(a).mT,
    lambda np, a, n: np.atleast_2d(a)[::-1, ::2],
    lambda np, a, n: np.split(a, len(a))[n % len(a)],
    lambda np, a, n: np.array(a, copy=False),
    lambda np, a, n: a[True],
]


def added(np: Any, a: Any, v: Any, n: int) -> None:
    a += v


def scaled(np: Any, a: Any, v: Any, n: int) -> None:
    a *= 1.0 + 0.1 * v


def row_written(np: Any, a: Any, v: Any, n: int) -> None:
    a[n % len(a)] = v


def row_added(np: Any, a: Any, v: Any, n: int) -> None:
    a[n % len(a)] += v


def part_added(np: Any, a: Any, v: Any, n: int) -> None:
    a[::2] += v


def rows_gathered(np: Any, a: Any, v: Any, n: int) -> None:
    a[[0, -1]] += v


def masked(np: Any, a: Any, v: Any, n: int) -> None:
    a[a > 0.5] = v


def last_column(np: Any, a: Any, v: Any, n: int) -> None:
    a[..., -1] -= v


def filled(np: Any, a: Any, v: Any, n: int) -> None:
    a.fill(v)


def copied_to(np: Any, a: Any, v: Any, n: int) -> None:
    np.copyto(a, v)


def reversed_(np: Any, a: Any, v: Any, n: int) -> None:
    a[...] = a[::-1] + v


def into(np: Any, a: Any, v: Any, n: int) -> None:
    np.add(a, v, out=a)


def rows_iterated(np: Any, a: Any, v: Any, n: int) -> None:
    for row in a:
        row += v


def flat_written(np: Any, a: Any, v: Any, n: int) -> None:
    a.flat[n % a.size] = v
    a.flat[::2] += v


def put(np: Any, a: Any, v: Any, n: int) -> None:
    np.put(a, [0, n, -1], [1.0, v] if np.ndim(v) == 0 else v, mode="wrap")


def placed(np: Any, a: Any, v: Any, n: int) -> None:
    np.place(a, a > 0.4, [v, 0.5] if np.ndim(v) == 0 else v)


def put_masked(np: Any, a: Any, v: Any, n: int) -> None:
    np.putmask(a, a < 0.6, v)


def diagonal_filled(np: Any, a: Any, v: Any, n: int) -> None:
    if a.ndim == 2:
        np.fill_diagonal(a, v, wrap=bool(n % 2))


def put_along(np: Any, a: Any, v: Any, n: int) -> None:
    np.put_along_axis(a, np.zeros((1,) * a.ndim, int), v if np.ndim(v) == 0 else 0.25, 0)


def sorted_(np: Any, a: Any, v: Any, n: int) -> None:
    a.sort(axis=n % a.ndim)


def at(np: Any, a: Any, v: Any, n: int) -> None:
    if not a.flags.writeable:  # NumPy's `at` writes all the same; in a trace it is refused
        return
    np.add.at(a, [0, 0, -1], v if np.ndim(v) == 0 else 0.5)
    np.multiply.at(a, (0, ...), 1.5)


def rows_swapped(np: Any, a: Any, v: Any, n: int) -> None:
    a[[0, -1]] = a[[-1, 0]]


def overlapping(np: Any, a: Any, v: Any, n: int) -> None:
    a[1:] = a[:-1]
    a[:-1] += a[1:]


def transpose_added(np: Any, a: Any, v: Any, n: int) -> None:
    b = a.T
    b += v if np.ndim(v) == 0 else 1.0


def squares_added(np: Any, a: Any, v: Any, n: int) -> None:
    if a.ndim == 2 and a.shape[0] == a.shape[1]:
        a += a.T


def summed_into(np: Any, a: Any, v: Any, n: int) -> None:
    np.cumsum(a, axis=0, out=a)
    np.multiply(a, v if np.ndim(v) == 0 else 2.0, out=a, where=a > 0.5)


def names_swapped(np: Any, a: Any, v: Any, n: int) -> None:
    b = a[::-1]
    a, b = b, a
    a[0] += 1.0
    b[...] *= 2.0


def masked_added(np: Any, a: Any, v: Any, n: int) -> None:
    a[a > 0.3] += v if np.ndim(v) == 0 else 1.0


WRITES = [
    flat_written,
    put,
    placed,
    put_masked,
    diagonal_filled,
    put_along,
    sorted_,
    at,
    rows_swapped,
    overlapping,
    transpose_added,
    squares_added,
    summed_into,
    names_swapped,
    masked_added,
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

# What a mask or an order decides may jump between two points that are close.
JUMPS = (masked, masked_added, placed, put_masked, sorted_, summed_into)

STEP = st.tuples(
    st.booleans(), st.integers(0, 63), st.integers(0, 7), st.integers(0, 9), st.integers(0, 7)
)


PLAIN = [np]  # in a container, where rebinding does not reach it


def play(steps: Any, arrays: list[Any], scalar: Any, reached: bool) -> Any:
    """Run a random program. Each step takes a view or writes; all arrays are returned."""
    arrays = list(arrays)
    space = np if reached else PLAIN[0]
    for writes, kind, source, number, other in steps:
        a = arrays[source % len(arrays)]
        if np.ndim(a) == 0 or np.size(a) == 0:
            continue
        if writes:
            value = scalar * 0.5 if number % 2 else arrays[other % len(arrays)].sum() * 0.01
            if number % 5 == 0 and arrays[other % len(arrays)].shape == a.shape:
                value = arrays[other % len(arrays)]
            WRITES[kind % len(WRITES)](space, a, value, number)
        elif len(arrays) < 10:
            arrays.append(VIEWS[kind % len(VIEWS)](space, a, number))
    return arrays


def start(x: Any) -> list[Any]:
    """An array that is given, one that is computed, and one made here."""
    made = np.zeros(x.shape)
    return [x, x * 2.0, made]


def program(steps: Any, reached: bool = True) -> Any:
    def function(x: Any, scalar: Any) -> Any:
        return play(steps, start(x), scalar, reached)

    return function


@settings(max_examples=400, deadline=None)
@given(
    st.lists(STEP, min_size=1, max_size=9), st.sampled_from(SHAPES), st.booleans(), st.booleans()
)
def test_random_programs(steps: Any, shape: Any, backwards: bool, reached: bool) -> None:
    x = np.linspace(-1, 2, int(np.prod(shape))).reshape(shape)
    if backwards:
        x = np.asfortranarray(x)
    function = program(steps, reached)
    try:
        expected: Any = function(x.copy(order="K"), 0.7)
    except (ValueError, IndexError, TypeError) as error:
        expected = error
    try:
        found = ad.jit(function)(x.copy(order="K"), 0.7)
    except ad.errors.AliasingError:
        return
    except (ValueError, IndexError, TypeError, ad.errors.AdjointError) as error:
        found = error
    if isinstance(found, Exception):
        assert isinstance(expected, Exception) or not reached, found
        return
    assert not isinstance(expected, Exception), expected
    same_values(found, expected)


@settings(max_examples=50, deadline=None)
@given(st.lists(STEP, min_size=1, max_size=7), st.sampled_from(SHAPES))
def test_random_programs_have_right_derivatives(steps: Any, shape: Any) -> None:
    x = np.linspace(-1, 2, int(np.prod(shape))).reshape(shape) + 0.01
    function = program([step for step in steps if WRITES[step[1] % len(WRITES)] not in JUMPS])
    try:
        function(x.copy(), 0.7)
        ad.jit(function)(x.copy(), 0.7)
    except (ad.errors.AliasingError, ValueError, IndexError, TypeError):
        return
    same_derivative(function, (x, 0.7), 1e-5)


@pytest.mark.parametrize("kind", range(len(VIEWS)))
@pytest.mark.parametrize("write", WRITES, ids=lambda write: write.__name__)
def test_each_view_with_each_write(kind: int, write: Any) -> None:
    number = WRITES.index(write)
    check_view_and_write(kind, write, (kind + number) % 3, reached=(kind // 3 + number) % 2 == 0)


def check_view_and_write(kind: int, write: Any, place: int, reached: bool) -> None:
    """A view of one of the arrays of `start`, and writes into it and into its base."""
    x = np.linspace(-1, 2, 6).reshape(3, 2)

    def function(x: Any, scalar: Any) -> Any:
        a = start(x)[place]
        space = np if reached else PLAIN[0]
        one = VIEWS[kind](space, a, 1)
        if np.ndim(one):
            write(space, one, scalar, 1)
            first = [np.array(a), np.array(one)]
            write(space, a, 2 * scalar, 2)
            return first, a, one
        return a, one

    try:
        expected: Any = function(x.copy(), 0.7)
    except (ValueError, IndexError, TypeError) as error:
        expected = error
    try:
        found = ad.jit(function)(x.copy(), 0.7)
    except ad.errors.AliasingError:
        return
    except (ad.errors.AdjointError, ValueError, IndexError, TypeError) as error:
        # NumPy lets ufunc.at write into a diagonal, which is read-only.
        lax = write is at and "read-only" in str(error)
        if reached and not lax and not isinstance(expected, Exception):
            raise
        return
    assert not isinstance(expected, Exception), expected
    same_values(found, expected)
