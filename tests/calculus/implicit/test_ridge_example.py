"""The example of a hyper-gradient: its inner problem in two ways, and where it ends."""

from __future__ import annotations

import runpy
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from tests.architecture.modules import ROOT

pytest.importorskip("sklearn")


@pytest.fixture(scope="module")
def ridge() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "examples" / "ridge.py"))


def test_the_hyper_gradient_by_a_linear_system_by_argmin_and_by_differences(ridge: Any) -> None:
    X, y, fold = ridge["folds"]()
    error, point = ridge["unseen_error"], np.linspace(-1.0, 4.0, X.shape[1])
    gradient = ad.grad(error)(point, X, y, fold)
    other = ad.grad(lambda t: error(t, X, y, fold, ridge["by_argmin"]))(point)
    np.testing.assert_allclose(other, gradient, rtol=1e-6, atol=1e-12)
    step, direction = 1e-4, np.cos(np.arange(10.0))
    ends = [error(point + s * direction, X, y, fold) for s in (step, -step)]
    assert gradient @ direction == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-6)


def test_it_ends_where_the_gradient_is_zero_below_the_grid(ridge: Any) -> None:
    X, y, fold = ridge["folds"]()
    found = ridge["descend"](np.zeros(1), X, y, fold)
    grid = [ridge["unseen_error"](np.array([t]), X, y, fold) for t in np.linspace(-4, 9, 14)]
    assert abs(found.jac[0]) < 1e-5
    assert found.fun <= min(grid)
