"""Random programs, each with arguments, for comparing executors: `random_maker` says what kinds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint.optimise import simplify
from adjoint.optimise.simplify import eliminate_dead_code
from adjoint.program import Program, Variable
from tests.executors.native.random_maker import (
    FLOATS,
    INTEGERS,
    LARGEST,
    Maker,
    Step,
    Unfit,
    together,
)

UNARY_EXACT = ("negative", "absolute", "square", "sign", "floor", "conjugate", "rint", "real")
UNARY_SMOOTH = ("sin", "cos", "tanh", "negative", "arctan", "expit", "square", "conjugate", "real")
BINARY_EXACT = ("add", "subtract", "multiply", "maximum", "minimum", "add", "subtract")
BINARY_SMOOTH = ("add", "subtract", "multiply", "hypot", "arctan2", "maximum", "divide")
COMPARISONS = ("less", "less_equal", "greater", "equal", "not_equal", "greater_equal")


def unary(m: Maker) -> None:
    m.apply(m.one(UNARY_EXACT if m.exact else UNARY_SMOOTH), m.pick("iufc"))


def binary(m: Maker) -> None:
    x = m.pick(weak=True)
    name = m.one(BINARY_EXACT if m.exact else BINARY_SMOOTH)
    other = m.partner(x)
    if name == "divide":
        other = m.apply("add", m.apply("square", m.apply("absolute", m.pick("f"))), 1.0)
    m.apply(name, *((x, other) if m.chance(0.5) else (other, x)))


def clipped(m: Maker) -> None:
    x = m.pick("fi")
    m.apply("maximum", m.apply("minimum", x, 9), -9)


def selected(m: Maker) -> None:
    x = m.pick("fc" if m.differentiable else "biufc")
    other = m.partner(x)
    kinds = "iuf" if m.exact else "biu"
    if m.exact or m.chance(0.5):
        c = m.pick(kinds)
        mask = m.apply(m.one(COMPARISONS), c, m.partner(c) if m.exact else 2)
    else:
        mask = m.fresh(x.type.shape[1:] if m.chance(0.3) else x.type.shape, "?")
    m.apply("select", mask, x, other)


def compared(m: Maker) -> None:
    x = m.pick("iuf" if m.exact else "iu")
    m.apply(m.one(COMPARISONS), x, m.partner(x) if m.exact else 1)


def logical(m: Maker) -> None:
    x = m.pick("b")
    m.apply(m.one(("logical_and", "logical_or", "logical_xor")), x, m.partner(x))


def converted(m: Maker) -> None:
    x = m.pick()
    to = m.one(FLOATS if not m.exact or m.chance(0.5) else (*INTEGERS, "?"))
    if x.type.dtype.kind == "c" and np.dtype(to).kind != "c":
        x = m.apply("real", x)
    value = np.asarray(m.values[x])
    if value.dtype.kind == "f" and np.dtype(to).kind in "iu":
        info = np.iinfo(to)
        if value.min() < info.min or value.max() > info.max:
            raise Unfit
    m.apply("cast", x, dtype=np.dtype(to))


def part_of(m: Maker, shape: tuple[int, ...], integers: bool = True) -> tuple[Any, ...]:
    """A random basic index."""
    index: list[Any] = []
    for length in shape:
        roll = m.rng.random()
        if roll < 0.3:
            index.append((0, length, 1))
        elif roll < 0.4 and integers:
            index.append(int(m.rng.integers(length)))
        elif roll < 0.7:
            start = int(m.rng.integers(length))
            index.append((start, int(m.rng.integers(start, length)) + 1, 1))
        else:
            step = int(m.one([-1, 2, 3, -2, -1, 5]))
            if step > 0:
                index.append((int(m.rng.integers(length)), length, step))
            else:
                index.append((int(m.rng.integers(length)), -1, step))
    return tuple(index)


def sliced(m: Maker) -> None:
    x = m.pick(least=1)
    m.apply("slice", x, index=part_of(m, x.type.shape))


def neighbours(m: Maker) -> None:
    """x[1:] - x[:-1], along some axis."""
    x = m.pick("iufc", least=1)
    axis = int(m.rng.integers(x.type.ndim))
    length, gap = x.type.shape[axis], int(m.one([1, 1, 2]))
    if length <= gap:
        raise Unfit
    whole = [(0, n, 1) for n in x.type.shape]
    ends = [(gap, length, 1), (0, length - gap, 1)]
    if m.chance(0.2):
        ends[1] = (length - gap - 1, -1, -1)
    pieces = [
        m.apply("slice", x, index=tuple([*whole[:axis], end, *whole[axis + 1 :]])) for end in ends
    ]
    m.apply(m.one(("add", "subtract", "multiply")), *pieces)


def turned(m: Maker) -> None:
    x = m.pick(least=2)
    m.apply("transpose", x, axes=tuple(int(a) for a in m.rng.permutation(x.type.ndim)))


def symmetric(m: Maker) -> None:
    """x + x.T"""
    x = m.pick("iufc", least=2)
    shape = x.type.shape
    n = min(shape[-2:])
    index = (*((0, k, 1) for k in shape[:-2]), (0, n, 1), (0, n, 1))
    x = m.apply("slice", x, index=index)
    axes = (*range(len(shape) - 2), len(shape) - 1, len(shape) - 2)
    m.apply(m.one(("add", "multiply", "subtract")), x, m.apply("transpose", x, axes=axes))


def reshaped(m: Maker) -> None:
    x = m.pick()
    shape = list(x.type.shape)
    for _ in range(int(m.rng.integers(1, 4))):
        roll = m.rng.random()
        if roll < 0.4 and len(shape) > 1:
            at = int(m.rng.integers(len(shape) - 1))
            shape[at : at + 2] = [shape[at] * shape[at + 1]]
        elif roll < 0.75 and shape and len(shape) < 5:
            at = int(m.rng.integers(len(shape)))
            factors = [k for k in range(2, shape[at]) if shape[at] % k == 0]
            if factors:
                k = m.one(factors)
                shape[at : at + 1] = [k, shape[at] // k]
        elif len(shape) < 5:
            shape.insert(int(m.rng.integers(len(shape) + 1)), 1)
    m.apply("reshape", x, shape=tuple(shape))


def spread(m: Maker) -> None:
    x = m.pick()
    shape = tuple(m.length() if n == 1 and m.chance(0.7) else n for n in x.type.shape)
    lead = (m.length(),) if m.chance(0.5) and len(shape) < 4 else ()
    m.apply("broadcast", x, shape=(*lead, *shape))


def reduced(m: Maker) -> None:
    x = m.pick(least=1)
    count = int(m.rng.integers(1, x.type.ndim + 1))
    axes = tuple(sorted(int(a) for a in m.rng.permutation(x.type.ndim)[:count]))
    kind = x.type.dtype.kind
    names = {"b": ("any", "all", "sum"), "c": ("sum",)}.get(kind, ("sum", "sum", "max", "min"))
    if m.differentiable:
        names = ("sum",)
    y = m.apply(m.one(names), x, axes=axes)
    if m.chance(0.4):
        shape = tuple(1 if a in axes else n for a, n in enumerate(x.type.shape))
        y = m.apply("reshape", y, shape=shape)
        if m.chance(0.7) and kind != "b":
            m.apply(m.one(("add", "subtract", "multiply")), x, y)


def joined(m: Maker) -> None:
    x = m.pick(least=1)
    axis = int(m.rng.integers(x.type.ndim))
    shape = x.type.shape
    parts = [x]
    for _ in range(int(m.rng.integers(1, 4))):
        if m.chance(0.5):
            cut = [*((0, n, 1) for n in shape)]
            cut[axis] = part_of(m, (shape[axis],), integers=False)[0]
            parts.append(m.apply("slice", x, index=tuple(cut)))
        else:
            length = int(m.one([1, 2, shape[axis]]))
            parts.append(m.fresh((*shape[:axis], length, *shape[axis + 1 :]), x.type.dtype))
    order = m.rng.permutation(len(parts))
    m.apply("concatenate", *[parts[k] for k in order], axis=axis)


def stacked(m: Maker) -> None:
    x = m.pick()
    axis = int(m.rng.integers(x.type.ndim + 1))
    same = [v for v in m.pool if v.type.shape == x.type.shape and not v.type.weak]
    shape = (*x.type.shape[:axis], 1, *x.type.shape[axis:])
    parts = [m.apply("reshape", m.one(same), shape=shape) for _ in range(int(m.one([2, 3, 4])))]
    m.apply("concatenate", *parts, axis=axis)


def written(m: Maker) -> None:
    """A chain of updates of and additions to parts."""
    x = m.pick("iufc", least=1)
    if m.chance(0.3):
        shape = x.type.shape
        x = m.apply("fill", shape=shape, dtype=x.type.dtype, value=float(m.one([0, 0, 1])))
    for _ in range(int(m.one([1, 1, 2, 3, 5]))):
        index = part_of(m, x.type.shape)
        part = [len(range(*e)) for e in index if not isinstance(e, int)]
        if 0 in part:
            raise Unfit
        tail = part[int(m.rng.integers(len(part) + 1)) :] if m.chance(0.3) else part
        shape = tuple(1 if m.chance(0.1) else n for n in tail)
        found = [v for v in m.pool if fits(v.type.shape, tuple(part))]
        value: Any = m.one(found) if found and m.chance(0.6) else m.fresh(shape, x.type.dtype)
        if m.chance(0.1):
            value = 2.0
        elif value.type.dtype.kind not in _AT_MOST[x.type.dtype.kind]:
            value = m.fresh(shape, x.type.dtype)
        x = m.apply(m.one(("update", "increment")), x, value, index=index)


_AT_MOST = {"i": "i", "u": "u", "f": "f", "c": "cf"}


def fits(shape: tuple[int, ...], part: tuple[int, ...]) -> bool:
    return together(shape, part) == part and len(shape) <= len(part)


def contracted(m: Maker) -> None:
    x = m.pick("fc" if m.chance(0.9) else "i")
    letters = "abcdefgh"
    left = letters[: x.type.ndim]
    batch, summed, right, shape = [], [], [], []
    for letter, length in zip(left, x.type.shape, strict=True):
        roll = m.rng.random()
        if roll < 0.7:
            right.append(letter)
            shape.append(length)
            (summed if roll < 0.45 else batch).append(letter)
    for letter in letters[x.type.ndim : x.type.ndim + int(m.one([0, 0, 1, 1, 2]))]:
        if math.prod(shape) < 3000:
            right.append(letter)
            shape.append(m.length())
    order = m.rng.permutation(len(right))
    right, shape = [right[k] for k in order], [shape[k] for k in order]
    same = [v for v in m.pool if v.type.shape == tuple(shape) and v.type.dtype.kind in "fc"]
    y = m.one(same) if same and m.chance(0.7) else m.fresh(tuple(shape), x.type.dtype)
    result = [x for x in dict.fromkeys([*left, *right]) if x not in summed]
    m.rng.shuffle(result)
    spec = f"{left},{''.join(right)}->{''.join(result)}"
    if len(result) <= 4:
        m.apply("contract", x, y, spec=spec)


def _indices(m: Maker, x: Variable) -> list[Variable]:
    count = int(m.rng.integers(1, min(x.type.ndim, 3) + 1))
    shape = m.shape(2)
    made = []
    for length in x.type.shape[:count]:
        dtype = m.one(["i8", "i8", "i8", "i4", "u1" if length < 256 else "u2"])
        low = -length if dtype[0] == "i" else 0
        value = m.rng.integers(low, length, shape).astype(dtype)
        made.append(m.input(value if shape else value[()]))
    return made


def gathered(m: Maker) -> None:
    x = m.pick(least=1)
    m.apply("gather", x, *_indices(m, x))


def scattered(m: Maker) -> None:
    x = m.pick("iufc", least=1)
    indices = _indices(m, x)
    part = (*indices[0].type.shape, *x.type.shape[len(indices) :])
    if math.prod(part) > LARGEST:
        raise Unfit
    found = [v for v in m.pool if fits(v.type.shape, part) and v.type.dtype == x.type.dtype]
    value = m.one(found) if found and m.chance(0.5) else m.fresh(part, x.type.dtype)
    name = m.one(("gather_set", "gather_add"))
    if name == "gather_add" and len(indices) == 1 and value.type.shape != part:
        value = m.apply("broadcast", value, shape=part)  # numpy.add.at fails where it broadcasts
    m.apply(name, x, value, *indices)


def counted(m: Maker) -> None:
    n = m.apply("iota", length=m.length())
    if m.chance(0.5):
        m.apply("cast", n, dtype=np.dtype(m.one(("f8", "f4"))))


def softmax(m: Maker) -> None:
    x = m.pick("f", least=1)
    axis = int(m.rng.integers(x.type.ndim))
    keep = tuple(1 if a == axis else n for a, n in enumerate(x.type.shape))
    top = m.apply("reshape", m.apply("max", x, axes=(axis,)), shape=keep)
    if m.differentiable:
        top = m.apply("stop_gradient", top)
    e = m.apply("exp", m.apply("subtract", x, top))
    total = m.apply("reshape", m.apply("sum", e, axes=(axis,)), shape=keep)
    if m.chance(0.5):
        m.apply("divide", e, total)
    else:
        m.apply("add", m.apply("log", total), top)


def iterated(m: Maker) -> None:
    """A recurrence, written out."""
    x = m.pick("f")
    step = m.apply("sin", m.pick("f"))
    for _ in range(int(m.one([2, 4, 8]))):
        x = m.apply("add", x, m.apply("multiply", m.apply("sin", x), step))


STEPS: dict[str, Step] = {
    "unary": (unary, 2.0),
    "binary": (binary, 5.0),
    "clipped": (clipped, 0.5),
    "selected": (selected, 1.0),
    "compared": (compared, 0.7),
    "logical": (logical, 0.5),
    "converted": (converted, 0.7),
    "sliced": (sliced, 2.0),
    "neighbours": (neighbours, 1.5),
    "turned": (turned, 1.5),
    "symmetric": (symmetric, 0.7),
    "reshaped": (reshaped, 1.5),
    "spread": (spread, 1.0),
    "reduced": (reduced, 2.5),
    "joined": (joined, 1.0),
    "stacked": (stacked, 0.5),
    "written": (written, 1.5),
    "contracted": (contracted, 1.8),
    "gathered": (gathered, 1.0),
    "scattered": (scattered, 1.0),
    "counted": (counted, 0.3),
}
SMOOTH_STEPS: dict[str, Step] = {"softmax": (softmax, 1.0), "iterated": (iterated, 0.5)}


def random_program(
    seed: int, exact: bool, differentiable: bool = False
) -> tuple[Program, list[Any]]:
    """The program of a seed, and its arguments; some are simplified."""
    kinds = [*STEPS.values(), *(() if exact else SMOOTH_STEPS.values())]
    steps = int(np.random.default_rng([seed, 1]).integers(2, 16))
    program, arguments = Maker(seed, exact, differentiable).make(steps, kinds)
    return (eliminate_dead_code if seed % 3 else simplify)(program), arguments
