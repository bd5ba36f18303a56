"""What NumPy warns of when a program runs: the kind is the function's, and most often the name too.

A program computes some functions by others, and then the name is that of what it computes.
"""

import warnings

import numpy as np
import pytest

import adjoint as ad

LARGE, ZERO = np.array([1e200, 1e200]), np.array([0.0, 2.0])

SAME = [
    (lambda x: np.sum(x**2), LARGE, "overflow encountered in square"),
    (lambda x: np.sum(x**3), LARGE, "overflow encountered in power"),
    (lambda x: np.sum(x**0.5), -LARGE, "invalid value encountered in sqrt"),
    (lambda x: np.sum(1 / x), ZERO, "divide by zero encountered in divide"),
    (lambda x: np.sum(np.log(x)), ZERO, "divide by zero encountered in log"),
    (lambda x: x @ x, LARGE, "overflow encountered in matmul"),
    (lambda x: np.sum(np.cumsum(x)), 1e108 * LARGE, "overflow encountered in accumulate"),
]
OTHER = [
    (lambda x: np.sum(np.cumprod(x)), LARGE, "accumulate", "multiply"),
    (lambda x: np.prod(x), LARGE, "reduce", "multiply"),
    (lambda x: np.sum(np.float_power(x, 2.5)), LARGE, "float_power", "power"),
    (lambda x: np.sum(x**-1), ZERO, "reciprocal", "power"),
    (lambda x: np.linalg.norm(x), LARGE, "dot", "square"),
]


def said(function, x):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function(x)
    return [str(warning.message) for warning in caught]


@pytest.mark.parametrize(("function", "x", "text"), SAME)
def test_names_are_numpys(function, x, text):
    assert said(function, x) == [text]
    jitted = ad.jit(function)
    assert [said(jitted, x) for _ in range(3)] == [[text]] * 3


@pytest.mark.parametrize(("function", "x", "name", "computed"), OTHER)
def test_the_kind_is_numpys_where_the_name_is_not(function, x, name, computed):
    (plain,) = said(function, x)
    assert plain.endswith(f" encountered in {name}")
    jitted = ad.jit(function)
    assert said(jitted, x) == [plain]
    assert said(jitted, x) == [plain.replace(name, computed)]
