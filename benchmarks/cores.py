"""One core for everybody: set before anything that starts threads is imported."""

from __future__ import annotations

import os
import sys


def keep_to(count: int) -> None:
    """Keep this process, and those it starts, to that many cores.

    Where the system can pin a process, the thread pools of BLAS, XLA and PyTorch size themselves by
    the cores that are left; elsewhere they are asked through the environment.
    """
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(count)
    if count == 1:
        flags = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {flags}".strip()
    if sys.platform == "linux":
        allowed = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, allowed[-count:])
