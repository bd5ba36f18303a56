"""Arrays that are not traced, with traced arguments to their methods; and ways through memory."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import adjoint as ad

POINT = np.array([0.3, 0.7, 1.1])
X = np.arange(12.0).reshape(4, 3)
S = np.array([0.0, 0.5, 1.0])


def _product_into(w):
    products = np.zeros(4)
    X.dot(w, out=products)
    return np.sum(products**2)


def _kept_method(w):
    product = X.dot
    return np.sum(product(w) ** 2)


PROGRAMS = {
    "product": lambda w: np.sum(X.dot(w) ** 2),
    "product of a transpose": lambda w: np.sum(X[:3].T.dot(w) ** 2),
    "product into": _product_into,
    "the method kept": _kept_method,
    "the method by name": lambda w: np.sum(getattr(X, "dot")(w) ** 2),  # noqa: B009
    "search": lambda w: np.sum(w * S.searchsorted(w)),
    "clip": lambda w: np.sum(S.clip(0.1 * w, w)),
    "initial": lambda w: S.sum(initial=w[0]),
    "choose": lambda w: np.sum(np.array([0, 1, 0]).choose([w, 2 * w]) ** 2),
    "choose among": lambda w: np.sum((3 * w).astype(int).choose([S, w, 2 * w, S]) ** 2),
    "an array in a list": lambda w: sum(row.dot(w) ** 2 for row in [*X]),
    "windows": lambda w: np.sum(as_strided(w, (2, 2), (8, 8)) ** 2),
    "steps of a matrix": lambda w: np.sum(as_strided(np.outer(w, w), (3,), (32,)) ** 3),
    "steps of a transpose": lambda w: np.sum(as_strided(np.outer(w, 2 * w).T[1:], (2, 2)) ** 3),
    "backwards": lambda w: np.sum(as_strided(w[::-1], (2,), (-16,)) * [1.0, 5.0]),
    "all arguments in order": lambda w: np.sum(as_strided(w, (2, 2), (8, 8), False, False) ** 2),
    "single": lambda w: np.sum(as_strided(w.astype(np.float32), (2,), (8,)) * 2.0),
    "complex": lambda w: np.sum(as_strided(w + 1j * w[::-1], (2,), (32,)).imag ** 2),
    "windows after a write": lambda w: _written_through(w),
    "data of what may be masked": lambda w: np.sum(np.ma.getdata(w) ** 2),
    "full, with an order": lambda w: np.sum(np.full((2, 2), w[0], float, "F") * 3.0),
    "a copy if needed": lambda w: np.sum(np.array(w, copy=np._CopyMode.IF_NEEDED) ** 2),
    "memory": lambda w: np.sum(w) * (1 if np.shares_memory(w, w[1:]) else 3),
    "other memory": lambda w: np.sum(w) * (1 if np.may_share_memory(w, 2 * w) else 3),
    "order": lambda w: np.sum(w) * (1 if np.isfortran(np.outer(w, w).T) else 3),
}


def _written_through(w):
    y = w * 1.0
    windows = as_strided(y, (2, 2), (8, 8))
    y[1] = 5.0 * w[2]
    return np.sum(windows**2)


@pytest.mark.parametrize("derive", [lambda f: f, ad.jit], ids=["replayed", "jitted"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_slopes(name, derive):
    program = PROGRAMS[name]
    function = derive(ad.value_and_grad(program))
    for point in (POINT, POINT, POINT + 0.02):
        value, gradient = function(point)
        np.testing.assert_allclose(value, program(point), rtol=1e-7 if name == "single" else 1e-15)
        step = 1e-3 if name == "single" else 1e-6
        differences = [
            (program(point + e) - program(point - e)) / (2 * step) for e in step * np.eye(3)
        ]
        np.testing.assert_allclose(gradient, differences, rtol=1e-3 if name == "single" else 1e-6)


@pytest.mark.parametrize(
    "write",
    [
        lambda a, w: a.fill(w[0]),
        lambda a, w: a.put([0], w[:1]),
        lambda a, w: np.eye(3).dot(w, out=a),
    ],
    ids=["fill", "put", "out"],
)
def test_what_would_write_traced_values_into_an_outside_array_is_refused(write):
    kept = [S, S]
    before = S.copy()
    with pytest.raises((ad.errors.DroppedDerivativeError, ad.errors.UnsupportedFunctionError)):
        ad.grad(lambda w: write(kept[0], w) or np.sum(w))(POINT)
    np.testing.assert_array_equal(S, before)


@pytest.mark.parametrize(
    ("shape", "strides"),
    [((4,), (8,)), ((2,), (-8,)), ((2, 2), (8, 16)), ((2,), (4,)), ((2,), (1 << 40,))],
)
def test_steps_beyond_the_memory_are_refused(shape, strides):
    with pytest.raises(ad.errors.UnsupportedFunctionError, match="as_strided would read"):
        ad.grad(lambda w: np.sum(as_strided(w * 1.0, shape, strides)))(POINT)


def test_what_as_strided_gives_is_not_written_into():
    def writes(w):
        windows = as_strided(w * 1.0, (2, 2), (8, 8))
        windows[0, 0] = 2.0
        return np.sum(windows)

    with pytest.raises(ad.errors.UnsupportedFunctionError, match="cannot be written into"):
        ad.grad(writes)(POINT)


def test_ways_through_memory_for_many_at_once():
    points = np.stack([POINT, 2 * POINT], axis=1)
    f = lambda w: np.sum(as_strided(w, (2, 2), w.strides * 2) ** 2) * np.shares_memory(w, w[1:])  # noqa: E731
    np.testing.assert_allclose(
        ad.vmap(ad.grad(f), in_axes=1)(points), [ad.grad(f)(POINT), ad.grad(f)(2 * POINT)]
    )
