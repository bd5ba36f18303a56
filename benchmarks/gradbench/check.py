"""Every function of the tool, by messages, against independent references.

Each number has to agree to nine digits of its own, or of a millionth of the largest one. (GradBench
itself compares to 1e-4 of 1, so that zeros pass for numbers that are small.)
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np

from benchmarks.gradbench import inputs
from benchmarks.gradbench.protocol import MODULES, answer
from benchmarks.gradbench.references import REFERENCES

TOLERANCE = 1e-9
_FLOOR = 1e-6


def small() -> Mapping[str, list[Any]]:
    """Inputs of each eval that take seconds with the references."""
    random = np.random.default_rng(0)
    mirrored = inputs.ht(random, 3, True, mesh=40)
    mirrored["data"]["model"]["is_mirrored"] = True
    mirrored["data"]["model"]["triangles"] = random.integers(0, 40, (inputs.TRIANGLES, 3)).tolist()
    return {
        "hello": [1.0, -2.5],
        "llsq": [inputs.llsq(random, 13, 6), inputs.llsq(random, 16, 40)],
        "lse": [inputs.vector(random, 7), {"x": [710.0, 709.0, -3.0]}, inputs.vector(random, 1)],
        "ode": [inputs.ode(random, 9, 4), inputs.ode(random, 12, 30), inputs.ode(random, 1, 1)],
        "det": [inputs.det(random, 3), inputs.det(random, 5)],
        "gmm": [inputs.gmm(random, 2, 3, 5), inputs.gmm(random, 4, 3, 6, m=2, gamma=1.5)],
        "kmeans": [inputs.kmeans(random, 4, 30, 3), inputs.kmeans(random, 1, 5, 2)],
        "lstm": [inputs.lstm(random, 1, 4, 3), inputs.lstm(random, 2, 9, 4)],
        "ba": [inputs.ba(random, 3, 5, 17), inputs.ba(random, 2, 2, 2)],
        "ht": [inputs.ht(random, 4, False, mesh=40), mirrored],
        "particle": [{"w": 0.0}],
        "saddle": [{"start": [1.0, 1.0]}],
    }


def faults(module: str, given: Any) -> Iterator[tuple[str, str | None]]:
    """The functions of a module, and what is wrong with each, or None."""
    for function in MODULES[module]:
        message = {"kind": "evaluate", "module": module, "function": function, "input": given}
        # Through JSON and back, as an eval would see it.
        found = json.loads(json.dumps(answer(json.loads(json.dumps(message)))))
        if not found["success"]:
            yield function, found["error"]
            continue
        yield function, difference(found["output"], _plain(REFERENCES[module][function](given)))


def difference(found: Any, wanted: Any) -> str | None:
    """The first place where two values of JSON differ, or None."""
    numbers = [abs(each) for _, each in _leaves(wanted)]
    floor = _FLOOR * max(numbers, default=0.0)
    got = dict(_leaves(found))
    if got.keys() != dict(_leaves(wanted)).keys():
        return "it is not of the structure that is wanted"
    for place, number in _leaves(wanted):
        if not abs(got[place] - number) <= TOLERANCE * max(abs(number), floor):
            return f"{place or 'the value'} is {got[place]!r} instead of {number!r}"
    return None


def _leaves(value: Any, place: str = "") -> Iterator[tuple[str, float]]:
    if isinstance(value, dict):
        for name, each in value.items():
            yield from _leaves(each, f"{place}.{name}")
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _leaves(each, f"{place}[{index}]")
    else:
        yield place, float(value)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | np.ndarray):
        return [_plain(each) for each in value]
    return float(value)


def report(modules: Collection[str] = ()) -> int:
    """Print a line for each function of these modules, or of all; 1 if any is wrong, or 0."""
    wrong = 0
    for module, given in small().items():
        for each in given if module in modules or not modules else ():
            for function, fault in faults(module, each):
                wrong += fault is not None
                print(f"{module}.{function}: {fault or 'agrees'}", flush=True)
    return int(wrong > 0)
