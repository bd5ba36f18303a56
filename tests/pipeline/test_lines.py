"""Errors point at the line of the user's code that recorded the operation."""

from __future__ import annotations

from array import array

import numpy as np
import pytest
import scipy.linalg

import adjoint as ad

X = np.array([0.5, -1.0, 2.0])


def helper(y):
    return y + np.ones(5)  # the helper's line


def broken_shape(x):
    y = np.sin(x)
    return np.sum(helper(y))


def broken_index(x):
    return x[7]  # the index


def unsupported(x):
    return np.sum(scipy.linalg.schur(np.outer(x, x))[0])  # no such rule


def not_linear(x):
    y = 2 * x
    return np.exp(y)  # not linear


def outside(x):
    return x[0] * array("d", [x[0]])[0]  # into bytes


def through_a_library(x):
    return scipy.linalg.hessenberg(np.outer(x, x))[0, 0]  # in a library


@pytest.mark.parametrize(
    ("take", "error", "end"),
    [
        (lambda: ad.grad(broken_shape)(X), ValueError, "# the helper's line"),
        (lambda: ad.hessian(broken_shape)(X), ValueError, "# the helper's line"),
        (lambda: ad.jit(broken_shape)(X), ValueError, "# the helper's line"),
        (lambda: ad.vmap(broken_index)(np.ones((2, 3))), IndexError, "# the index"),
        (lambda: ad.grad(broken_index)(X), IndexError, "# the index"),
        (lambda: ad.grad(unsupported)(X), TypeError, "# no such rule"),
        (lambda: ad.linear_transpose(not_linear, X), ValueError, "# not linear"),
        (lambda: ad.grad(outside)(X), TypeError, "# into bytes"),
        (lambda: ad.grad(through_a_library)(X), TypeError, "# in a library"),
    ],
)
def test_one_note_with_the_file_and_the_line(take, error, end):
    with pytest.raises(error) as caught:
        take()
    (note,) = caught.value.__notes__
    assert note.startswith("At ")
    assert "test_lines.py:" in note
    assert note.endswith(end)


def test_an_error_is_raised_again_at_the_next_call():
    for _ in range(3):
        with pytest.raises(ad.errors.NotLinearError):
            ad.linear_transpose(not_linear, X)
