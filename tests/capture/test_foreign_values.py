"""What is no plain array of numbers is refused by name, or keeps its meaning."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from tests.capture.comparing import captured_value, refuses, same_values

V = np.array([1.0, 2.0])
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    MATRIX = np.matrix([[1.0, 2.0]])


class Quantity(np.ndarray):
    """An array with a unit."""

    def __array_ufunc__(self, *args: Any, **kwargs: Any) -> Any:
        return NotImplemented


REFUSED = {
    "matrix": lambda x: x * MATRIX,
    "masked": lambda x: x * np.ma.masked_array([1.0, 2.0], [False, True]),
    "masked on the left": lambda x: np.ma.masked_array([1.0, 2.0], [False, True]) * x,
    "unit": lambda x: np.add(x, V.view(Quantity)),
    "objects": lambda x: x * np.array([1, "a"], dtype=object),
    "text": lambda x: x + np.array(["a", "b"]),
    "dates": lambda x: x + np.array(["2020-01-01", "2020-01-02"], dtype="M8[D]"),
    "set": lambda x: x + {1.0},
    "None": lambda x: x + None,
    "pickle": lambda x: pickle.dumps(x),
    "covector": lambda x: x * ad.spaces.Euclidean(2).riesz(V),
    "linear map": lambda x: x @ ad.derivative(lambda y: 2 * y, V),
    "cast to objects": lambda x: x.astype(object),
    "cast to text": lambda x: x.astype(str),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    """Where NumPy itself has an error, it is that one."""
    refuses(
        lambda f: lambda x: ad.vjp(f, x),
        lambda x: REFUSED[name](x),
        (V,),
        ad.errors.AdjointError,
        "",
    )


@pytest.mark.parametrize("argument", [MATRIX, np.ma.masked_array([1.0, 2.0], [0, 1])])
def test_arguments_that_are_no_plain_arrays(argument: Any) -> None:
    with pytest.raises(ad.errors.DTypeError, match="rules of its own"):
        ad.grad(lambda x: np.sum(x * x))(argument)


def test_a_memory_map_is_plain(tmp_path: Any) -> None:
    data = np.memmap(tmp_path / "data", float, "w+", shape=(2,))
    data[:] = V
    same_values(ad.grad(lambda x: np.sum(x * data))(V), V)


def test_copies_are_traced() -> None:
    def function(x: Any) -> Any:
        y = copy.deepcopy({"a": x, "b": [x[0]]})
        z = copy.copy(x)
        z[0] = 5.0
        return y["a"] * x * y["b"][0] + z

    same_values(captured_value(function, V), function(V))


def test_parts_can_be_assigned() -> None:
    def function(z: Any) -> Any:
        z = z.copy()
        z.real = 2.0
        z.imag = z.real * 3
        w = np.zeros(2)
        w.flat = 1.0
        w.real = z.imag
        return z, w

    same_values(captured_value(function, V + 1j), function(V + 1j))


DTYPES = {
    "int8 + int": (lambda x: x + 100, np.array([100, 27], np.int8)),
    "int8 * int8": (lambda x: x * x, np.array([100, 27], np.int8)),
    "int / int": (lambda x: x / 2, np.array([1, 2])),
    "int // int": (lambda x: -x // 2, np.array([1, 3])),
    "uint8 - int": (lambda x: x - 5, np.array([1, 200], np.uint8)),
    "bool + bool": (lambda x: x + x, np.array([True, False])),
    "bool * float": (lambda x: x * 0.5, np.array([True, False])),
    "bool sum": (lambda x: x.sum() + sum(x), np.array([True, False])),
    "float32 * float": (lambda x: x * 0.5 + 1, V.astype(np.float32)),
    "float32 * float64": (lambda x: x * np.float64(0.5), V.astype(np.float32)),
    "float32 * int array": (lambda x: x * np.arange(2), V.astype(np.float32)),
    "float32 scalar": (lambda x: x * 2.0 + 1, np.float32(3)),
    "float32 and int32": (lambda x: x + np.array([1, 2], np.int32), V.astype(np.float32)),
    "float16": (lambda x: x * 2 + np.float16(1), V.astype(np.float16)),
    "complex64": (lambda x: x * 2.0 + 1j, V.astype(np.complex64)),
    "large int": (lambda x: x * 10**30, V),
    "true division": (lambda x: 1 / x, V.astype(np.float32)),
    "power": (lambda x: x**2 + x**0.5 + 2**x, V.astype(np.float32)),
}


@pytest.mark.parametrize("name", DTYPES)
def test_dtypes(name: str) -> None:
    function, x = DTYPES[name]
    with np.errstate(over="ignore"):
        same_values(captured_value(function, x), function(x))


@pytest.mark.parametrize("number", [300, 10**30])
def test_integers_that_do_not_fit(number: int) -> None:
    x = np.array([1, 2], np.int8)
    with pytest.raises(OverflowError):
        x + number
    with pytest.raises(OverflowError):
        ad.jit(lambda x: x + number)(x)
