"""Scripts in processes of their own, in which the processor is several devices."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def run_on_devices(script: str, count: int) -> None:
    """Run a script with so many devices, whose number it knows as `count`; it must succeed."""
    run = subprocess.run(
        [sys.executable, "-c", f"count = {count}\n{script}"],
        cwd=ROOT,
        env={
            **os.environ,
            "XLA_FLAGS": f"--xla_force_host_platform_device_count={count}",
            "PYTHONPATH": f"src{os.pathsep}.",
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stderr
