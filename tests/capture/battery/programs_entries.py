"""Structured writes: methods of ufuncs, selections, padding, growing arrays, arguments."""

from __future__ import annotations

import numpy as np

from tests.capture.battery.registry import fresh, program

ROW = np.array([0.7, 1.3, 0.4, 2.1])
SQUARE = np.array([[0.7, 1.3], [0.4, 2.1]])


@program(ROW)
def methods_of_ufuncs(x):
    return (
        np.add.reduce(x)
        + np.sum(np.multiply.accumulate(x))
        + np.sum(np.subtract.outer(x, x[:2]) ** 2)
        + np.sum(np.maximum.accumulate(x))
        + np.sum(np.add.reduceat(x, [0, 2]) * [1.0, 2.0])
        + np.multiply.reduce(x, initial=2.0, where=x > 0.5)
    )


@program(ROW)
def subtract_at_and_maximum_at(x):
    y = np.ones(4)
    np.subtract.at(y, [1, 1, 3], x[:3])
    np.maximum.at(y, [0, 2], x[2:])
    np.negative.at(y, [0])
    return np.sum(y**3)


@program(ROW)
def putmask_place_and_put(x):
    y = x * 1.0
    np.putmask(y, x > 1, x**2)
    np.place(y, x < 0.5, [9.0])
    np.put(y, [0], x[3])
    return np.sum(y * np.arange(1, 5))


@program(ROW)
def put_along_an_axis(x):
    y = np.outer(x, x)
    np.put_along_axis(y, np.argmax(y, axis=1)[:, None], 0.0, axis=1)
    return np.sum(y) + np.sum(np.take_along_axis(y, np.argsort(y, axis=1), axis=1)[:, -1])


@program(ROW)
def select_and_choose(x):
    y = np.select([x > 2, x > 1], [x**2, -x], default=0.5 * x)
    return np.sum(y) + np.sum(np.choose([0, 1, 0, 1], [x, y]))


@program(ROW)
def piecewise_functions(x):
    return np.sum(np.piecewise(x, [x < 0.5, x > 1], [lambda v: v**2, lambda v: -v, 3.0]))


@program(ROW)
def compress_extract_and_nonzero(x):
    places = np.nonzero(x > 0.6)[0]
    return np.sum(np.compress(x > 1, x)) + np.sum(np.extract(x < 1, x) ** 2) + np.sum(x[places])


@program(ROW)
def partition_and_lexsort(x):
    y = np.partition(x, 2)
    order = np.lexsort((x, [1, 0, 1, 0]))
    return np.max(y[:2]) * 3 + np.sum(x[order] * np.arange(4))


@program(ROW)
def unique_with_inverse(x):
    values, inverse, counts = np.unique(np.round(x), return_inverse=True, return_counts=True)
    return np.sum(x * inverse) + len(values) * np.sum(counts * x[: len(counts)])


@program(ROW)
def bincount_with_weights(x):
    return np.sum(np.bincount([0, 1, 1, 2], weights=x) ** 2)


@program(ROW)
def meshes(x):
    a, b = np.meshgrid(x[:2], x[2:], indexing="ij")
    i, j = np.ogrid[:2, :2]
    return np.sum(a * b * (i + 2 * j)) + np.sum(np.ix_([0, 1], [1])[0] * a)


@program(ROW)
def r_and_c(x):
    return np.sum(np.r_[x, 1.0, x[::-1]] * np.arange(9)) + np.sum(np.c_[x, x**2] @ [1.0, 2.0])


@program(ROW)
def padded_rolled_and_tiled(x):
    y = np.pad(x, (1, 2), mode="edge") + np.roll(np.tile(x, 2), 1)[:7]
    return np.sum(y * np.arange(7)) + np.sum(np.repeat(x, [1, 0, 2, 1]) ** 2)


@program(ROW)
def inserted_appended_and_deleted(x):
    y = np.insert(np.append(x, x[0]), 1, x[1] ** 2)
    return np.sum(np.delete(y, [0, 2]) * np.arange(4))


