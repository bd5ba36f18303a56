"""Random programs, each with arguments, for comparing executors.

Two kinds. *Exact* ones hold small whole numbers in every dtype, so that all sums are exact in any
order: executors must agree in every bit. *Smooth* ones hold random reals under well-conditioned
functions, and executors agree to rounding. Nothing in them overflows, divides by zero or is
undefined: every equation is tried on its arguments before it is taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from adjoint.base.arrays import type_of
from adjoint.base.errors import AdjointError
from adjoint.primitives.declaration import PRIMITIVES
from adjoint.program import Atom, Builder, Literal, Program, Variable, operation

LENGTHS = (1, 2, 3, 5, 7, 8, 9, 13, 16, 17, 31, 33, 64, 100, 130, 1000)
LARGEST = 40_000  # numbers of one array at most
EXACT = {4: 2.0**21, 8: 2.0**50}  # sums of magnitudes up to here are exact, by bytes of a part
FLOATS = ("f8", "f8", "f8", "f8", "f4", "f4", "c16", "c8")
INTEGERS = ("i8", "i8", "i4", "i2", "u1", "i1", "u8", "u4")
UNARY_EXACT = ("negative", "absolute", "square", "sign", "floor", "conjugate", "rint", "real")
UNARY_SMOOTH = ("sin", "cos", "tanh", "negative", "arctan", "expit", "square", "conjugate", "real")
BINARY_EXACT = ("add", "subtract", "multiply", "maximum", "minimum", "add", "subtract")
BINARY_SMOOTH = ("add", "subtract", "multiply", "hypot", "arctan2", "maximum", "divide")
COMPARISONS = ("less", "less_equal", "greater", "equal", "not_equal", "greater_equal")


class Unfit(Exception):
    """An equation that the program is better without."""


class Maker:
    """Makes one random program.

    exact: of whole numbers. values: what each variable is on the arguments.
    """

    def __init__(self, seed: int, exact: bool, differentiable: bool = False) -> None:
        self.rng = np.random.default_rng(seed)
        self.exact = exact
        self.differentiable = differentiable
        self.builder = Builder()
        self.arguments: list[Any] = []
        self.values: dict[Variable, Any] = {}
        self.pool: list[Variable] = []
        count = int(self.rng.integers(2, 5))
        self.lengths = [int(n) for n in self.rng.choice(LENGTHS, count)]

    # --- choices ----------------------------------------------------------------------------------

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def one(self, things: Sequence[Any]) -> Any:
        if not len(things):
            raise Unfit
        return things[int(self.rng.integers(len(things)))]

    def length(self) -> int:
        return int(self.one(self.lengths)) if self.chance(0.8) else int(self.one(LENGTHS))

    def shape(self, most: int = 4) -> tuple[int, ...]:
        count = int(self.one([0, 1, 1, 2, 2, 2, 3, 3, 4]))
        shape = tuple(self.length() for _ in range(min(count, most)))
        return shape if math.prod(shape) <= LARGEST else shape[:2] if len(shape) > 2 else shape[:1]

    def pick(self, kinds: str = "biufc", least: int = 0, weak: bool = False) -> Variable:
        found = [
            v
            for v in self.pool
            if v.type.dtype.kind in kinds and v.type.ndim >= least and (weak or not v.type.weak)
        ]
        if not found:
            raise Unfit
        back = min(int(self.rng.geometric(0.25)), len(found))
        return found[-back] if self.chance(0.7) else self.one(found)

    # --- values -----------------------------------------------------------------------------------

    def numbers(self, shape: tuple[int, ...], dtype: Any) -> Any:
        dtype = np.dtype(dtype)
        if dtype.kind == "b":
            return self.rng.random(shape) < 0.5
        if dtype.kind in "iu":
            low = 0 if dtype.kind == "u" else -9
            return self.rng.integers(low, 10, shape).astype(dtype)
        draw = (
            (lambda: self.rng.integers(-4, 5, shape).astype(float))
            if self.exact
            else (lambda: self.rng.normal(size=shape))
        )
        values = draw() + 1j * draw() if dtype.kind == "c" else draw()
        return np.asarray(values).astype(dtype)

    def fresh(self, shape: tuple[int, ...], dtype: Any) -> Variable:
        value = self.numbers(shape, dtype)
        if not shape:
            value = value[()]
            if self.chance(0.3) and np.dtype(dtype) in (np.dtype(float), np.dtype(np.int64)):
                value = value.item()
        return self.input(value)

    def input(self, value: Any) -> Variable:
        variable = self.builder.input(type_of(value))
        self.arguments.append(value)
        self.values[variable] = value
        self.pool.append(variable)
        return variable

    def value(self, atom: Atom) -> Any:
        return atom.value if isinstance(atom, Literal) else self.values[atom]

    def apply(self, name: str, *operands: Any, **params: Any) -> Variable:
        """Add an equation, if its results are fit."""
        primitive = PRIMITIVES[name]
        atoms = [x if isinstance(x, Variable | Literal) else Literal(x) for x in operands]
        try:
            (type_,) = primitive.infer(*(atom.type for atom in atoms), **params)
        except (AdjointError, ValueError, TypeError) as error:
            raise Unfit from error
        if type_.size > LARGEST or not type_.size or type_.dtype.itemsize > 16:
            raise Unfit
        if type_.dtype == np.float16:
            raise Unfit
        given = [self.value(atom) for atom in atoms]
        try:
            with np.errstate(over="raise", invalid="raise", divide="raise"):
                value = primitive.evaluate(*given, **params)
        except (FloatingPointError, ValueError, TypeError, OverflowError) as error:
            raise Unfit from error
        self._check(name, given, value, params)
        (variable,) = self.builder.emit(operation(primitive, **params), atoms)
        value = np.asarray(value)
        self.values[variable] = value if value.ndim or type_.weak else value[()]
        self.pool.append(variable)
        return variable

    def _check(self, name: str, given: Sequence[Any], value: Any, params: Any) -> None:
        array = np.asarray(value)
        if array.dtype.kind not in "fc":
            return
        if not np.isfinite(array).all():
            raise Unfit
        if not self.exact:
            if np.abs(array).max() > 1e4:
                raise Unfit
            return
        limit = EXACT[min(8, array.dtype.itemsize // (2 if array.dtype.kind == "c" else 1))]
        size = float(np.abs(array).max())
        if name in ("sum", "contract", "gather_add", "cumulative_sum"):
            sizes = [np.abs(np.asarray(x)) for x in given[:2]]
            size = float(np.prod([max(1.0, float(s.sum(dtype=float))) for s in sizes]))
        if 4 * size > limit:
            raise Unfit
        parts = (array.real, array.imag) if array.dtype.kind == "c" else (array,)
        if any((np.rint(part) != part).any() for part in parts):
            raise Unfit

    # --- the program ------------------------------------------------------------------------------

    def make(self, steps: int) -> tuple[Program, list[Any]]:
        for _ in range(int(self.rng.integers(1, 4))):
            self.fresh(self.shape(), self.dtype())
        names = list(STEPS if self.exact else {**STEPS, **SMOOTH_STEPS})
        weights = np.array([(STEPS | SMOOTH_STEPS)[name][1] for name in names], float)
        done = tries = 0
        while done < steps and tries < 40 * steps:
            tries += 1
            name = names[int(self.rng.choice(len(names), p=weights / weights.sum()))]
            try:
                (STEPS | SMOOTH_STEPS)[name][0](self)
                done += 1
            except Unfit:
                continue
        return self.builder.build(self._outputs()), self.arguments

    def _outputs(self) -> list[Atom]:
        made = [v for equation in self.builder.equations for v in equation.outputs]
        read = {a for equation in self.builder.equations for a in equation.inputs}
        if self.differentiable:
            made = [v for v in made if v.type.inexact] or made
        ends = [v for v in made if v not in read] or made or self.pool
        outputs: list[Atom] = [self.one(ends) for _ in range(int(self.rng.integers(1, 4)))]
        if self.differentiable:
            return list(dict.fromkeys(outputs))
        if self.chance(0.2):
            outputs.append(self.one(self.pool))
        if self.chance(0.05):
            outputs.append(Literal(self.one([1.5, True, 3, np.float32(2)])))
        return outputs

    def dtype(self) -> str:
        if self.differentiable:
            return "f8" if self.chance(0.9) else "c16"
        if self.chance(0.75 if self.exact else 0.95):
            return str(self.one(FLOATS))
        return str(self.one(INTEGERS)) if self.chance(0.8) else "?"

    def partner(self, x: Variable) -> Any:
        """Something that is broadcast with x."""
        shape, roll = x.type.shape, self.rng.random()
        if roll < 0.12:
            return self.one([1.0, -2.0, 3, np.float32(2), 0.5 if not self.exact else 4.0])
        if roll < 0.3:
            keep = int(self.rng.integers(0, len(shape) + 1))
            tail = shape[len(shape) - keep :]
            tail = tuple(1 if self.chance(0.25) else n for n in tail)
            return self.fresh(tail, x.type.dtype if self.chance(0.8) else self.dtype())
        fitting = [v for v in self.pool if _together(v.type.shape, shape) is not None]
        return self.one(fitting)


def _together(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...] | None:
    try:
        found = np.broadcast_shapes(one, other)
    except ValueError:
        return None
    return found if math.prod(found) <= LARGEST else None


# --- steps ----------------------------------------------------------------------------------------


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
        found = [v for v in m.pool if _fits(v.type.shape, tuple(part))]
        value: Any = m.one(found) if found and m.chance(0.6) else m.fresh(shape, x.type.dtype)
        if m.chance(0.1):
            value = 2.0
        elif value.type.dtype.kind not in _AT_MOST[x.type.dtype.kind]:
            value = m.fresh(shape, x.type.dtype)
        x = m.apply(m.one(("update", "increment")), x, value, index=index)


_AT_MOST = {"i": "i", "u": "u", "f": "f", "c": "cf"}


def _fits(shape: tuple[int, ...], part: tuple[int, ...]) -> bool:
    return _together(shape, part) == part and len(shape) <= len(part)


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
    found = [v for v in m.pool if _fits(v.type.shape, part) and v.type.dtype == x.type.dtype]
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
    step = m.partner(x)
    for _ in range(int(m.one([2, 4, 8]))):
        x = m.apply("add", x, m.apply("multiply", m.apply("sin", x), step))


Step = tuple[Callable[[Maker], None], float]
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

__all__ = ["Maker", "pairwise"]
