"""Random programs, and their derivatives and batches, as machine code and on NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from adjoint.optimise import simplify
from adjoint.program import Program
from adjoint.transforms import jvp, vjp, vmap
from tests.executors.native.comparing import compare, is_lowerable
from tests.executors.native.random_programs import random_program
from tests.sampling import one_in

BLOCK = 10


def numbers(generator: np.random.Generator, type_: Any) -> Any:
    value = generator.normal(size=type_.shape)
    if type_.dtype.kind == "c":
        value = value + 1j * generator.normal(size=type_.shape)
    value = np.asarray(value).astype(type_.dtype)
    return value if type_.ndim else value[()]


def checked(program: Program, arguments: list[Any], exact: bool) -> bool:
    if not is_lowerable(program):
        return False
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        try:
            compare(program, arguments, exact)
        except FloatingPointError:  # NumPy would warn, so that machine code has to give up
            return False
    return True


@pytest.mark.parametrize("block", one_in(8, range(8)))
def test_whole_numbers_to_the_bit(block: int) -> None:
    seeds = range(block * BLOCK, (block + 1) * BLOCK)
    assert sum(checked(*random_program(seed, True), exact=True) for seed in seeds) > BLOCK // 2


@pytest.mark.parametrize("block", one_in(4, range(4)))
def test_reals_to_rounding(block: int) -> None:
    seeds = range(block * BLOCK, (block + 1) * BLOCK)
    assert sum(checked(*random_program(seed, False), exact=False) for seed in seeds) > BLOCK // 2


@pytest.mark.parametrize("block", one_in(2, range(2)))
@pytest.mark.parametrize("transform", [jvp, vjp], ids=["jvp", "vjp"])
def test_derivatives(transform: Any, block: int) -> None:
    done = 0
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        program, arguments = random_program(seed, False, True)
        marks = tuple(t.inexact and not t.weak for t in program.input_types)
        if any(marks):
            derived = simplify(transform(program, marks))
            generator = np.random.default_rng([seed, 2])
            more = [numbers(generator, t) for t in derived.input_types[len(arguments) :]]
            done += checked(derived, [*arguments, *more], exact=False)
    assert done > BLOCK // 2


@pytest.mark.parametrize("block", one_in(2, range(2)))
def test_batches(block: int) -> None:
    done = 0
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        program, arguments = random_program(seed, True)
        generator = np.random.default_rng([seed, 2])
        size = int(generator.choice([2, 3, 8, 33]))
        marks = [not t.weak and bool(generator.random() < 0.8) for t in program.input_types]
        if not any(marks):
            continue
        batched = simplify(vmap(program, marks, size))
        largest = max((v.type.size for e in batched.equations for v in e.outputs), default=0)
        if largest <= 200_000:
            many = [
                np.stack(
                    [np.roll(np.asarray(x).ravel(), k).reshape(np.shape(x)) for k in range(size)]
                )
                if mark
                else x
                for x, mark in zip(arguments, marks, strict=True)
            ]
            done += checked(batched, many, exact=True)
    assert done > BLOCK // 2
