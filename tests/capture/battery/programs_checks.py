"""What NumPy and SciPy check, and raise: every call that fails there fails here, and only there."""

from __future__ import annotations

import numpy as np
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.signal
import scipy.special

from tests.capture.battery.checking import add_calls

X = np.array([0.7, 1.3, 2.1])
M = np.array([[1.0, 2.0], [3.0, 4.0]])


def _unravel_index(x):
    return x[np.unravel_index(7, x.shape)[0]]


def _ravel_multi_index(x):
    return x[np.ravel_multi_index((3, 1), (2, 2))]


def _digitize_of_unsorted_bins(x):
    return np.sum(x * np.digitize(x, [0.0, 2.0, 1.0]))


def _digitize_of_traced_unsorted_bins(x):
    return np.sum(x * np.digitize([0.5], x[[1, 0, 2]]))


def _histogram_of_nan(x):
    return np.sum(x * np.histogram(np.append(x, np.nan), bins=4)[0][:3])


def _histogram_with_falling_edges(x):
    return np.sum(x[:2] * np.histogram(x, bins=[3.0, 2.0, 0.0])[0])


def _histogram_with_a_bad_range(x):
    return np.sum(x * np.histogram(x, bins=3, range=(2.0, 1.0))[0])


def _histogram_with_no_bins(x):
    return np.sum(x) * np.histogram(x, bins=0)[0].size


def _quantile_out_of_range(x):
    return np.quantile(x, 1.5)


def _percentile_out_of_range(x):
    return np.percentile(x, [50, 101])[1]


def _quantile_at_a_traced_place(x):
    return np.quantile(x, x[2])


def _average_with_zero_weights(x):
    return np.average(x, weights=np.zeros(3))


def _average_with_weights_that_cancel(x):
    return np.average(x, weights=x - np.array([0.7, 1.3, 2.1]))


def _average_with_other_lengths(x):
    return np.average(x, weights=np.ones(2))


def _singular_matrix_inverted(x):
    return np.sum(np.linalg.inv(np.outer(x, x) * 0))


def _singular_system(x):
    return np.sum(np.linalg.solve(np.zeros((3, 3)), x))


def _indefinite_cholesky(x):
    return np.sum(np.linalg.cholesky(np.diag(x - 1.0)))


def _cholesky_of_a_vector(x):
    return np.sum(np.linalg.cholesky(x))


def _inverse_of_a_rectangle(x):
    return np.sum(np.linalg.inv(np.stack([x, x])))


def _eigenvalues_of_nan(x):
    return np.sum(np.linalg.eigvalsh(np.diag(x) * np.nan))


def _norm_of_an_unknown_order(x):
    return np.linalg.norm(x, ord="nuc")


def _matrix_power_of_a_fraction(x):
    return np.sum(np.linalg.matrix_power(np.diag(x), 1.5))


def _indefinite_solveh_banded(x):
    bands = np.vstack([[0.0, 5.0, 5.0], x])
    return np.sum(scipy.linalg.solveh_banded(bands, np.ones(3)))


def _indefinite_scipy_cholesky(x):
    return np.sum(scipy.linalg.cholesky(np.diag(x - 1.0), lower=True))


def _scipy_solve_of_nan(x):
    return np.sum(scipy.linalg.solve(np.diag(x), x * np.nan))


def _singular_triangular_system(x):
    return np.sum(scipy.linalg.solve_triangular(np.diag(x * [1, 0, 1]), x))


def _scipy_solve_of_other_lengths(x):
    return np.sum(scipy.linalg.solve(np.eye(2), x))


def _cubic_spline_of_falling_places(x):
    return scipy.interpolate.CubicSpline([2.0, 1.0, 0.0], x)(0.5)


def _cubic_spline_of_equal_places(x):
    return scipy.interpolate.CubicSpline([0.0, 1.0, 1.0], x)(0.5)


def _cubic_spline_of_other_lengths(x):
    return scipy.interpolate.CubicSpline([0.0, 1.0], x)(0.5)


def _cubic_spline_of_traced_falling_places(x):
    return scipy.interpolate.CubicSpline(x[::-1], x)(1.0)


def _simpson_of_other_lengths(x):
    return scipy.integrate.simpson(x, x=np.linspace(0, 1, 4))


def _trapezoid_of_other_lengths(x):
    return np.trapezoid(x, np.linspace(0, 1, 5))


def _interp_of_other_lengths(x):
    return np.interp(0.5, [0.0, 1.0], x)


def _interp_of_nothing(x):
    return np.interp(x, [], []).sum()


def _gradient_of_a_single_point(x):
    return np.sum(np.gradient(x[:1]))


def _convolution_with_nothing(x):
    return np.sum(np.convolve(x, []))


def _unknown_mode_of_convolution(x):
    return np.sum(np.convolve(x, x, mode="some"))


def _broadcast_of_other_shapes(x):
    return np.sum(x + np.ones(2))


def _product_of_other_shapes(x):
    return np.sum(np.ones((2, 2)) @ x)


def _dot_of_other_shapes(x):
    return np.dot(x, np.ones(4))


def _einsum_of_other_shapes(x):
    return np.einsum("i,i", x, np.ones(2))


def _einsum_with_too_many_letters(x):
    return np.einsum("ij->", x)


def _reshape_to_another_size(x):
    return np.sum(x.reshape(2, 2))


