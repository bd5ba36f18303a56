"""Programs as scientists write them.

The value is NumPy's, the derivative that of central differences.
"""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from tests.capture import (
    programs_fields,
    programs_in_place,
    programs_learning,
    programs_models,
    programs_numerics,
    programs_objects,
    programs_physics,
    programs_python,
)
from tests.capture.comparing import (
    captured_value,
    copied,
    same_derivative,
    same_second_derivative,
    same_values,
)
from tests.capture.programs import EXAMPLES

assert all((programs_fields, programs_in_place, programs_models, programs_objects))
assert programs_python
assert all((programs_learning, programs_numerics, programs_physics))
NAMED = {each.function.__name__: each for each in EXAMPLES}
SMOOTH = [name for name, each in NAMED.items() if each.twice]
MODES = ("ff", "fr", "rf", "rr")


def test_there_are_many() -> None:
    assert len(NAMED) == len(EXAMPLES) >= 180
    assert len(SMOOTH) >= 60


@pytest.mark.parametrize("name", NAMED)
def test_a_program(name: str) -> None:
    function, args, refused, _ = NAMED[name]
    if refused is not None:
        with pytest.raises(refused) as caught:
            ad.vjp(function, *copied(args))
        assert isinstance(caught.value, ad.errors.AdjointError)
        return
    expected = function(*copied(args))
    same_values(captured_value(function, *args), expected, 1e-9)
    same_derivative(function, args)


@pytest.mark.parametrize("name", SMOOTH)
def test_a_smooth_program_has_second_derivatives(name: str) -> None:
    function, args, _, _ = NAMED[name]
    mode = MODES[SMOOTH.index(name) % len(MODES)]  # all modes, each on a part of the programs
    with ad.config(native=False):
        same_second_derivative(function, args, mode)


@pytest.mark.parametrize("name", ["heat_equation", "lotka_volterra", "layer_norm", "attention"])
def test_a_program_in_single_precision(name: str) -> None:
    function, args, _, _ = NAMED[name]
    single = tuple(np.asarray(arg, np.float32)[()] for arg in args)
    same_values(captured_value(function, *single), function(*copied(single)), 1e-4)
    value, pullback = ad.vjp(function, *single)
    back = pullback(np.ones_like(value))
    for one, arg in zip(back, single, strict=True):
        assert one.dtype == arg.dtype
        assert one.shape == arg.shape
