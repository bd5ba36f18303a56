"""Machine code without LLVM, at calls that are soon there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import adjoint as ad
from adjoint.executors import compilation, tiered, turns
from tests.executors.native.fake import FakeLowering, install


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeLowering]:
    """Machine code without LLVM, and a cache of programs of its own."""
    lowering = install(monkeypatch)
    monkeypatch.setattr(compilation, "_warned", set())
    ad.cache_clear()
    with ad.config(replay=False):
        yield lowering
    ad.cache_clear()


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> int:
    """A program is hot after 3 runs, and turns to machine code after 6, however long that takes."""
    monkeypatch.setattr(turns, "runs_on_numpy", lambda program: 3)
    monkeypatch.setattr(turns, "_WAIT", 60.0)
    monkeypatch.setattr(tiered, "_LONGEST_WAIT", 60.0)
    return 6