def _index_out_of_bounds(x):
    return x[3]


def _negative_index_out_of_bounds(x):
    return x[-4]


def _fancy_index_out_of_bounds(x):
    return np.sum(x[[0, 5]])


def _mask_of_another_length(x):
    return np.sum(x[np.array([True, False])])


def _too_many_indices(x):
    return x[0, 0]


def _index_by_a_float(x):
    return x[1.0]


def _take_out_of_bounds(x):
    return np.sum(np.take(x, [0, 3]))


def _choose_out_of_range(x):
    return np.sum(np.choose([0, 2, 1], [x, x]))


def _concatenation_of_other_shapes(x):
    return np.sum(np.concatenate([x, np.ones((2, 2))]))


def _concatenation_of_nothing(x):
    return np.sum(x) + np.concatenate([]).size


def _stack_of_other_shapes(x):
    return np.sum(np.stack([x, np.ones(2)]))


def _split_that_does_not_divide(x):
    return np.sum(np.split(x, 2)[0])


def _axis_out_of_range(x):
    return np.sum(np.sum(x, axis=1))


def _axes_twice(x):
    return np.sum(np.transpose(np.outer(x, x), (0, 0)))


def _squeeze_of_a_long_axis(x):
    return np.sum(np.squeeze(x, axis=0))


def _maximum_of_nothing(x):
    return np.max(x[:0])


def _argmax_of_nothing(x):
    return x[np.argmax(x[x > 9])]


def _pad_with_an_unknown_mode(x):
    return np.sum(np.pad(x, 1, mode="other"))


def _pad_by_less_than_nothing(x):
    return np.sum(np.pad(x, -1))


def _polyfit_of_nothing(x):
    return np.sum(np.polyfit(x[:0], x[:0], 1))


def _polynomial_of_a_matrix(x):
    return np.sum(np.roots(np.outer(x, x)))


def _determinant_of_a_rectangle(x):
    return np.linalg.det(np.stack([x, x]))


def _cross_of_long_vectors(x):
    return np.sum(np.cross(np.append(x, x), np.append(x, x)))


def _clip_without_bounds(x):
    return np.sum(np.clip(x, 2.0))


def _linspace_of_a_negative_number(x):
    return np.sum(np.linspace(x[0], x[1], -1))


def _arange_by_zero(x):
    return np.sum(np.arange(0, 1, 0) * x)


def _log_of_a_word(x):
    return np.sum(x * np.log("one"))


def _roll_along_no_axis(x):
    return np.sum(np.roll(x, 1, axis=2))


def _unknown_keyword(x):
    return np.sum(x, axes=0)


def _fft_of_no_points(x):
    return np.sum(np.abs(np.fft.fft(x, 0)))


def _insert_out_of_bounds(x):
    return np.sum(np.insert(x, 7, 1.0))


def _delete_out_of_bounds(x):
    return np.sum(np.delete(x, 7))


def _place_of_nothing(x):
    y = x.copy()
    np.place(y, y > 0, [])
    return np.sum(y)


def _write_of_another_length(x):
    y = x.copy()
    y[:2] = np.ones(3)
    return np.sum(y)


def _write_out_of_bounds(x):
    y = x.copy()
    y[3] = 1.0
    return np.sum(y)


def _in_place_to_a_larger_shape(x):
    y = x.copy()
    y += np.ones((2, 3))
    return np.sum(y)


def _in_place_into_whole_numbers(x):
    y = np.zeros(3, int)
    y += x
    return np.sum(y) * x[0]


def _out_of_another_shape(x):
    return np.sum(np.add(x, 1.0, out=np.zeros(2)))


def _write_into_a_broadcast(x):
    y = np.broadcast_to(x, (2, 3))
    y[0] = 1.0
    return np.sum(y)


def _write_into_a_frozen_array(x):
    y = x.copy()
    y.flags.writeable = False
    y[0] = 1.0
    return np.sum(y)


def _savgol_filter_too_long(x):
    return np.sum(scipy.signal.savgol_filter(x, 7, 2))


def _factor_of_a_complex_kind(x):
    return np.sum(float(x[0] * 1j) * x)


def _unpacking_too_many(x):
    first, second = x
    return first * second


def _unpacking_too_few(x):
    first, second, third, fourth = x
    return first * second * third * fourth


def _interp1d_out_of_bounds(x):
    return scipy.interpolate.interp1d([0.0, 1.0, 2.0], x)(3.0)


def _searchsorted_with_an_unknown_side(x):
    return x[np.searchsorted(x, 1.0, side="middle")]


def _vander_of_a_matrix(x):
    return np.sum(np.vander(np.outer(x, x)))


def _cov_of_other_lengths(x):
    return np.sum(np.cov(x, np.ones(2)))


def _diagonal_of_a_vector(x):
    return np.sum(np.diagonal(x))


def _trace_of_a_vector(x):
    return np.trace(x)


def _tensordot_of_other_shapes(x):
    return np.sum(np.tensordot(x, np.ones((2, 2)), axes=1))


def _add_at_out_of_bounds(x):
    y = np.zeros(3)
    np.add.at(y, [0, 3], x[:2])
    return np.sum(y)


def _block_of_ragged_rows(x):
    return np.sum(np.block([[x, x], [x]]))


add_calls(globals())
