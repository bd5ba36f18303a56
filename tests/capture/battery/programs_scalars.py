"""Arrays of no axes, NumPy's scalars and Python's numbers are told apart as NumPy tells them."""

from __future__ import annotations

import numbers

import numpy as np
import scipy.interpolate
import scipy.optimize

from tests.capture.battery.registry import fresh, program

NUMBER = np.float64(0.7)
ROW = np.array([0.7, 1.3])


@program(0.7)
def alias_of_a_zero_dimensional_array(x):
    total = np.asarray(x * 0)
    state = {"a": total}
    total += x
    return state["a"]


@program(NUMBER)
def alias_of_a_scalar_is_none(x):
    total = x * 0
    state = {"a": total}
    total += x
    return state["a"] + total


@program(NUMBER)
def array_of_a_number_is_an_array(x):
    return np.array(x) * 2 if isinstance(np.array(x), np.ndarray) else x * 5


@program(NUMBER)
def asarray_of_a_number_is_an_array(x):
    return x * 2 if isinstance(np.asarray(x), np.ndarray) else x * 5


@program(ROW)
def an_entry_is_no_array(x):
    return x[0] * 2 if isinstance(x[0], np.ndarray) else x[0] * 5


@program(ROW)
def an_entry_is_a_float(x):
    return x[0] * 2 if isinstance(x[0], float) else x[0] * 5


@program(ROW)
def the_type_of_an_entry(x):
    return x[0] * 2 if type(x[0]) is np.float64 else x[0] * 5


@program(0.7)
def the_type_of_a_python_number(x):
    return x * 2 if type(x) is float else x * 5


@program(0.7)
def isscalar_of_a_number(x):
    return x * 2 if np.isscalar(x) else x * 5


@program(np.array(0.7))
def isscalar_of_an_array_of_no_axes(x):
    return x * 2 if np.isscalar(x) else x * 5


@program(np.array(0.7))
def arithmetic_makes_scalars_of_arrays_of_no_axes(x):
    y = x * 1.0
    return y * 2 if isinstance(y, np.ndarray) else y * 5


@program(np.array(0.7))
def copy_of_an_array_of_no_axes(x):
    y = x.copy()
    y += 1
    return y * x


@program(np.array(0.7))
def in_place_on_an_array_of_no_axes(x):
    y = np.zeros(())
    z = y
    y += x
    y *= 3
    return z


@program(np.array(0.7))
def entry_of_an_array_of_no_axes(x):
    return x[()] * 2 + (1.0 if isinstance(x[()], np.ndarray) else 2.0)


@program(np.array(0.7))
def ellipsis_of_an_array_of_no_axes(x):
    return x[...] * 2 + (1.0 if isinstance(x[...], np.ndarray) else 2.0)


@program(ROW)
def written_through_an_entry_by_ellipsis(x):
    y = x.copy()
    entry = y[0, ...]
    entry += 5
    return np.sum(y**2)


@program(ROW)
def sum_is_a_scalar(x):
    total = np.sum(x)
    other = total
    total += 1
    return other * 10 + total


@program(ROW)
def sum_with_keepdims_is_an_array(x):
    total = np.sum(x, keepdims=True)
    other = total
    total += 1
    return np.sum(other * 10 + total)


@program(ROW)
def reduction_into_an_array_of_no_axes(x):
    out = np.zeros(())
    total = np.sum(x, out=out)
    total += 1
    return out * 2


@program(NUMBER)
def ndim_size_shape_of_a_number(x):
    return x * (np.ndim(x) + 2 * np.size(x) + len(np.shape(x)) + x.ndim + x.size)


@program(0.7)
def number_protocols(x):
    return x * (1 + isinstance(x, numbers.Number) + 2 * isinstance(x, numbers.Real))


@program(0.7)
def array_protocol_is_looked_for(x):
    return x * 2 if hasattr(x, "shape") else x * 5


@program(NUMBER)
def item_is_tested_by_hasattr(x):
    return x.item() * 2 if hasattr(x, "item") else x * 5


@program(NUMBER)
def len_of_a_number_raises(x):
    try:
        return x * len(x)
    except TypeError:
        return x * 7


@program(0.7)
def iteration_over_a_number_raises(x):
    try:
        return sum(x)
    except TypeError:
        return x * 7


@program(NUMBER)
def indexing_a_number_raises(x):
    try:
        return x[0]
    except IndexError:
        return x * 7


@program(0.7)
def indexing_a_python_number_raises(x):
    try:
        return x[0]
    except TypeError:
        return x * 7


@program(np.array(0.7))
def iteration_over_an_array_of_no_axes_raises(x):
    try:
        return sum(v for v in x)
    except TypeError:
        return x * 7.0


@program(NUMBER)
def writing_into_a_scalar_raises(x):
    try:
        x[()] = 2.0
    except TypeError:
        return x * 3
    return x


@program(ROW)
def vector_as_a_truth_raises(x):
    try:
        return x * 2 if x > 0 else x
    except ValueError:
        return x * 7


