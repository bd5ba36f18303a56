"""How long an import takes in a fresh interpreter."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from pathlib import Path

from benchmarks.peers import PEERS, installed
from benchmarks.table import Table, duration, ratio

REPETITIONS = 7
_SOURCE = Path(__file__).parents[1] / "src"
_CODE = "import time; s = time.perf_counter(); import {}; print(time.perf_counter() - s)"


def run() -> list[Table]:
    names = ["numpy", "adjoint", *(name for name in PEERS if installed(name))]
    times: dict[str, list[float]] = {name: [] for name in names}
    for repetition in range(REPETITIONS + 1):
        for name in names:
            seconds = _import_seconds(name)
            if repetition:  # the first one warms the file cache
                times[name].append(seconds)
    middle = {name: statistics.median(values) for name, values in times.items()}
    table = Table(["", "import", "beyond NumPy", "NumPy = 1"])
    for name, seconds in middle.items():
        beyond = max(0.0, seconds - middle["numpy"])
        cells = [name, duration(seconds), duration(beyond), ratio(seconds / middle["numpy"])]
        table.rows.append(cells)
    return [table]


def _import_seconds(name: str) -> float:
    path = os.pathsep.join([str(_SOURCE), os.environ.get("PYTHONPATH", "")])
    # Installed packages have their bytecode beside them; the first run writes it for the sources.
    environment = {**os.environ, "PYTHONPATH": path}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(
        [sys.executable, "-c", _CODE.format(name)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)
