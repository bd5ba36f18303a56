"""More calls that NumPy and SciPy refuse: of linear algebra, signals, splines and counting."""

from __future__ import annotations

import numpy as np
import scipy.fft
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import scipy.signal
import scipy.spatial.distance
import scipy.special

from tests.capture.battery.checking import add_calls


def _cho_factor_of_an_indefinite_matrix(x):
    return np.sum(scipy.linalg.cho_solve(scipy.linalg.cho_factor(np.diag(x - 1.0)), x))


def _lu_of_a_vector(x):
    return np.sum(scipy.linalg.lu_factor(x)[0])


def _inverse_of_a_singular_matrix_by_scipy(x):
    return np.sum(scipy.linalg.inv(np.outer(x, x) * 0))


def _exponential_of_a_rectangle(x):
    return np.sum(scipy.linalg.expm(np.stack([x, x])))


def _toeplitz_system_of_other_lengths(x):
    return np.sum(scipy.linalg.solve_toeplitz(x, x[:2]))


def _banded_system_of_other_lengths(x):
    return np.sum(scipy.linalg.solve_banded((1, 1), np.stack([x, x]), x))


def _eigenvalues_of_infinity(x):
    return np.sum(scipy.linalg.eigvalsh(np.diag(x) * np.inf))


def _singular_values_of_nan(x):
    return np.sum(np.linalg.svd(np.diag(x) * np.nan, compute_uv=False))


def _least_squares_of_other_lengths(x):
    return np.sum(np.linalg.lstsq(np.eye(2), x, rcond=None)[0])


def _products_that_do_not_chain(x):
    return np.sum(np.linalg.multi_dot([np.eye(3), np.eye(2), x]))


def _system_with_a_wrong_right_side(x):
    return np.sum(np.linalg.solve(np.diag(x), np.ones(2)))


def _matrix_of_a_traced_singular_sum(x):
    return np.sum(np.linalg.inv(np.outer(x, x)[:2, :2] * [[1.0, 0.0], [0.0, 0.0]]))


def _logarithmic_determinant_of_a_vector(x):
    return np.linalg.slogdet(x)[1]


def _norm_along_too_many_axes(x):
    return np.sum(np.linalg.norm(np.ones((2, 2, 3)) * x, axis=(0, 1, 2)))


def _pchip_of_equal_places(x):
    return float(scipy.interpolate.PchipInterpolator([0.0, 0.0, 1.0], x)(0.5))


def _akima_of_falling_places(x):
    return scipy.interpolate.Akima1DInterpolator([2.0, 1.0, 0.0], x)(0.5)


def _spline_of_a_high_degree(x):
    return scipy.interpolate.make_interp_spline([0.0, 1.0, 2.0], x, k=5)(0.5)


def _spline_with_an_unknown_boundary(x):
    return scipy.interpolate.CubicSpline([0.0, 1.0, 2.0], x, bc_type="other")(0.5)


def _periodic_spline_that_is_not(x):
    return scipy.interpolate.CubicSpline([0.0, 1.0, 2.0], x, bc_type="periodic")(0.5)


def _spline_through_nan(x):
    return scipy.interpolate.CubicSpline([0.0, 1.0, 2.0], x * np.nan)(0.5)


def _grid_interpolation_outside(x):
    grid = scipy.interpolate.RegularGridInterpolator(([0.0, 1.0, 2.0],), x)
    return np.sum(grid(np.array([[5.0]])))


def _cumulative_trapezoid_of_other_lengths(x):
    return np.sum(scipy.integrate.cumulative_trapezoid(x, np.linspace(0, 1, 4)))


def _filter_without_a_leading_coefficient(x):
    return np.sum(scipy.signal.lfilter([1.0], [0.0, 1.0], x))


def _convolution_with_an_unknown_mode(x):
    return np.sum(scipy.signal.convolve(x, x, mode="some"))


def _fft_convolution_of_other_axes(x):
    return np.sum(scipy.signal.fftconvolve(x, np.ones((2, 2))))


def _detrending_of_an_unknown_kind(x):
    return np.sum(scipy.signal.detrend(x, type="cubic"))


def _cosine_transform_of_no_type(x):
    return np.sum(scipy.fft.dct(x, type=7))


def _fft_along_a_missing_axis(x):
    return np.sum(np.abs(np.fft.fft(x, axis=3)))


def _inverse_real_fft_of_nothing(x):
    return np.sum(np.fft.irfft(x[:0]))


def _filtering_with_an_empty_kernel(x):
    return np.sum(scipy.ndimage.convolve1d(x, []))


def _gaussian_filter_of_an_unknown_mode(x):
    return np.sum(scipy.ndimage.gaussian_filter1d(x, 1.0, mode="other"))


def _distances_of_other_lengths(x):
    return np.sum(scipy.spatial.distance.cdist(x[None], np.ones((2, 2))))


def _root_without_a_change_of_sign(x):
    return scipy.optimize.brentq(lambda y: y**2 + 1.0, 0.0, 1.0) * np.sum(x)


def _log_sum_exp_of_another_axis(x):
    return np.sum(scipy.special.logsumexp(x, axis=1))


def _softmax_along_a_missing_axis(x):
    return np.sum(scipy.special.softmax(x, axis=2))


