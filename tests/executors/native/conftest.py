"""The lowering that the tests of what is around it use."""

from __future__ import annotations

from typing import Any

import pytest

from adjoint.executors import compilation
from tests.executors.native.fake import FakeLowering, install


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeLowering:
    """Machine code without LLVM."""
    return install(monkeypatch)


@pytest.fixture(autouse=True)
def heard(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that cannot be compiled give a warning each, not the first of them alone."""
    monkeypatch.setattr(compilation, "_warned", Never())


class Never(set[Any]):
    """A set that forgets."""

    def add(self, element: Any) -> None:
        """Nothing happens."""
