"""Machine code keeps to its memory: random programs between protected pages."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.sampling import slow

pytest.importorskip("llvmlite")


@pytest.mark.skipif(sys.platform != "linux", reason="pages are protected by the calls of Linux")
@pytest.mark.parametrize(
    ("kind", "last", "least"),
    [
        *[("values", 9, 5), ("indices", 30, 2), ("loops", 12, 4), ("loop-indices", 24, 1)],
        *[("rows", 24, 20), ("strided", 48, 40), ("columns", 32, 32), ("stencils", 24, 24)],
        *[slow("values", 25, 16), slow("indices", 70, 7)],
        *[slow("loops", 40, 16), slow("loop-indices", 60, 4)],
        *[slow("rows", 150, 120), slow("strided", 800, 700), slow("columns", 400, 400)],
        slow("stencils", 200, 200),
    ],
)
def test_nothing_outside_is_touched(kind: str, last: int, least: int) -> None:
    command = [sys.executable, "-m", "tests.executors.native.fenced", kind, "0", str(last)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
    assert int(result.stdout) >= least