@program(ROW)
def resized_and_trimmed(x):
    return np.sum(np.resize(x, 6) * np.arange(6)) + np.sum(np.trim_zeros(np.append(x, 0.0)))


@program(ROW)
def structured_by_columns(x):
    table = {"a": x[:2].copy(), "b": x[2:].copy()}
    for name in table:
        table[name] *= 2
        table[name][0] += 1
    return np.sum(table["a"] * table["b"])


@program(ROW)
def empty_arrays_that_are_filled(x):
    y = np.empty(4)
    y[:] = x
    z = np.empty_like(x)
    z[::2], z[1::2] = x[:2], x[2:]
    w = np.zeros_like(x, shape=(2, 4))
    w[...] = y
    return np.sum(y * z) + np.sum(w)


@program(ROW)
def a_growing_array(x):
    y = np.array([])
    for v in x:
        y = np.append(y, v**2)
    y = np.vstack([y, y * 2])
    return np.sum(y * np.arange(8).reshape(2, 4))


@program(ROW)
def whole_numbers_are_truncated(x):
    counts = np.zeros(4, int)
    counts[:2] = [3.9, 2.1]
    return np.sum(x * counts)


@program(ROW)
def single_precision_rounds(x):
    y = np.zeros(4, np.float32)
    y[:] = x
    return np.sum(y) * np.float32(2)


@program(ROW)
def arguments_are_written_into(x):
    x *= 2
    x[0] = 1.0
    return np.sum(x**2)


@program(ROW, np.ones(4))
def an_argument_is_the_output(x, out):
    np.multiply(x, 3.0, out=out)
    return np.sum(out**2)


@program(SQUARE)
def sorted_in_place_along_axes(x):
    y = x.copy()
    y.sort(axis=0)
    y[:, ::-1].sort(axis=1)
    return np.sum(y * [[1.0, 2.0], [3.0, 4.0]])


@program(np.asfortranarray(SQUARE))
def fortran_order_is_kept(x):
    y = x * 2
    return np.sum(x) * (2 if y.flags.f_contiguous else 3) + y.ravel("K")[1]


@program(ROW[::2], ways=("grad", "jvp", "jit", "jit_grad"))  # a batch lies in another way
def strided_arguments(x):
    y = x.copy()
    y[0] = 3.0
    return np.sum(y * x) * (2 if x.flags.contiguous else 3)


@program(np.arange(1.0, 25.0).reshape(2, 3, 4) / 10)
def views_in_three_dimensions(x):
    y = x.copy()
    y[0, ..., 1] = y[1, :, 2] ** 2
    y[:, None, 1][:, 0, ::2] *= 3
    y[..., -1, :][1] += 1
    y[[0, 1], [0, 2]] -= 0.5
    y[:, [True, False, True], 0] = 2.0
    return np.sum(y * np.arange(24).reshape(2, 3, 4))


@program(ROW)
def indices_of_all_kinds(x):
    y = np.outer(x, x)
    rows = y[np.newaxis, 1], y[..., 0], y[-1:, :2], y[[0, 2]], y[x > 1], y[1:3, [0, 3]], y[[[0, 1]]]
    return sum(np.sum(row * (k + 1)) for k, row in enumerate(rows))


@fresh(ROW)
def a_constant_is_not_written():
    data = np.ones(4)

    def f(x):
        y = data
        y = y + x
        y += 1
        return np.sum(y**2)

    return f, lambda: data


@fresh(ROW)
def a_constant_is_written_through_a_view():
    data = np.ones((2, 4))

    def f(x):
        before = np.sum(data * x)
        data.T[1] = 5.0
        data[0][::2] += 1.0
        return before + np.sum(data * x)

    return f, lambda: data


@fresh(ROW)
def a_constant_whose_base_is_written():
    base = np.ones(8)
    part = base[::2]

    def f(x):
        before = part * x
        base[:] = 3.0
        return np.sum(before) + np.sum(part * x)

    return f, lambda: [base, part]
