"""Views of views, fancy indices, masks, methods of ufuncs: writes that must be seen, or not."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from tests.capture.battery.registry import program

ROW = np.array([0.7, 1.3, 0.4, 2.1])
SQUARE = np.array([[0.7, 1.3], [0.4, 2.1]])


@program(ROW)
def a_view_sees_the_base(x):
    y = x * 2
    part = y[1:3]
    y[2] = 5.0
    return np.sum(part * x[:2])


@program(ROW)
def the_base_sees_a_view(x):
    y = x * 2
    part = y[1:3]
    part *= x[0]
    return np.sum(y**2)


@program(ROW)
def a_view_of_a_view_of_a_view(x):
    y = np.concatenate([x, x])
    part = y[1:][::2][1:]
    part[0] = x[3] ** 2
    return np.sum(y * np.arange(8))


@program(ROW)
def fancy_indexing_copies(x):
    y = x * 2
    part = y[[0, 1]]
    part += 10
    return np.sum(y) + np.prod(part)


@program(ROW)
def masks_copy(x):
    y = x * 2
    part = y[y > 1]
    part *= 3
    return np.sum(y) + np.sum(part**2)


@program(ROW)
def masks_write(x):
    y = x * 2
    y[y > 1] *= 3
    y[x < 0.5] = x[0]
    return np.sum(y**2)


@program(ROW)
def repeated_indices_write_once(x):
    y = np.zeros(4)
    y[[0, 0, 1]] += x[:3]
    return np.sum(y * x)


@program(ROW)
def add_at_repeats(x):
    y = np.zeros(4)
    np.add.at(y, [0, 0, 1], x[:3])
    return np.sum(y * x)


@program(ROW)
def the_last_of_repeated_writes_wins(x):
    y = np.zeros(4)
    y[[0, 0, 1]] = x[:3]
    return np.sum(y * x)


@program(ROW)
def overlapping_copies(x):
    y = x * 2
    y[1:] = y[:-1]
    return np.sum(y * np.arange(4))


@program(ROW)
def overlapping_additions(x):
    y = x * 2
    y[1:] += y[:-1]
    return np.sum(y * np.arange(4))


@program(ROW)
def overlapping_by_out(x):
    y = x * 2
    np.add(y[:-1], y[1:], out=y[1:])
    return np.sum(y * np.arange(4))


@program(ROW)
def reversed_in_place(x):
    y = x * 2
    y[:] = y[::-1]
    return np.sum(y * np.arange(4))


@program(ROW)
def a_swap_of_entries(x):
    y = x.copy()
    y[0], y[3] = y[3], y[0]
    return np.sum(y * np.arange(4))


@program(SQUARE)
def a_swap_of_rows_goes_wrong(x):
    y = x.copy()
    y[0], y[1] = y[1], y[0]  # of views
    return np.sum(y * [[1.0, 2.0], [3.0, 4.0]])


@program(SQUARE)
def a_swap_of_rows(x):
    y = x.copy()
    y[[0, 1]] = y[[1, 0]]
    return np.sum(y * [[1.0, 2.0], [3.0, 4.0]])


@program(SQUARE)
def rows_are_views(x):
    y = x.copy()
    for row in y:
        row /= np.sum(row)
    return np.sum(y**2)


@program(SQUARE)
def columns_are_views(x):
    y = x.copy()
    for column in y.T:
        column -= np.mean(column)
    return np.sum(y**2 * [[1.0, 2.0], [3.0, 4.0]])


@program(SQUARE)
def unpacked_rows_are_views(x):
    y = x.copy()
    first, second = y
    first += second
    second *= 2
    return np.sum(y**2)


@program(SQUARE)
def a_list_of_rows(x):
    rows = list(x * 1.0)
    rows[0] += rows[1]
    rows[1] = rows[0] * 2
    return np.sum(np.array(rows) ** 2)


@program(SQUARE)
def diagonal_writes(x):
    y = x.copy()
    np.fill_diagonal(y, 0.5)
    y[np.diag_indices(2)] += x[0]
    y.flat[::3] *= 2
    return np.sum(y**2)


@program(SQUARE)
def the_diagonal_is_read_only(x):
    y = x.copy()
    try:
        np.diagonal(y)[0] = 3.0
    except ValueError:
        return np.sum(y) * 2
    return np.sum(y)


@program(SQUARE)
def a_broadcast_is_read_only(x):
    y = np.broadcast_to(x[0], (3, 2))
    try:
        y[0, 0] = 3.0
    except ValueError:
        return np.sum(y) * 2
    return np.sum(y)


@program(SQUARE)
def reshape_is_a_view(x):
    y = x.copy()
    flat = y.reshape(-1)
    flat[1] = 5.0
    return np.sum(y * [[1.0, 2.0], [3.0, 4.0]])


@program(SQUARE)
def reshape_of_a_transpose_is_a_copy(x):
    y = x.copy()
    flat = y.T.reshape(-1)
    flat[1] = 5.0
    return np.sum(y * [[1.0, 2.0], [3.0, 4.0]]) + np.sum(flat * np.arange(4))


@program(SQUARE)
def flatten_is_a_copy(x):
    y = x.copy()
    flat = y.flatten()
    flat[1] = 5.0
    return np.sum(y) + np.sum(flat**2)


@program(SQUARE)
def ravel_of_columns(x):
    y = x.copy()
    flat = y.ravel(order="F")
    flat[1] = 5.0
    return np.sum(y * [[1.0, 2.0], [3.0, 4.0]]) + np.sum(flat * np.arange(4))


@program(SQUARE)
def squeezed_and_expanded(x):
    y = np.expand_dims(x * 2, 0)
    y[0, 1] = 3.0
    z = np.squeeze(y)
    z[0, 0] = x[1, 1]
    return np.sum(y**2)


@program(SQUARE)
def moved_axes_are_views(x):
    y = np.stack([x, x * 2])
    np.moveaxis(y, 0, -1)[0, 0, 1] = 7.0
    np.swapaxes(y, 1, 2)[1, 1, 0] = x[0, 0] ** 2
    return np.sum(y * np.arange(8).reshape(2, 2, 2))


@program(ROW)
def split_parts_are_views(x):
    y = x * 2
    first, second = np.split(y, 2)
    first += second
    second[:] = 1.0
    return np.sum(y**2)


@program(ROW)
def windows_are_views(x):
    y = x * 2
    windows = sliding_window_view(y, 2)
    before = np.sum(windows * [1.0, 2.0])
    y[1] = 0.5
    return before + np.sum(windows**2)


@program(ROW)
def real_and_imaginary_parts_are_views(x):
    z = x + 1j * x**2
    z.real[0] = 2.0
    z.imag *= x
    return np.sum(np.abs(z) ** 2)


@program(ROW)
def concatenation_copies(x):
    y = x * 2
    z = np.concatenate([y, y])
    y += 1
    return np.sum(z * np.arange(8)) + np.sum(y)


@program(ROW)
def a_ufunc_into_a_view(x):
    out = np.zeros((2, 4))
    np.multiply(x, x, out=out[1])
    np.sin(x, out=out[0])
    return np.sum(out * np.arange(8).reshape(2, 4))


@program(ROW)
def ufuncs_with_where(x):
    out = np.full(4, 0.1)
    np.log(x, out=out, where=x > 1)
    np.sqrt(x, where=x < 1, out=out)
    return np.sum(out**2) + np.sum(x, where=x > 1)
