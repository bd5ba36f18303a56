"""What these tests run on: NumPy, but for those that are worth their compilation."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import adjoint as ad

_ALSO_NATIVE = ("test_programs", "test_indexing")


@pytest.fixture(autouse=True)
def numpy_alone(request: pytest.FixtureRequest) -> Iterator[None]:
    """Capture is tested here, and each of thousands of functions would become machine code."""
    also_native = request.module.__name__.rpartition(".")[2] in _ALSO_NATIVE
    with ad.config(native=None if also_native else False):
        yield
