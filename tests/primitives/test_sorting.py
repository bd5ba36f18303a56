"""Places among sorted values: batches of sorted arrays, and counts that warn or refuse."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.arrays import array_type
from adjoint.primitives.structure.sorting import SEARCHSORTED, WARN_WHERE_ZERO


def test_each_array_of_a_batch_is_searched_for_its_own_values() -> None:
    sorted_rows = np.array([[0.0, 1.0, 2.0], [5.0, 6.0, 7.0]])
    values = np.array([[0.5, 9.0], [5.5, 6.0]])
    for side in ("left", "right"):
        found = ad.vmap(lambda a, v, s=side: np.searchsorted(a, v, s))(sorted_rows, values)
        expected = [
            np.searchsorted(row, v, side) for row, v in zip(sorted_rows, values, strict=True)
        ]
        np.testing.assert_array_equal(found, expected)


def test_batches_that_do_not_fit_are_refused() -> None:
    a, v = array_type((2, 3), np.dtype(float)), array_type((3, 4), np.dtype(float))
    with pytest.raises(ad.errors.ShapeError, match="leading"):
        SEARCHSORTED.infer(a, v, side="left", lead=1)


def test_a_count_of_zero_warns_or_is_an_error() -> None:
    count = np.array([2, 0])
    with pytest.warns(RuntimeWarning, match="nothing there"):
        WARN_WHERE_ZERO.evaluate(count, text="nothing there", fatal=False)
    with pytest.raises(ValueError, match="nothing there"):
        WARN_WHERE_ZERO.evaluate(count, text="nothing there", fatal=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with np.errstate(invalid="ignore"):
            WARN_WHERE_ZERO.evaluate(count, text="nothing there", fatal=False)
        WARN_WHERE_ZERO.evaluate(count + 1, text="nothing there", fatal=True)
