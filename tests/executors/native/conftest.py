"""The lowering that the tests of what is around it use."""

from __future__ import annotations

import pytest

from tests.executors.native.fake import FakeLowering, install


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeLowering:
    """Machine code without LLVM."""
    return install(monkeypatch)
