"""A proof that a system is not singular: a factor of derivatives with respect to its operator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from adjoint.base.arrays import Shape, array_type
from adjoint.base.errors import SingularError
from adjoint.calculus.implicit.systems import Core, LinearSolver, Solve
from adjoint.pipeline import compile_program, watch_all
from adjoint.primitives.calls.custom import Marks, Pushed
from adjoint.primitives.calls.solving import LINEAR_SOLVE
from adjoint.primitives.elementwise.declaring import SCALE
from adjoint.program import Builder, Literal, Program, operation
from adjoint.transforms import jvp as jvp_program

# What a system that is not singular may lose of each entry of a random vector. One that lacks a
# direction loses as much as an entry, shared among all.
_LOST: Final = 1e-3


class SingularityProof(Core):
    """One, as the solution of x = 1; an error where a system is singular.

    Of what a singular system has made of a random vector, the solver does not find the whole again.
    sought: which of the unknowns are random, and not zero. shape: that of x, which is alike for all
    examples of a batch.
    """

    def __init__(self, core: Core, sought: Marks, shape: Shape = ()) -> None:
        builder = Builder()
        for type_ in core.program.input_types[: core.fixed]:
            builder.input(type_)
        x = builder.input(array_type(shape, np.dtype(float)))
        self.program = builder.build([x])
        self.core = core
        self.sought = sought
        self.fixed = core.fixed
        self.key = ("proof", core.key, sought, shape)

    @property
    def solver(self) -> None:
        """None: it is no system to solve."""

    def solved_by(self, solver: LinearSolver) -> Core:
        """By the proof itself."""
        return self

    def derive(self, moving: Marks) -> Pushed:
        """It is constant."""
        whole = jvp_program(self.program, [*moving, False])
        return Pushed(Program(whole.inputs, (), ()), (False,))

    def transpose(self) -> Core:
        """Itself."""
        return self

    def over(self, batched: Marks, size: int) -> Core:
        """For all examples."""
        shape = (size, *self.unknowns[0].shape)
        return SingularityProof(self.core.over(batched, size), self.sought, shape)

    def prepare(self, fixed: Sequence[Any]) -> Solve:
        """Look, and give back what comes."""
        generator = np.random.default_rng(0)
        sought = [
            generator.standard_normal(type_.shape).astype(type_.dtype) * mark
            for type_, mark in zip(self.core.unknowns, self.sought, strict=True)
        ]
        program = self.core.program
        right = compile_program(program, watch_all(program))([*fixed, *sought])
        again = self.core.prepare(fixed)([np.asarray(side)[None] for side in right])
        for one, other in zip(sought, again, strict=True):
            error = float(np.linalg.norm(one - other[0]))
            if not error <= _LOST:
                raise SingularError(
                    "A derivative was asked for with respect to the operator of a least squares "
                    "problem that is not of full column rank, or so near to that that its solver "
                    f"does not see it: {error:.1g} is lost of a random vector of length "
                    f"{np.linalg.norm(one):.3g}. Where it is not, the solution jumps. Give damp, "
                    "or leave away what depends on the rest."
                )
        return lambda leaves: [np.array(leaf) for leaf in leaves]


def with_proof(pushed: Program, proof: SingularityProof) -> Program:
    """A derivative with respect to A, times the proof."""
    builder = Builder()
    inputs = [builder.input(type_) for type_ in pushed.input_types]
    slopes = builder.inline(pushed, inputs)
    solve = operation(LINEAR_SOLVE, system=proof.system)
    (one,) = builder.emit(solve, [*inputs[: proof.fixed], Literal(np.float64(1.0))])
    scale = operation(SCALE)
    return builder.build([builder.emit(scale, [one, slope])[0] for slope in slopes])
