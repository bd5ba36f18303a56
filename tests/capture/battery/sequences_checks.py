"""Arguments that NumPy refuses for their values, once a function has been called with others."""

from __future__ import annotations

import numpy as np
import scipy.interpolate
import scipy.linalg

from tests.capture.battery.registry import sequence

ROW = np.array([0.7, 1.3])
BINS, UNSORTED = np.array([0.0, 1.0, 2.0]), np.array([0.0, 3.0, 2.0])


def _mostly(function, good, *bad):
    """Calls with good arguments, and with others between them."""
    for _ in range(4):
        yield (function, *good)
    for each in bad:
        yield (function, *each)
        yield (function, *good)


@sequence
def an_index_that_is_caught():
    def f(x, n):
        try:
            y = x[n]
        except IndexError:
            y = x[0] * 10
        return y**2

    yield from _mostly(f, (ROW, 1), (ROW, 5), (ROW, -1), (ROW, -7))


@sequence
def an_index_that_is_caught_at_first():
    def f(x, n):
        y = x.copy()
        try:
            y[n] = 5.0 * x[0]
        except IndexError:
            y[0] = 7 * x[1]
        return np.sum(y)

    yield from _mostly(f, (ROW, 9), (ROW, 0), (ROW, 1), (ROW, -7))


@sequence
def an_entry_that_nobody_uses():
    def f(x, n):
        x[n]
        return np.sum(x)

    yield from _mostly(f, (ROW, 1), (ROW, 2))


@sequence
def a_place_and_a_number():
    def f(x, n):
        row, column = np.unravel_index(n, (2, 2))
        return np.sum(x) * row + np.ravel_multi_index((n, n), (4, 4)) * x[0] + column

    yield from _mostly(f, (ROW, 3), (ROW, 7), (ROW, -1))


@sequence
def a_place_that_is_caught():
    def f(x, n):
        try:
            return np.unravel_index(n, (2, 2))[0] * x[0]
        except ValueError:
            return 7 * x[1]

    yield from _mostly(f, (ROW, 3), (ROW, 7), (ROW, 2))


@sequence
def bins_that_do_not_rise():
    def f(x, bins):
        return np.sum(np.digitize(x, bins) * x) + 0 * np.sum(bins)

    yield from _mostly(f, (ROW, BINS), (ROW, UNSORTED), (ROW, BINS[::-1].copy()))


@sequence
def quantiles_beyond_one():
    def f(x, q):
        return np.quantile(x, q) + np.percentile(x, 10 * q) + 0 * q

    yield from _mostly(f, (ROW, 0.4), (ROW, 1.5), (ROW, -0.1))


@sequence
def weights_without_a_sum():
    def f(x, w):
        return np.average(x, weights=w)

    yield from _mostly(f, (ROW, np.array([1.0, 2.0])), (ROW, np.array([1.0, -1.0])))


@sequence
def a_histogram_of_what_is_no_number():
    def f(x):
        return np.sum(np.histogram(x, bins=3)[1] ** 2)

    yield from _mostly(f, (ROW,), (np.array([1.0, np.nan]),), (np.array([np.inf, 0.0]),))


@sequence
def knots_that_do_not_rise():
    def f(x):
        y = x**2
        cubic = scipy.interpolate.CubicSpline(x, y)
        return cubic(0.5) + scipy.interpolate.PchipInterpolator(x, y)(0.3)

    yield from _mostly(f, (np.array([0.1, 1.0, 2.7]),), (UNSORTED,))


@sequence
def a_band_that_is_not_definite():
    def f(x):
        band = np.stack([np.append(0.0, x), np.ones(3)])
        return np.sum(scipy.linalg.solveh_banded(band, np.ones(3)))

    yield from _mostly(f, (ROW / 9,), (9 * ROW,))


@sequence
def a_scale_from_zero():
    def f(x):
        return np.sum(np.geomspace(x[0], 2.0, 4))

    yield from _mostly(f, (ROW,), (np.array([0.0, 1.0]),))


@sequence
def integers_beyond_a_program():
    def f(x, n):
        return x[0] * (n * n) + x[1] * (n + 1)

    yield from _mostly(f, (ROW, 3), (ROW, 10**10), (ROW, -4))


@sequence
def powers_and_shifts_of_integers():
    def f(x, n):
        return x[0] * 2**n + x[1] * (1 << n)

    yield from _mostly(f, (ROW, 3), (ROW, 70), (ROW, -1), (ROW, 5))


@sequence
def a_choice_beyond():
    def f(x, n):
        return np.choose(n, [x[0], x[1]])

    yield from _mostly(f, (ROW, 1), (ROW, 2))