@program(ROW)
def vector_as_a_float_raises(x):
    try:
        return float(x) * x
    except TypeError:
        return x * 7


@program(ROW)
def item_of_a_vector_raises(x):
    try:
        return x.item() * x
    except ValueError:
        return x * 7


@program(np.array([0.7]))
def item_of_a_single_entry(x):
    return x.item() * 3


@program(np.array([0.7]))
def truth_of_a_single_entry(x):
    return np.sum(x) * (2 if x > 0.5 else 3)


@program(ROW)
def squeeze_to_no_axes_is_an_array(x):
    y = x[:1].squeeze()
    return y * 2 + (1.0 if isinstance(y, np.ndarray) else 2.0)


@program(ROW)
def squeeze_to_no_axes_is_a_view(x):
    z = x.copy()
    y = z[:1].squeeze()
    y += 4
    return np.sum(z**2)


@program(ROW)
def reshape_to_no_axes(x):
    return x[1:].reshape(()) * 2


@program(ROW)
def product_of_vectors_is_a_scalar(x):
    y = x @ x
    z = y
    y += 1
    return z * y


@program(ROW)
def einsum_to_no_axes(x):
    y = np.einsum("i,i->", x, x)
    return y * (2.0 if isinstance(y, np.ndarray) else 3.0)


@program(ROW)
def where_of_scalars_is_an_array(x):
    y = np.where(x[0] > 0, x[0], x[1])
    return y * (2.0 if isinstance(y, np.ndarray) else 3.0)


@program(ROW)
def clip_of_a_scalar(x):
    y = np.clip(x[0], 0, 1)
    return y * (2.0 if isinstance(y, np.ndarray) else 3.0)


@program(NUMBER)
def atleast_1d_of_a_number(x):
    y = np.atleast_1d(x)
    y = y * np.arange(1, 4)
    return y


@program(0.7)
def full_of_a_number(x):
    return np.full((2, 2), x) * np.eye(2)


@program(0.7)
def array_of_a_python_number_has_no_axes(x):
    y = np.array(x)
    return y + (1.0 if y.shape == () and y.dtype == np.float64 else 2.0)


@program(np.float32(0.7))
def single_precision_scalar_stays(x):
    return x * 2 + 1


@program(np.float32(0.7))
def single_precision_meets_a_double(x):
    return x * np.float64(2)


@program(np.float32(0.7))
def single_precision_is_no_python_float(x):
    return x * 2 if isinstance(x, float) else x * 5


@program(np.array([0.7, 1.3], np.float32))
def single_precision_array_meets_a_list(x):
    return x * [1.0, 2.0]


@program(0.7)
def python_number_and_single_precision_array(x):
    return np.sum(np.ones(3, np.float32) * x)


@program(0.7)
def zeros_like_a_number(x):
    y = np.zeros_like(x)
    y += x
    return y * 2


@program(ROW)
def dtype_of_an_entry(x):
    return x * 2 if x[0].dtype == x.dtype and x.dtype.kind == "f" else x * 5


@program(ROW)
def dtype_names(x):
    return x * 2 if x.dtype.name == "float64" and x.astype(np.float32).dtype.itemsize == 4 else x


@program(ROW)
def functions_that_take_both(x):
    def total(v):
        return np.sum([total(each) for each in v]) if np.iterable(v) else v**2

    return total(x) + total(x[0])


@program(0.7)
def scalar_or_array_in_and_out(x):
    def density(t):
        scalar = np.isscalar(t)
        t = np.atleast_1d(t).astype(float)
        out = np.where(t > 0.5, np.exp(-t), 0.0)
        return out[0] if scalar else out

    return density(x) + np.sum(density(np.array([x, 0.1])))


@program(ROW)
def max_of_an_entry_and_a_number(x):
    return max(x[0], 0.5) * 2 + min(x[1], 0.5) * x[0]


@fresh(ROW)
def running_total_in_an_array_of_no_axes():
    total = np.zeros(())

    def add(x):
        mine = total.copy()
        mine += np.sum(x)
        return mine * 2

    return add, lambda: total


@program(np.array([[0.7, 1.3]]))
def tolist_of_a_matrix(x):
    rows = x.tolist()
    return rows[0][0] * rows[0][1]


@program(NUMBER)
def identity_of_a_float(x):
    return x * 2 if float(x) == x and x is not None else x * 5


@program(ROW)
def operators_of_the_class_of_arrays(x):
    return np.ndarray.__mul__(x, 2.0) + np.ndarray.__radd__(x, 1.0) - np.ndarray.__pow__(x, 2)


@program(ROW)
def interpolants_at_a_number(x):
    values = np.append(x, 4.0)
    cubic = scipy.interpolate.CubicSpline(np.arange(3.0), values)
    linear = scipy.interpolate.interp1d(np.arange(3.0), values)
    return [cubic(0.3), linear(x[0]), cubic.derivative()(x[1]), cubic(0.3) * 2.0]


@program(ROW)
def a_root_from_a_number(x):
    return scipy.optimize.root(lambda y: y**2 - x[0], 1.0).x
