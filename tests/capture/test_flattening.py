"""ravel, reshape, flatten and flat of arrays with gaps: NumPy's view or copy, or an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from tests.capture.comparing import same_values


def ravel_of_a_column(t: Any) -> Any:
    made = np.zeros((2, 3))
    flat = made[:, 2:3].ravel()
    made += t
    return flat, made


def ravel_with_gaps(t: Any) -> Any:
    made = np.zeros(6)
    flat = made[::2].ravel()
    made += t
    return flat, made


def reshape_with_gaps(t: Any) -> Any:
    made = np.zeros(6)
    flat = made[::2].reshape(-1)
    made += t
    return flat, made


def ravel_of_a_transpose(t: Any) -> Any:
    made = np.zeros((2, 3))
    flat = made.T.ravel()
    made += t
    return flat, made


def ravel_in_columns(t: Any) -> Any:
    made = np.zeros((2, 3))
    flat = made.ravel("F")
    made += t
    return flat, made


def write_into_a_ravel(t: Any) -> Any:
    made = np.zeros((2, 3))
    flat = np.ravel(made[:, 1:])
    flat += t
    return flat, made


def write_into_a_flattened(t: Any) -> Any:
    made = np.zeros((2, 3))
    made[:, 2:3].flatten()[0] = t
    return made


def write_through_flat(t: Any) -> Any:
    made = np.zeros((3, 4))
    made.flat[5] = t
    return made


def read_flat_with_gaps(t: Any) -> Any:
    made = np.zeros((3, 4))
    made[0, 0] = t
    total = sum(entry for entry in made[:, :2].flat)
    made += t
    return made + total


def write_through_flat_with_gaps(t: Any) -> Any:
    made = np.zeros((3, 4))
    made[:, :2].flat[0] = t
    return made


def ravel_of_a_traced_slice(t: Any) -> Any:
    computed = np.ones(6) * t
    flat = computed[::2].ravel()
    computed += 1
    return flat, computed


RIGHT = [
    ravel_of_a_column,
    ravel_with_gaps,
    reshape_with_gaps,
    ravel_of_a_transpose,
    ravel_in_columns,
    write_into_a_ravel,
    write_into_a_flattened,
    write_through_flat,
    read_flat_with_gaps,
]


@pytest.mark.parametrize("function", RIGHT, ids=lambda function: function.__name__)
def test_what_is_known_is_numpys(function: Callable[[Any], Any]) -> None:
    same_values(ad.jit(function)(0.7), function(0.7))


@pytest.mark.parametrize("function", [write_through_flat_with_gaps, ravel_of_a_traced_slice])
def test_what_is_not_known_is_an_error(function: Callable[[Any], Any]) -> None:
    with pytest.raises(ad.errors.AliasingError, match="copy"):
        ad.jit(function)(0.7)
