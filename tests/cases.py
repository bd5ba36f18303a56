"""What the generic checker checks: each primitive on each sample, and how programs are run."""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from adjoint.base.arrays import type_of
from adjoint.executors import Needs, NumpyExecutor
from adjoint.optimise import simplify
from adjoint.primitives import Primitive
from adjoint.primitives.declaration import NO_DERIVATIVE
from adjoint.primitives.samples import Draw, Fixed, Sample
from adjoint.program import Builder, Program, check_program, operation
from tests.vectors import Arrays, distance, random_like

BATCH = 3


class CheckFailure(AssertionError):
    """A primitive broke one of the laws; `check` names which."""

    def __init__(self, case: Case, check: str, text: str) -> None:
        super().__init__(f"{case}: {check}: {text}")
        self.check = check


@dataclass(frozen=True)
class Case:
    """A primitive on one of its samples."""

    primitive: Primitive
    number: int
    sample: Sample
    variant: str = ""

    def __str__(self) -> str:
        types = ", ".join(str(type_of(operand)) for operand in self.operands)
        where = f"{self.primitive.name}, sample {self.number}{self.variant} ({types})"
        return f"{where} {self.sample.params}" if self.sample.params else where

    @property
    def name(self) -> str:
        """What tests are called after it, the same in each process."""
        return f"{self.primitive.name}-{self.number}{'-single' * bool(self.variant)}"

    def generator(self, *purpose: Any) -> np.random.Generator:
        """Random numbers of its own for each purpose, the same at every run."""
        text = repr((self.primitive.name, self.number, *purpose))
        return np.random.default_rng(zlib.crc32(text.encode()))

    @cached_property
    def operands(self) -> Arrays:
        """The operands of the sample."""
        generator = self.generator("operands")
        return tuple(operand.array(generator) for operand in self.sample.operands)

    def others(self, place: int) -> list[Any]:
        """For a batch: this operand, and others like it. Indices are rotated."""
        operand = self.sample.operands[place]
        values = self.operands[place]
        if isinstance(operand, Fixed):
            return [np.roll(values, shift) for shift in range(BATCH)]
        rest = [operand.array(self.generator("batch", place, n)) for n in range(1, BATCH)]
        return [values, *rest]

    @cached_property
    def program(self) -> Program:
        """The program of one equation."""
        builder = Builder()
        inputs = [builder.input(type_of(operand)) for operand in self.operands]
        op = operation(self.primitive, **self.sample.params)
        return check_program(builder.build(builder.emit(op, inputs)))

    @property
    def active(self) -> tuple[bool, ...]:
        """The operands that a derivative is taken in: the inexact ones that have one."""
        return tuple(
            variable.type.inexact and place not in self.sample.constant
            for place, variable in enumerate(self.program.inputs)
        )

    def choices(self) -> list[tuple[bool, ...]]:
        """Each active operand alone, and all of them together."""
        count = len(self.active)
        alone = [
            tuple(place == chosen for place in range(count))
            for chosen in range(count)
            if self.active[chosen]
        ]
        return alone if len(alone) < 2 else [*alone, self.active]

    @cached_property
    def bytes(self) -> int:
        """The bytes of the narrowest real part among operands and results."""
        types = (*self.program.input_types, *self.program.output_types)
        sizes = [t.dtype.itemsize // (1 + (t.dtype.kind == "c")) for t in types if t.inexact]
        return min(sizes, default=8)

    @property
    def differentiable(self) -> bool:
        """Whether there is a derivative to check."""
        varies = any(t.inexact for t in self.program.output_types)
        return self.primitive.derivative is not NO_DERIVATIVE and any(self.active) and varies

    def tangents(self, marks: Sequence[bool], *purpose: Any) -> Arrays:
        """Random tangents of the operands marked."""
        types = [t for t, mark in zip(self.program.input_types, marks, strict=True) if mark]
        return random_like(self.generator("tangents", *purpose), types)

    def cotangents(self, *purpose: Any) -> Arrays:
        """Random cotangents of the inexact results."""
        types = [t for t in self.program.output_types if t.inexact]
        return random_like(self.generator("cotangents", *purpose), types)

    def fail(self, check: str, text: str) -> CheckFailure:
        """The failure of a check on this case."""
        return CheckFailure(self, check, text)


def cases(primitive: Primitive) -> list[Case]:
    """All samples of a primitive, and each double-precision one in single precision."""
    found = []
    for number, sample in enumerate(primitive.samples):
        found.append(Case(primitive, number, sample))
        single = in_single_precision(sample) if sample.single else None
        if single is not None:
            found.append(Case(primitive, number, single, " in single precision"))
    return found


def in_single_precision(sample: Sample) -> Sample | None:
    """The sample with every random operand in single precision; None where that changes nothing."""
    single = {np.dtype(float): np.float32, np.dtype(complex): np.complex64}
    operands = tuple(
        dataclasses.replace(operand, dtype=single[np.dtype(operand.dtype)])
        if isinstance(operand, Draw) and not operand.python and np.dtype(operand.dtype) in single
        else Fixed(np.asarray(operand.values, np.float32))
        if isinstance(operand, Fixed) and np.asarray(operand.values).dtype.kind == "f"
        else operand
        for operand in sample.operands
    )
    return (
        None
        if all(a is b for a, b in zip(operands, sample.operands, strict=True))
        else dataclasses.replace(sample, operands=operands)
    )


# --- running -------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def compiled(program: Program, strong: bool) -> Any:
    """A program as the NumPy executor runs it; compiled once for each structure."""
    return NumpyExecutor().compile(program, Needs(hard=strong))


def run(
    case: Case, check: str, program: Program, arguments: Sequence[Any], strong: bool = False
) -> Arrays:
    """Run a program: checked, simplified, and its results held to the types it promises."""
    results: Arrays = compiled(check_program(simplify(check_program(program))), strong).run(
        *arguments
    )
    for number, (value, type_) in enumerate(zip(results, program.output_types, strict=True)):
        if not isinstance(value, np.generic if type_.ndim == 0 else np.ndarray):
            raise case.fail(check, f"result {number} is a {type(value).__name__}, expected {type_}")
        if value.dtype != type_.dtype or value.shape != type_.shape:
            raise case.fail(
                check, f"result {number} is {type_of(value)}, the type rule says {type_}"
            )
    return results


def close(
    case: Case, check: str, found: Sequence[Any], expected: Sequence[Any], bound: float
) -> None:
    """Raise unless two vectors agree to a relative bound."""
    error = distance(found, expected)
    if not error <= bound:
        raise case.fail(
            check, f"relative error {error:.2e} > {bound:.0e}\nfound {found}\nexpected {expected}"
        )
