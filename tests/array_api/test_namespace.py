"""`adjoint.numpy`, and how traced arrays answer the array API standard."""

from __future__ import annotations

import inspect
from typing import Any

import numpy
import pytest

import adjoint as ad
import adjoint.numpy as np
from tests.array_api import traced_namespace


def test_names_are_numpys() -> None:
    assert set(dir(np)) == set(numpy.__all__)
    assert np.pi == numpy.pi
    assert np.float64(2).dtype == numpy.float64
    assert type(np.zeros(2)) is numpy.ndarray


def test_traced_numbers_become_an_array_where_capture_does_not_enter() -> None:
    def outside(t: Any) -> Any:  # as code of an installed package: not rebound
        return np.array([t, 1.0, t**2]).sum() + np.full(2, t).sum()

    wrapped = ad.grad(_hidden(outside))
    assert wrapped(3.0) == pytest.approx(1 + 6 + 2)


def _hidden(function: Any) -> Any:
    """A callable that capture does not rebind."""

    class Callable:
        __slots__ = ()

        def __call__(self, *args: Any) -> Any:
            return function(*args)

    return Callable()


def test_parts_can_be_imported() -> None:
    import adjoint.numpy.fft
    import adjoint.numpy.linalg

    assert adjoint.numpy.linalg.norm(numpy.array([3.0, 4.0])) == 5
    assert "fft" in dir(adjoint.numpy.fft)
    assert "solve" in dir(adjoint.numpy.linalg)


def test_traced_arrays_name_their_namespace() -> None:
    def f(x: Any) -> Any:
        xp = x.__array_namespace__(api_version="2023.12")
        assert x.device == "cpu"
        assert x.to_device("cpu") is x
        return xp.sum(xp.stack([x, 2 * x]) ** 2)

    assert ad.grad(f)(numpy.array([1.0, 2.0])) == pytest.approx([10.0, 20.0])


def test_an_unknown_version_or_device_is_refused_as_numpy_does() -> None:
    with pytest.raises(ValueError, match="1999"):
        ad.grad(lambda x: x.__array_namespace__(api_version="1999.01").sum(x))(numpy.ones(2))
    with pytest.raises(ValueError, match="device"):
        ad.grad(lambda x: x.to_device("gpu").sum())(numpy.ones(2))


def test_memory_that_would_lose_a_derivative_is_not_handed_over() -> None:
    with pytest.raises(ad.errors.DroppedDerivativeError):
        ad.grad(lambda x: numpy.sum(x) + (x.__dlpack__() is None))(numpy.ones(2))


def test_a_dtype_equals_its_class_from_either_side() -> None:
    for dtype in (numpy.dtype(numpy.float64), numpy.dtype(bool)):
        kind = getattr(np, dtype.type.__name__)
        assert dtype == kind
        assert kind == dtype
        assert kind == dtype.type
        assert kind != np.int8
        assert kind != dtype.name


def test_functions_have_the_signatures_of_numpys() -> None:
    for name in ("arange", "sum", "asarray", "full", "stack"):
        assert inspect.signature(getattr(np, name)) == inspect.signature(getattr(numpy, name))
    found: list[Any] = []
    ad.jit(lambda x: found.append(inspect.signature(x.__dlpack__)) or x)(numpy.ones(2))
    assert list(found[0].parameters) == ["stream", "max_version", "dl_device", "copy"]


def test_from_dlpack_of_a_traced_array_is_a_view_of_it() -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        view, copy = np.from_dlpack(y), np.from_dlpack(y, copy=True)
        view[0] = 7.0
        copy[1] = 8.0
        return y

    assert ad.jit(f)(numpy.ones(3)).tolist() == [7.0, 1.0, 1.0]
    assert ad.jacobian(f)(numpy.ones(3)) == pytest.approx(numpy.diag([0.0, 1.0, 1.0]))
    with pytest.raises(ValueError, match="gpu"):
        ad.jit(lambda x: np.from_dlpack(x, device="gpu"))(numpy.ones(3))


def test_the_namespace_given_to_the_suite_makes_traced_arrays() -> None:
    trace = traced_namespace.begin()
    try:
        x = traced_namespace.asarray([1.0, 2.0])
        assert type(x) is not numpy.ndarray
        assert bool(traced_namespace.all(x + 1 == traced_namespace.asarray([2.0, 3.0])))
    finally:
        traced_namespace.end(trace)
