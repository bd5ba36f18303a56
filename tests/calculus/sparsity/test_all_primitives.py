"""The sparsity of every primitive, on all its samples: no entry missed, and the numbers right.

A primitive that is not known is dense, which is never wrong; what is known is held here against the
dense Jacobian.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adjoint.calculus.jacobians.planning import Mode
from adjoint.calculus.jacobians.planning.jacobians import Differentiated, jacobian_program
from adjoint.calculus.jacobians.sparsity.compressed import compressed_program
from adjoint.calculus.jacobians.sparsity.derivatives import SparseDerivative
from adjoint.executors import Needs, NumpyExecutor
from adjoint.optimise import simplify
from adjoint.primitives import PRIMITIVES, EmptySlot
from adjoint.program import Program
from tests.cases import Case, cases


def _is_real(case: Case) -> bool:
    types = (*case.program.input_types, *case.program.output_types)
    return all(t.dtype.kind != "c" for t in types) and case.differentiable and not case.variant


CASES = [
    case
    for primitive in PRIMITIVES.values()
    if not isinstance(primitive.samples, EmptySlot)
    for case in cases(primitive)
    if _is_real(case)
]


def _ordered(case: Case) -> tuple[Program, list[Any], int]:
    """The program with its active inputs first and its real results alone; with its arguments."""
    program = case.program
    places = sorted(range(len(case.active)), key=lambda place: not case.active[place])
    outputs = [atom for atom in program.outputs if atom.type.dtype.kind == "f"]
    inputs = [program.inputs[place] for place in places]
    return (
        Program(inputs, program.equations, outputs),
        [case.operands[place] for place in places],
        sum(case.active),
    )


def _run(program: Program, arguments: list[Any]) -> Any:
    with np.errstate(all="ignore"):
        return NumpyExecutor().compile(simplify(program), Needs(hard=True)).run(*arguments)


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=f"{case.primitive.name}-{case.number}") for case in CASES]
)
def test_no_entry_is_missed(case: Case) -> None:
    program, arguments, count = _ordered(case)
    kept = len(program.outputs)
    dense, _, _ = jacobian_program(program, ("jacobian", count, kept, Mode.FORWARD))
    blocks = _run(dense, arguments)
    sizes = [
        (of.type.size, to.type.size) for of in program.outputs for to in program.inputs[:count]
    ]
    flat = [np.reshape(block, size) for block, size in zip(blocks, sizes, strict=True)]
    rows = [np.concatenate(flat[n : n + count], axis=1) for n in range(0, len(flat), count)]
    jacobian = np.concatenate(rows)
    derivative = SparseDerivative(Differentiated(program, count, kept), count, Mode.AUTO, False)
    for local in (False, True):
        pattern = derivative.pattern(arguments.__getitem__, local).matrix.toarray()
        assert not (~pattern & (jacobian != 0)).any(), f"local={local}"
    compression = derivative.compression(arguments.__getitem__)
    counts, entries = compression.counts, compression.entries
    whole = compressed_program(program, derivative.differentiated, kept, counts, entries, False)
    results = _run(whole, [*arguments, *compression.arrays])
    for layout, values, block in zip(compression.layouts, results, flat, strict=True):
        rtol = 1e-6 if block.dtype == np.float32 else 1e-7  # forward and reverse mode round apart
        found = layout.filled(np.asarray(values)).toarray()
        np.testing.assert_allclose(found, block, rtol=rtol, atol=1e-12)
