"""Gradients without `jit`, over the NumPy function's own time, of programs as people write them.

The programs are those of `tests/capture/programs_*.py` and the functions of `examples/` that are
plain NumPy. Run as a script, `python -m benchmarks.unjitted` prints the seconds of the first call
of each, in JSON, in the order of `programs`.
"""

from __future__ import annotations

import importlib.util
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

import adjoint as ad
from adjoint.base import pytrees
from adjoint.datasets import load_wine
from adjoint.report import draw_weights, hand_written_gradient, loss_on
from benchmarks import rosenbrock
from benchmarks.measure import Thunk, medians
from benchmarks.table import Table, duration, ratio

COLD = 3  # processes, of which the median is taken for each program
_SECONDS = 0.1  # for the three candidates of one program together, or five repetitions of each
_WARM = 70  # calls after which a function is replayed, if it ever is, and is being compiled
_ROOT = Path(__file__).parents[1]
# Of the examples, those whose value is NumPy's own work, and where their arguments come from.
_EXAMPLES = {
    "alignment": "alignment",
    "constrained": "energy",
    "epidemic": "epidemic",
    "orbit": "orbit",
    "rosenbrock": "rosenbrock",
    "string_energy": "string_energy",
}
BY_HAND = "NumPy by hand"


class Case(NamedTuple):
    """A function at a point."""

    name: str
    function: Callable[..., Any]
    args: tuple[Any, ...]


class Timing(NamedTuple):
    """A program's times over that of its function, and whether a warm call leaves that out."""

    unjitted: float
    jitted: float
    replayed: bool


def programs() -> list[Case]:
    """All programs whose derivative is supported."""
    for path in sorted((_ROOT / "tests" / "capture").glob("programs_*.py")):
        import_module(f"tests.capture.{path.stem}")
    listed = import_module("tests.capture.programs").EXAMPLES
    found = [Case(e.function.__name__, e.function, e.args) for e in listed if e.refused is None]
    for file, name in _EXAMPLES.items():
        module = _example(file)
        inputs = module.inputs if hasattr(module, "inputs") else (module.start(),)
        found.append(Case(name, getattr(module, name), inputs))
    return found


