"""What random programs are made with: choices, arguments, and equations that are tried first.

Two kinds. *Exact* ones hold small whole numbers in every dtype, so that all sums are exact in any
order: executors must agree in every bit. *Smooth* ones hold random reals under well-conditioned
functions, and executors agree to rounding. Nothing in them overflows, divides by zero or is
undefined: every equation is tried on its arguments before it is taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
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

    def make(self, steps: int, kinds: Sequence[Step]) -> tuple[Program, list[Any]]:
        for _ in range(int(self.rng.integers(1, 4))):
            self.fresh(self.shape(), self.dtype())
        weights = np.array([weight for _, weight in kinds], float)
        done = tries = 0
        while done < steps and tries < 40 * steps:
            tries += 1
            step, _ = kinds[int(self.rng.choice(len(kinds), p=weights / weights.sum()))]
            with suppress(Unfit):
                step(self)
                done += 1
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
        fitting = [v for v in self.pool if together(v.type.shape, shape) is not None]
        return self.one(fitting)


def together(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...] | None:
    try:
        found = np.broadcast_shapes(one, other)
    except ValueError:
        return None
    return found if math.prod(found) <= LARGEST else None


Step = tuple[Callable[[Maker], None], float]
