"""The first call of a jitted gradient: capture, derivation and compilation, without imports.

Each is measured in a fresh process, in which another small function has been compiled before; the
second row is that of a process that has the machine code of an earlier one on disk. Run
as a script, `python -m benchmarks.first_call NAME` prints the seconds of one such call.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.table import Table, duration, ratio

REPETITIONS = 9
NAMES = {
    "adjoint": "adjoint with ad.jit",
    "kept": "adjoint with ad.jit, code kept on disk",
    "jax": "JAX with jit",
}
_ROOT = Path(__file__).parents[1]


def table() -> Table:
    """The medians of fresh processes taking turns; JAX is the unit where it is installed."""
    from benchmarks.peers import installed

    names = [name for name in NAMES if name != "jax" or installed(name)]
    times: dict[str, list[float]] = {name: [] for name in names}
    for repetition in range(REPETITIONS + 1):
        for name in names:
            seconds = _measured(name)
            if repetition:  # the first one warms the file cache
                times[name].append(seconds)
    middle = {name: statistics.median(values) for name, values in times.items()}
    unit = names[-1]
    found = Table(["first call, 16 hidden units", "median", f"{NAMES[unit]} = 1"])
    for name, seconds in middle.items():
        found.rows.append([NAMES[name], duration(seconds), ratio(seconds / middle[unit])])
    return found


def _measured(name: str) -> float:
    path = os.pathsep.join([str(_ROOT), str(_ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.first_call", name],
        env={**os.environ, "PYTHONPATH": path, "ADJOINT_CACHE": "off" if name != "kept" else ""},
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)


def _first_call(name: str) -> float:
    from adjoint.datasets import load_wine
    from adjoint.report import draw_weights

    X, y = load_wine().network_data()
    W = draw_weights(16, X.shape[0], seed=0)
    make: Callable[..., tuple[Callable[[Any], Any], Any]]
    make = _of_jax if name == "jax" else _of_adjoint
    gradient, weights = make(W, X, y)
    start = time.perf_counter()
    gradient(weights)
    return time.perf_counter() - start


def _of_adjoint(W: Any, X: Any, y: Any) -> tuple[Callable[[Any], Any], Any]:
    import numpy as np

    import adjoint as ad
    from adjoint.report import loss_on

    ad.jit(lambda x: np.sum(x * x))(np.ones(3))
    return ad.jit(ad.grad(loss_on(X, y))), W


def _of_jax(W: Any, X: Any, y: Any) -> tuple[Callable[[Any], Any], Any]:
    jax, jnp = import_module("jax"), import_module("jax.numpy")
    from benchmarks.wine import network

    jax.block_until_ready(jax.jit(lambda x: jnp.sum(x * x))(jnp.ones(3)))
    weights, X, y = jax.tree.map(jnp.asarray, (W, X, y))
    compiled = jax.jit(jax.grad(lambda W: network(W, jnp, X, y)))
    return lambda W: jax.block_until_ready(compiled(W)), weights


if __name__ == "__main__":
    print(_first_call(sys.argv[1]))
