"""The derivatives and batches of a sample, for executors to be compared on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.optimise import simplify
from adjoint.program import Program
from adjoint.transforms import jvp, vjp, vmap
from tests.cases import BATCH, Case
from tests.vectors import random_like


def transformed(case: Case) -> list[tuple[str, Program, list[Any]]]:
    """The derivatives of a sample and a batch of it, with arguments."""
    operands, found = list(case.operands), []
    transforms: tuple[Callable[..., Program], ...] = (jvp, vjp) if case.differentiable else ()
    for transform in transforms:
        program = simplify(transform(case.program, case.active))
        types = program.input_types[len(operands) :]
        more = random_like(case.generator(transform.__name__), types)
        found.append((transform.__name__, program, [*operands, *more]))
    if operands and not any(t.weak for t in case.program.input_types):
        program = simplify(vmap(case.program, [True] * len(operands), BATCH))
        rows = [np.stack(case.others(place)) for place in range(len(operands))]
        found.append(("vmap", program, rows))
    return found


def second_order(case: Case) -> tuple[Program, list[Any]] | None:
    """The derivative of the pullback of a sample, with arguments."""
    if not case.differentiable or case.sample.order < 2:
        return None
    first = vjp(case.program, case.active)
    still = [False] * (len(first.inputs) - len(case.operands))
    program = simplify(jvp(first, (*case.active, *still)))
    more = random_like(case.generator("second"), program.input_types[len(case.operands) :])
    return program, [*case.operands, *more]
