"""What these tests run on: NumPy, but for those that are worth their compilation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import adjoint as ad
from adjoint.capture.clones.remembering import remembered
from adjoint.capture.recording.values.postponed import Postponed
from tests.capture.postponing import postponing

_ALSO_NATIVE = ("test_programs", "test_indexing")


@pytest.fixture(autouse=True)
def numpy_alone(request: pytest.FixtureRequest) -> Iterator[None]:
    """Capture is tested here, and each of thousands of functions would become machine code."""
    also_native = request.module.__name__.rpartition(".")[2] in _ALSO_NATIVE
    with ad.config(native=None if also_native else False):
        yield


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Calls are remembered at once; how many came again."""
    made: list[remembered.Calls] = []

    class Told(remembered.Calls):
        __slots__ = ()

        def __init__(self, function: Any, call: Any) -> None:
            super().__init__(function, call)
            made.append(self)

    monkeypatch.setattr(remembered, "_AFTER", 2)
    monkeypatch.setattr(remembered, "Calls", Told)
    return lambda: sum([calls.hits for calls in made])


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """All arrays are large; what is computed of what was postponed, in order."""
    seen: list[Any] = []
    compute = Postponed._compute

    def noted(self: Postponed) -> None:
        seen.append(self.function)
        compute(self)

    monkeypatch.setattr(Postponed, "_compute", noted)
    with postponing(), ad.config(debug=False):  # which looks at all values
        yield seen
