"""What native code assumes of CPython and NumPy, and that it notices where that is wrong."""

from __future__ import annotations

import pytest

pytest.importorskip("llvmlite")

from adjoint.base.errors import NativeUnavailableError
from adjoint.executors.native.entry import python_api

OFFSETS = ["OBJECT_TYPE", "NUMBER_VALUE", "TUPLE_SIZE", "TUPLE_ITEMS", "ARRAY_DATA", "ARRAY_NDIM"]
OFFSETS += ["ARRAY_SHAPE", "ARRAY_DTYPE", "ARRAY_FLAGS"]
FLAGS = ["ALIGNED", "CONTIGUOUS", "WRITEABLE"]


@pytest.mark.parametrize("name", [*OFFSETS, *FLAGS])
def test_another_layout_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    value = getattr(python_api, name)
    monkeypatch.setattr(python_api, name, value ^ 8 if name in OFFSETS else value << 1)
    with pytest.raises(NativeUnavailableError, match="numpy"):
        python_api.python_api.__wrapped__()
