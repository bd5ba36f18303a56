"""The arguments of each function, and how rows are made of them.

A row is an expression. For every function each value of each argument is tried alone, then each
pair, then random combinations. What is not listed here for a parameter of NumPy's signature is an
error (see test_arguments.py), unless it stands in LEFT.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from itertools import combinations, product
from typing import Any

import numpy as np

from tests.capture.arguments.grid_methods import METHODS
from tests.capture.arguments.grid_reductions import REDUCTIONS
from tests.capture.arguments.grid_shapes import SHAPES
from tests.capture.arguments.grid_values import VALUES

GRID: dict[str, dict[str, str]] = {**REDUCTIONS, **SHAPES, **VALUES}
METHOD_OUTS = {
    "all",
    "any",
    "argmax",
    "argmin",
    "clip",
    "compress",
    "cumsum",
    "cumprod",
    "max",
    "min",
    "mean",
    "prod",
    "sum",
    "std",
    "var",
    "round",
    "take",
    "trace",
    "dot",
}
# Parameters that the sweep does not vary: `out` has rows of its own (outputs.py); the others are
# listed under '*' and '**'.
LEFT = {"out", "optimize", "kwargs", "operands", "varargs", "args", "arys", "xi"}


def function_of(name: str) -> Any:
    """The function that a dotted name stands for."""
    return eval(name, {"np": np})


def rows_of(name: str, limit: int, seed: int = 0) -> list[str]:
    """Calls of a function: every value of every argument, pairs of them, and random ones."""
    signature = inspect.signature(function_of(name))
    texts = {key: value.split(";") for key, value in GRID[name].items()}
    names = [key for key in signature.parameters if key in texts]
    required = [k for k in names if signature.parameters[k].default is inspect.Parameter.empty]
    extras = [key for key in ("*", "**") if key in texts]
    need = [*required, *(["*"] if "*" in texts and not required else [])]
    free = [key for key in (*names, *extras) if key not in need]

    def call(chosen: dict[str, str]) -> str:
        parts = [chosen[key] for key in required]
        parts += [chosen["*"]] if "*" in chosen else []
        parts += [f"{key}={chosen[key]}" for key in names if key in chosen and key not in required]
        parts += [chosen["**"]] if "**" in chosen else []
        return f"{name}({', '.join(parts)})"

    return _rows(call, texts, need, free, limit, seed + len(name))


def method_rows(name: str, limit: int, seed: int = 0) -> list[str]:
    """Calls of a method, of arrays of several kinds."""
    texts = {key: value.split(";") for key, value in METHODS[name].items()}
    kinds = "x;v;t;z;n;F;R;q" if name in ("item", "tolist") else "x;v;t;z;n;f;F;R;q"
    texts["self"] = kinds.split(";")
    need = [
        "self",
        *(
            key
            for key in ("*", "condition", "b", "repeats", "indices", "axis1", "axis2", "dtype", "v")
            if key in texts
            and not (key == "dtype" and name != "astype")
            and name not in ("trace", "diagonal")
        ),
    ]
    free = [key for key in texts if key not in need]

    def call(chosen: dict[str, str]) -> str:
        parts = [chosen[key] for key in need[1:]]
        parts += [f"{key}={chosen[key]}" for key in free if key in chosen]
        return f"{chosen['self']}.{name}({', '.join(parts)})"

    return _rows(call, texts, need, free, limit, seed + len(name))


def _rows(
    call: Any, texts: dict[str, list[str]], need: list[str], free: list[str], limit: int, seed: int
) -> list[str]:
    rng = np.random.default_rng(seed)

    def base() -> dict[str, str]:
        return {key: str(rng.choice(texts[key])) for key in need}

    def found() -> Iterator[str]:
        wholes = list(product(*(texts[key] for key in need)))
        rng.shuffle(wholes)
        for whole in wholes[: max(limit // 3, 1)]:
            yield call(dict(zip(need, whole, strict=True)))
        for key in free:
            for text in texts[key]:
                yield call({key: texts[key][0] for key in need} | {key: text})
                yield call({**base(), key: text})
        pairs = [
            (a, b, one, other)
            for a, b in combinations(free, 2)
            for one in texts[a]
            for other in texts[b]
        ]
        rng.shuffle(pairs)
        for a, b, one, other in pairs[: limit // 2]:
            yield call({**base(), str(a): str(one), str(b): str(other)})
        for _ in range(4 * limit if free else 0):
            chosen = base()
            for key in free:
                if rng.random() < 0.4:
                    chosen[key] = str(rng.choice(texts[key]))
            yield call(chosen)

    rows: dict[str, None] = {}
    for row in found():
        rows[row] = None
        if len(rows) >= limit:
            break
    return list(rows)
