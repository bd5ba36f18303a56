"""All the spellings of writing into an array, in small arrays and in long ones.

What was computed before the write keeps the old entries; what is computed after has the new ones.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable

import numpy as np
import scipy.linalg.blas
from numpy import copyto as put_into

from tests.capture.battery.registry import fresh

Write = Callable[[np.ndarray], object]


def _add(W):
    np.add(W, 1.0, W)


def _add_by_keyword(W):
    np.add(W, 1.0, out=W)


def _add_by_stars(W):
    np.add(W, 1.0, **{"out": W})


def _add_into_a_tuple(W):
    np.add(W, 1.0, out=(W,))


def _flat(W):
    W.flat = 2


def _flat_entry(W):
    W.flat[3] = 2


def _clip(W):
    W.clip(2, 3, W)


def _clip_function(W):
    np.clip(W, 2, 3, out=W)


def _cumsum(W):
    np.cumsum(W, 0, None, W)


def _copyto(W):
    np.copyto(W, 5.0)


def _copyto_by_another_name(W):
    put_into(W, 5.0)


def _copyto_where(W):
    np.copyto(W, 5.0, where=np.arange(len(W)) % 2 == 0)


def _fill(W):
    W.fill(2.0)


def _fill_by_getattr(W):
    getattr(W, "fi" + "ll")(2.0)


def _fill_by_methodcaller(W):
    operator.methodcaller("fill", 2.0)(W)


def _fill_unbound(W):
    np.ndarray.fill(W, 2.0)


def _fill_by_map(W):
    list(map(np.ndarray.fill, [W], [2.0]))


def _iadd(W):
    operator.iadd(W, 1.0)


def _imul_by_reduce(W):
    functools.reduce(operator.imul, [W, 2.0, 3.0])


def _dunder_iadd(W):
    W.__iadd__(1.0)


def _dunder_setitem(W):
    W.__setitem__(slice(None, 3), 7.0)


def _setitem_function(W):
    operator.setitem(W, 0, 7.0)


def _augmented(W):
    W += 1.0


def _augmented_slice(W):
    W[1:4] *= 3.0


def _entry(W):
    W[2] = 9.0


def _entry_from_the_end(W):
    W[-1] -= 4.0


def _everything(W):
    W[...] = 3.0


def _mask(W):
    W[np.arange(len(W)) > 4] = 0.5


def _fancy(W):
    W[[0, 3, 5]] = [1.0, 2.0, 3.0]


def _swap(W):
    W[[0, 1]] = W[[1, 0]] + [1.0, 2.0]


def _view(W):
    part = W[2:5]
    part += 4.0


def _view_of_a_view(W):
    part = W[1:8][::2]
    part[1] = 4.0


def _reversed(W):
    W[::-1][:2] = [5.0, 6.0]


def _reshaped(W):
    W[:6].reshape(2, 3)[1, 1] = 8.0


def _raveled(W):
    W.ravel()[4] = 8.0


def _transposed(W):
    W[:6].reshape(2, 3).T[2] = 8.0


def _new_axis(W):
    W[:, None][1, 0] = 8.0


def _view_method(W):
    W.view()[0] = 8.0


def _asarray(W):
    np.asarray(W)[0] = 8.0


def _bytes(W):
    memoryview(W)[0] = 8.0


def _put(W):
    np.put(W, [0, 2], [5.0, 6.0])


def _put_method(W):
    W.put([0, 2], [5.0, 6.0])


def _putmask(W):
    np.putmask(W, np.arange(len(W)) < 3, 6.0)


def _place(W):
    np.place(W, np.arange(len(W)) < 3, [5.0, 6.0, 7.0])


def _add_at(W):
    np.add.at(W, [0, 0, 2], 1.0)


def _multiply_at(W):
    np.multiply.at(W, [1, 1], 3.0)


def _sort(W):
    W[0] = 50.0
    W.sort()


def _partition(W):
    W[0] = 50.0
    W.partition(3)


def _where_out(W):
    np.multiply(W, 2.0, out=W, where=np.arange(len(W)) % 2 == 0)


def _unary_out(W):
    np.negative(W, W)


def _reduce_into_an_entry(W):
    np.sum(W[1:3], out=W[0, ...])


def _accumulate_into(W):
    np.add.accumulate(W, out=W)


def _dot_into(W):
    np.dot(np.eye(3) * 2, np.ones(3), out=W[:3])


def _take_into(W):
    np.take(np.arange(4.0), [3, 2, 1], out=W[:3], mode="clip")


def _einsum_into(W):
    np.einsum("ij,j->i", np.eye(3), np.full(3, 4.0), out=W[:3])


def _random_fill(W):
    np.random.default_rng(0).standard_normal(out=W)


def _shuffle(W):
    W[:2] = [30.0, 40.0]
    np.random.default_rng(0).shuffle(W)


def _rounded(W):
    W += 0.4
    np.round(W, 0, W)


def _nan_to_num(W):
    W[0] = np.nan
    np.nan_to_num(W, copy=False, nan=5.0)


def _fill_diagonal(W):
    np.fill_diagonal(W[:9].reshape(3, 3), 6.0)


def _blas_scaled(W):
    scipy.linalg.blas.dscal(3.0, W)


def _resized(W):
    W[:4] = np.resize(W[4:6] + 1, 4)


def _byteswapped_twice(W):
    W.byteswap(inplace=True).byteswap(inplace=True)
    W[0] = 3.0


def _loop(W):
    for k in range(3):
        W[k] = k * 2.0


def _loop_over_rows(W):
    for row in W[:6].reshape(3, 2):
        row[:] = 2.0


def _nditer(W):
    with np.nditer(W[:5], op_flags=["readwrite"]) as rows:
        for row in rows:
            row[...] = 2.0


def _ndenumerate(W):
    for (k,), v in np.ndenumerate(W[:4]):
        W[k] = v + k


def _unpacked(W):
    W[0], W[1] = 5.0, 6.0


def _starred(W):
    first, *W[1:3], last = (1.0, 7.0, 8.0, 2.0)
    W[0] = first + last


def _for_target(W):
    for W[0] in (3.0, 4.0):
        pass


def _shifted_onto_itself(W):
    W[1:] = W[:-1] + 1.0


def _real_part(W):
    W.real[1] = 7.0


def _apply(W):
    def helper(array, value):
        array[1] = value

    helper(W, 5.0)


def _lambda(W):
    (lambda array: array.__setitem__(1, 5.0))(W)


def _partial(W):
    functools.partial(np.copyto, W)(4.0)


def _in_a_list(W):
    arrays = [W]
    arrays[0][1] = 5.0


def _in_a_comprehension(W):
    [W.__setitem__(k, 2.0) for k in range(3)]


def _exec(W):
    exec("W[0] = 5.0", {"W": W})


def _frompyfunc_out(W):
    np.ldexp(W, 2, out=W)


def _modf_out(W):
    W += 0.25
    np.modf(W, W)


def _matmul_out(W):
    np.matmul(np.eye(3) * 2, W[3:6].copy(), out=W[:3])


def _float_flags(W):
    W.setflags(write=True)
    W[0] = 5.0


WRITES: list[Write] = [
    value
    for name, value in list(globals().items())
    if name.startswith("_") and getattr(value, "__module__", "") == __name__
]
SIZES = {"": 10, "_long": 4097}
"""Longer ones are not copied when they are met, where it seems that nobody writes."""


def _constant_that_is_written(write: Write, ending: str) -> None:
    """An array that the function makes, multiplies by, and then writes into."""

    def make():
        def evaluate(x):
            W = np.full(SIZES[ending], 1.0) + np.arange(SIZES[ending]) % 3
            y = np.sum(W * x)
            write(W)
            return y + 0.001 * np.sum(W)

        return evaluate

    make.__name__ = "constant" + write.__name__ + ending
    fresh(0.7)(make)


def _outside_array_that_is_written(write: Write, ending: str) -> None:
    """The same with an array of the closure, which keeps what was written."""

    def make():
        W = np.full(SIZES[ending], 1.0) + np.arange(SIZES[ending]) % 3

        def evaluate(x):
            y = np.sum(W * x)
            write(W)
            return y

        return evaluate, lambda: W

    make.__name__ = "outside" + write.__name__ + ending
    fresh(0.7)(make)


def _buffer_that_is_written(write: Write, ending: str) -> None:
    """The same with a buffer of an object."""

    def make():
        class Model:
            def __init__(self):
                self.buffer = np.full(SIZES[ending], 1.0) + np.arange(SIZES[ending]) % 3

            def loss(self, x):
                y = np.sum(self.buffer * x)
                write(self.buffer)
                return y

        model = Model()
        return model.loss, lambda: model.buffer

    make.__name__ = "buffer" + write.__name__ + ending
    fresh(0.7)(make)


def _traced_array_that_is_written(write: Write, ending: str) -> None:
    """An array that depends on the argument."""

    def make():
        def evaluate(x):
            W = np.full(SIZES[ending], 1.0) + np.arange(SIZES[ending]) % 3 + x
            y = np.sum(W * x)
            write(W)
            return y + 0.001 * np.sum(W)

        return evaluate

    make.__name__ = "traced" + write.__name__ + ending
    fresh(0.7, smooth=0 if "round" in make.__name__ else 2)(make)


for _number, _write in enumerate(WRITES):
    _constant_that_is_written(_write, ("", "_long")[_number % 2])
    _outside_array_that_is_written(_write, ("_long", "")[_number % 2])
    if _number % 3 == 0:
        _buffer_that_is_written(_write, "_long")
    else:
        _traced_array_that_is_written(_write, "")
