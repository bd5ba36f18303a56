"""`np.interp` where knots, values or places are infinite or no numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad

INF, NAN = np.inf, np.nan
PLACES = np.array([-INF, -1, -0.0, 0, 0.5, 1, 1.5, 2, 3, INF, NAN])
KNOTS = [
    *([0, 1, 2], [-INF, 0, 1], [0, 1, INF], [-INF, 0, INF], [0, 1, NAN], [-INF, -INF, 1]),
    *([0, 0, 1], [0, INF, INF], [0, 1, 1], [1], [INF], [NAN], [NAN, NAN, NAN], [-0.0, 1, 2]),
]
VALUES = [
    *([1, 2, 4], [INF, 2, 4], [1, INF, 4], [1, 2, -INF], [NAN, 1, 2], [1, NAN, 2]),
    *([INF, INF, 1], [-INF, INF, 0], [INF, INF, INF], [3, 3, 3], [-0.0, 0, 1], [1e308, -1e308, 0]),
]


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("imaginary", [0, 1j])
def test_values_are_those_of_numpy_to_the_bit(native: bool, imaginary: complex) -> None:
    def function(x: Any, xp: Any, fp: Any) -> Any:
        return np.interp(x, xp, fp)

    with ad.config(native=native, precise=True):
        jitted = ad.jit(function)
        for knots in KNOTS:
            for values in VALUES:
                xp, fp = np.array(knots, float), np.array(values, float)[: len(knots)]
                if imaginary and not np.all(np.isfinite(fp)):
                    continue  # a product with 1j mixes the parts of infinities, and zeros
                if imaginary:
                    fp = fp.astype(complex)
                    fp.imag = fp.real[::-1] / 3
                expected, actual = np.interp(PLACES, xp, fp), jitted(PLACES, xp, fp)
                assert actual.dtype == expected.dtype
                np.testing.assert_array_equal(actual, expected, f"{xp} {fp}")
                if imaginary:
                    continue
                parts = [np.signbit(np.nan_to_num(each.view(float))) for each in (actual, expected)]
                np.testing.assert_array_equal(*parts, f"{xp} {fp}")


def weights(x: float, xp: list[float], fp: list[float]) -> Any:
    return ad.grad(lambda fp: np.interp(x, np.array(xp), fp))(np.array(fp, float))


def test_derivatives_beside_infinities_are_right_or_not_numbers() -> None:
    # to the left of a finite knot, and infinitely far from the other, only the finite one counts
    np.testing.assert_array_equal(weights(-5.0, [-INF, 0, 1], [1, 2, 4]), [0, 1, 0])
    np.testing.assert_array_equal(weights(5.0, [0, 1, INF], [1, 2, 4]), [0, 1, 0])
    slope = ad.grad(np.interp)
    assert slope(5.0, np.array([0, 1, INF]), np.array([1.0, 2, 4])) == 0
    for x in (0.0, 0.5):  # at the knot too the slope is that to the right
        assert slope(x, np.array([0.0, 1, 2]), np.array([1, INF, 3])) == INF
    assert np.isnan(slope(1.0, np.array([0.0, 1, 2]), np.array([1, NAN, 3])))
    assert slope(1.0, np.array([0.0, 1, 2]), np.array([1, 2, 4.5])) == 2.5
    assert slope(2.0, np.array([0.0, 1, 2]), np.array([1, 2, 4.5])) == 2.5
