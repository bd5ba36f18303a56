"""Filters that make coefficients of splines as machine code, which agrees with SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import ndimage

pytest.importorskip("llvmlite")

import adjoint as ad
from adjoint.base.arrays import type_of
from adjoint.executors import NumpyExecutor
from adjoint.executors.native.lowering.lower import lowerable
from adjoint.primitives.structure.correlation import SPLINE_FILTER
from adjoint.program import Builder, Program, operation
from tests.executors.native.comparing import run_native

RNG = np.random.default_rng(0)


def program_of(x: Any, **params: Any) -> Program:
    builder = Builder()
    inputs = [builder.input(type_of(x))]
    return builder.build(builder.emit(operation(SPLINE_FILTER, **params), inputs))


@pytest.mark.parametrize("mode", range(7))
@pytest.mark.parametrize("degree", [2, 3, 4, 5])
@pytest.mark.parametrize("transposed", [False, True])
def test_filters_are_those_of_scipy(degree: int, mode: int, transposed: bool) -> None:
    shapes = (((25,), -1), ((3, 40), -1), ((90, 2), -2), ((2, 33, 2), -2), ((65,), -1))
    for shape, axis in shapes:
        for dtype in (float, np.float32):
            x = RNG.normal(size=shape).astype(dtype)
            params = {"degree": degree, "axis": axis, "mode": mode, "transposed": transposed}
            program = program_of(x, **params)
            (found,) = run_native(program, [x]) or (None,)
            (expected,) = NumpyExecutor().compile(program).run(x)
            bound = 1e-14 if dtype is float else 1e-6
            np.testing.assert_allclose(found, expected, rtol=0, atol=bound * np.abs(expected).max())


def test_short_rows_and_integers_are_left_to_numpy() -> None:
    """SciPy's first and last coefficients of few numbers are its own."""
    for x in (RNG.normal(size=6), np.arange(90)):
        program = program_of(x, degree=3, axis=-1, mode=3, transposed=False)
        assert not lowerable(program.equations[0], False)


def test_a_loop_over_images_and_its_gradient() -> None:
    x = RNG.normal(size=(20, 30))

    def total(x: Any) -> Any:
        def smoothed(_: Any, x: Any) -> Any:
            return 0.8 * x + 0.1 * np.cos(ndimage.spline_filter(x, mode="reflect"))

        return np.sum(np.sin(ad.fori_loop(0, 4, smoothed, x)))

    for function in (total, ad.grad(total)):
        held = ad.program(function, x)
        assert held.native().left() == ()
        (found,) = run_native(held.program, held.values or ()) or (None,)
        with ad.config(native=False):
            np.testing.assert_allclose(found, function(x), rtol=1e-12, atol=1e-13)