def _example(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(
        f"examples.{name}", _ROOT / "examples" / f"{name}.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def derivative(case: Case) -> Callable[[], Callable[..., Any]]:
    """What makes the gradient with respect to all arguments that have one; else a pullback's.

    That is, of ones. It is made anew by each call, as `ad.grad(f)(x)` does.
    """
    function = case.function
    value = function(*copied(case.args))
    (first, *others) = pytrees.leaves(value)
    if (
        not others
        and first is value
        and np.ndim(value) == 0
        and np.asarray(value).dtype.kind == "f"
    ):
        places = tuple(place for place, arg in enumerate(case.args) if is_inexact(arg))
        return lambda: ad.grad(function, places)
    seed = pytrees.tree_map(lambda leaf: np.ones_like(np.asarray(leaf))[()], value)

    def pulled_back(*args: Any) -> Any:
        return ad.vjp(function, *args)[1](seed)

    return lambda: pulled_back


def is_inexact(arg: Any) -> bool:
    return any(np.asarray(leaf).dtype.kind in "fc" for leaf in pytrees.leaves(arg))


def copied(tree: Any) -> Any:
    """The same with arrays of its own."""
    return pytrees.tree_map(lambda x: x.copy() if isinstance(x, np.ndarray) else x, tree)


def writes(case: Case) -> bool:
    """Whether a function changes its arguments: then it is given new ones at each call."""
    args = copied(case.args)
    case.function(*args)
    before, after = pytrees.leaves(case.args), pytrees.leaves(args)
    return not all(map(np.array_equal, before, after))


def runs_again(code: CodeType, thunk: Thunk) -> bool:
    """Whether a call runs a function's code, or a clone of it: Python itself is asked."""
    place = (code.co_filename, code.co_name, code.co_firstlineno)
    met = False

    def profile(frame: Any, event: str, _: Any) -> None:
        nonlocal met
        own = frame.f_code
        met |= event == "call" and place == (own.co_filename, own.co_name, own.co_firstlineno)

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        thunk()
    finally:
        sys.setprofile(before)
    return met


def timing(case: Case) -> Timing:
    """The times of one program, which take turns."""
    function, args = case.function, copied(case.args)
    slope = derivative(case)
    jitted = ad.jit(slope())
    given = copied if writes(case) else tuple
    candidates: dict[str, Thunk] = {
        "function": lambda: function(*given(args)),
        "un-jitted": lambda: slope()(*given(args)),
        "jitted": lambda: jitted(*given(args)),
    }
    for _ in range(_WARM):
        slope()(*given(args))
    with ad.config(native=True):  # what is being compiled is waited for
        slope()(*given(args))
    times = medians(candidates, seconds=_SECONDS, rounds=50)
    replayed = not runs_again(function.__code__, lambda: slope()(*args))
    own = times["function"]
    return Timing(times["un-jitted"] / own, times["jitted"] / own, replayed)


def run() -> list[Table]:
    return [_table(), _by_hand()]


def _table() -> Table:
    cases = programs()
    found = [timing(case) for case in cases]
    table = Table(["", "programs", "median", "90th percentile", "most"])
    unjitted = [each.unjitted for each in found]
    _row(table, "un-jitted gradient, function = 1", unjitted)
    for wanted, name in ((True, "of these, replayed"), (False, "of these, captured at every call")):
        _row(table, name, [each.unjitted for each in found if each.replayed is wanted])
    _row(table, "jitted gradient, function = 1", [each.jitted for each in found])
    _row(table, "first call of the gradient", _first_calls(len(cases)), duration)
    table.notes.append(
        f"First calls: medians of {COLD} fresh processes, in which another small function has been "
        "differentiated before, and which then take one program after the other."
    )
    return table


def _row(
    table: Table, name: str, values: Sequence[float], text: Callable[[float], str] = ratio
) -> None:
    if not values:
        table.rows.append([name, "0", *["–"] * 3])
        return
    figures = [statistics.median(values), float(np.percentile(values, 90)), max(values)]
    table.rows.append([name, str(len(values)), *map(text, figures)])


# --- first calls ----------------------------------------------------------------------------------


def _first_calls(count: int) -> list[float]:
    path = os.pathsep.join([str(_ROOT), str(_ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    whole: list[list[float]] = []
    for _ in range(COLD):
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.unjitted"],
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=True,
        )
        whole.append(json.loads(done.stdout.splitlines()[-1]))
        assert len(whole[-1]) == count
    return [statistics.median(times) for times in zip(*whole, strict=True)]


def _measure_first_calls() -> list[float]:
    ad.grad(lambda x: np.sum(x * x))(np.ones(3))
    times = []
    for case in programs():
        slope, args = derivative(case), copied(case.args)
        start = time.perf_counter()
        slope()(*args)
        times.append(time.perf_counter() - start)
    return times


# --- over what is written by hand -----------------------------------------------------------------


def _by_hand() -> Table:
    X, y = load_wine().network_data()
    W = draw_weights(16, X.shape[0], seed=0)
    loss, x = loss_on(X, y), np.linspace(-1.5, 1.5, rosenbrock.N)
    valley = rosenbrock.rosenbrock
    jitted_loss, jitted_valley = ad.jit(ad.grad(loss)), ad.jit(ad.grad(valley))
    rows: dict[str, dict[str, Thunk]] = {
        "wine network, 16 hidden units": {
            BY_HAND: lambda: hand_written_gradient(W, X, y),
            "un-jitted": lambda: ad.grad(loss)(W),
            "jitted": lambda: jitted_loss(W),
        },
        f"Rosenbrock, n = {rosenbrock.N}": {
            BY_HAND: lambda: rosenbrock.by_hand(x),
            "un-jitted": lambda: ad.grad(valley)(x),
            "jitted": lambda: jitted_valley(x),
        },
    }
    table = Table([f"{BY_HAND} = 1", BY_HAND, "un-jitted", "jitted"])
    for name, candidates in rows.items():
        times = medians(candidates, seconds=3.0)
        unit = times[BY_HAND]
        others = [ratio(times[each] / unit) for each in ("un-jitted", "jitted")]
        table.rows.append([name, duration(unit), *others])
    return table


if __name__ == "__main__":
    print(json.dumps(_measure_first_calls()))
