"""The messages of GradBench: one JSON object a line, and an answer to each."""

from __future__ import annotations

import json
import time
import traceback
from collections.abc import Iterable, Mapping
from typing import Any, TextIO

from benchmarks.gradbench import ba, hand, learning, nested, scalars
from benchmarks.gradbench.functions import Function, Module

MODULES: Mapping[str, Module] = {
    "hello": scalars.HELLO,
    "llsq": scalars.LLSQ,
    "lse": scalars.LSE,
    "ode": scalars.ODE,
    "det": scalars.DET,
    "gmm": learning.GMM,
    "kmeans": learning.KMEANS,
    "lstm": learning.LSTM,
    "ba": ba.BA,
    "ht": hand.HT,
    "particle": nested.PARTICLE,
    "saddle": nested.SADDLE,
}


def serve(lines: Iterable[str], out: TextIO) -> None:
    """Answer message after message, up to the last one."""
    for line in lines:
        message = json.loads(line)
        print(json.dumps({"id": message["id"], **answer(message)}), file=out, flush=True)
        if message["kind"] == "end":
            return


def answer(message: Mapping[str, Any]) -> dict[str, Any]:
    """What is said to a message, but for its number."""
    kind = message["kind"]
    if kind == "start":
        return {"tool": "adjoint"}
    if kind not in ("define", "evaluate"):
        return {}
    module = MODULES.get(message["module"])
    if module is None:
        return {"success": False, "error": f"there is no module {message['module']!r}"}
    if kind == "define":
        return {"success": True}
    function = module.get(message["function"])
    if function is None:
        return {"success": False, "error": f"there is no function {message['function']!r}"}
    try:
        return evaluated(function, message["input"])
    except Exception:  # an eval wants to be told, whatever it was
        return {"success": False, "error": traceback.format_exc()}


def evaluated(function: Function, given: Any) -> dict[str, Any]:
    """The result and the time of each run: at least as many, and for as long, as the input says."""
    runs, seconds = 1, 0.0
    if function.runs:
        runs, seconds = int(given.get("min_runs", 1)), float(given.get("min_seconds", 0.0))
    arguments = function.read(given)
    times: list[int] = []
    result = None
    while not times or len(times) < runs or sum(times) < 1e9 * seconds:
        start = time.perf_counter_ns()
        result = function.compute(*arguments)
        times.append(time.perf_counter_ns() - start)
    timings = [{"name": "evaluate", "nanoseconds": each} for each in times]
    return {"success": True, "output": function.write(result), "timings": timings}