def _special_function_with_too_few_arguments(x):
    return np.sum(scipy.special.gammainc(x))


def _bincount_of_negative_places(x):
    return np.sum(np.bincount([0, -1, 1], weights=x))


def _bincount_of_other_lengths(x):
    return np.sum(np.bincount([0, 1], weights=x))


def _bincount_of_floats(x):
    return np.sum(np.bincount(np.round(x), weights=x))


def _repeat_by_negative_counts(x):
    return np.sum(np.repeat(x, -1))


def _repeat_by_other_lengths(x):
    return np.sum(np.repeat(x, [1, 2]))


def _tile_by_a_fraction(x):
    return np.sum(np.tile(x, 1.5))


def _difference_of_negative_order(x):
    return np.sum(np.diff(x, n=-1))


def _gradient_with_other_spacing(x):
    return np.sum(np.gradient(x, [0.0, 1.0]))


def _geometric_space_through_zero(x):
    return np.sum(np.geomspace(0.0, x[0], 3))


def _largest_of_nothing_but_nan(x):
    return x[np.nanargmax(x * np.nan)]


def _histogram_with_other_weights(x):
    return np.sum(np.histogram(x, bins=2, weights=x[:2])[0])


def _histogram_by_an_unknown_rule(x):
    return np.sum(x) * len(np.histogram(x, bins="rule")[0])


def _digitize_of_two_dimensions(x):
    return np.sum(x * np.digitize(x, np.ones((2, 2))))


def _polynomial_of_no_coefficients(x):
    return np.sum(np.polyval(np.array([[1.0], [2.0]]) @ np.ones((2, 2)), x))


def _polyfit_of_other_lengths(x):
    return np.sum(np.polyfit(x, x[:2], 1))


def _polyfit_of_negative_degree(x):
    return np.sum(np.polyfit(x, x, -1))


def _product_of_polynomials_that_are_matrices(x):
    return np.sum(np.polymul(np.outer(x, x), x))


def _select_of_other_lengths(x):
    return np.sum(np.select([x > 1], [x, x]))


def _piecewise_of_other_lengths(x):
    return np.sum(np.piecewise(x, [x > 1], [1.0, 2.0, 3.0]))


def _where_of_other_shapes(x):
    return np.sum(np.where([True, False], x, 0.0))


def _where_with_one_choice(x):
    return np.sum(np.where(x > 1, x))


def _rotation_of_a_vector(x):
    return np.sum(np.rot90(x))


def _flip_of_a_missing_axis(x):
    return np.sum(np.flip(x, axis=1))


def _lower_triangle_indices_beyond(x):
    return np.sum(np.outer(x, x)[np.tril_indices(4)])


def _permutation_that_is_none(x):
    return np.sum(np.transpose(np.outer(x, x), (0, 2)))


def _moved_axis_twice(x):
    return np.sum(np.moveaxis(np.outer(x, x), [0, 0], [0, 1]))


def _broadcast_to_fewer(x):
    return np.sum(np.broadcast_to(x, (2,)))


def _meshgrid_of_an_unknown_order(x):
    return np.sum(np.meshgrid(x, x, indexing="ab")[0])


def _along_axis_of_another_shape(x):
    return np.sum(np.take_along_axis(np.outer(x, x), np.array([0, 1]), axis=1))


def _cumulative_sum_of_a_missing_axis(x):
    return np.sum(np.cumsum(x, axis=1))


def _standard_deviation_of_a_missing_axis(x):
    return np.sum(np.std(x, axis=-2))


def _weighted_average_of_another_shape(x):
    return np.sum(np.average(np.outer(x, x), weights=x))


def _minimum_of_nothing_along_an_axis(x):
    return np.sum(np.min(np.outer(x[:0], x), axis=0))


def _sorting_of_a_missing_axis(x):
    return np.sum(np.sort(x, axis=1))


def _sorting_by_an_unknown_kind(x):
    return np.sum(np.sort(x, kind="slow"))


def _partition_out_of_bounds(x):
    return np.sum(np.partition(x, 5))


def _rounding_to_a_word(x):
    return np.sum(np.round(x, "two"))


def _unknown_dtype(x):
    return np.sum(x.astype("number"))


def _unsafe_casting(x):
    return np.sum(np.add(x, 1.0, dtype=int))


def _unknown_order_of_layout(x):
    return np.sum(x.reshape(3, order="Z"))


def _two_unknown_lengths(x):
    return np.sum(x.reshape(-1, -1))


def _reduction_with_an_output_of_another_shape(x):
    return np.sum(np.sum(x, out=np.zeros(2)))


def _ufunc_with_too_many_arguments(x):
    return np.sum(np.sin(x, x, x))


def _outer_of_a_unary_ufunc(x):
    return np.sum(np.sin.outer(x, x))


def _reduction_of_a_comparison_of_words(x):
    return np.sum(x * (np.array(["a", "b", "c"]) + 1))


def _interpolation_with_a_period_of_zero(x):
    return np.sum(np.interp(x, [0.0, 1.0], [1.0, 2.0], period=0))


def _unwrapping_of_a_missing_axis(x):
    return np.sum(np.unwrap(x, axis=2))


add_calls(globals())
