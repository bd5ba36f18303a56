"""`curve_fit`: SciPy's, with derivatives of the model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import optimize

import adjoint as ad
from adjoint.base.errors import ArgumentError, ArgumentTypeError
from tests.counting import counting

X = np.linspace(0.0, 3.0, 40)
RANDOM = np.random.default_rng(0)


def model(x: Any, height: Any, rate: Any, offset: Any) -> Any:
    return height * np.exp(-rate * x) + offset


Y = model(X, 2.5, 1.3, 0.5) + 0.01 * RANDOM.normal(size=X.size)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"p0": [1, 2, 0]},
        {"p0": (2.0, 1.0, 1.0), "sigma": 0.1 + X, "absolute_sigma": True},
        {"p0": [1.0, 2.0, 0.1], "bounds": ([0, 0, 0], [5, 5, 5])},
        {"method": "trf"},
        {"method": "dogbox", "full_output": True},
    ],
)
def test_it_is_that_of_scipy(options: dict[str, Any]) -> None:
    got = ad.optimize.curve_fit(model, X, Y, **options)
    expected = optimize.curve_fit(model, X, Y, **options)
    assert len(got) == len(expected)
    np.testing.assert_allclose(got[0], expected[0], rtol=1e-5)
    np.testing.assert_allclose(got[1], expected[1], rtol=1e-3)


def test_the_model_is_not_run_for_differences() -> None:
    counted, calls = counting(model)
    ad.optimize.curve_fit(lambda x, *p: counted(x, *p), X, Y, p0=[1.0, 1.0, 1.0])
    with_slopes = len(calls)
    calls.clear()
    optimize.curve_fit(lambda x, *p: counted(x, *p), X, Y, p0=[1.0, 1.0, 1.0])
    assert with_slopes < len(calls)


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(ArgumentError, match="curve_fit was given jac"):
        ad.optimize.curve_fit(model, X, Y, jac="2-point")
    with pytest.raises(ArgumentTypeError, match="curve_fit takes a function first"):
        ad.optimize.curve_fit(X, X, Y)
