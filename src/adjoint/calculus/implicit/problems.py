"""Functions that an equation f(y, x) = 0 defines: solved, checked and differentiated."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from adjoint.base import pytrees
from adjoint.base.arrays import ArrayType, array_type
from adjoint.base.errors import ArgumentError, NotConvergedError, SingularError
from adjoint.base.settings import config, settings
from adjoint.calculus.custom.arguments import fitting, matched
from adjoint.calculus.implicit.layout import CoordinateLayout, Rows
from adjoint.calculus.implicit.linear_solvers import as_numbers, precision, require_positive
from adjoint.calculus.implicit.systems import (
    DENSE_LIMIT,
    BoundOperator,
    Facts,
    Operator,
    naming_example,
)
from adjoint.calculus.implicit.units import Units, largest_share, moduli, moved
from adjoint.pipeline import Compiled, compile_program, watch_all
from adjoint.primitives.calls.custom import Marks, Pushed
from adjoint.primitives.calls.solving import LINEAR_SOLVE, ImplicitFunction
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.structure.moving import zeros
from adjoint.program import Builder, Program
from adjoint.transforms import linearize
from adjoint.transforms import vmap as vmap_program
from adjoint.transforms.jvp import push_forward, tangent_type


class Solver(ABC):
    """What solves equations. Equal ones solve alike: they tell programs apart."""

    @abstractmethod
    def find(self, problem: Problem) -> Rows:
        """The coordinates of a solution; NotConvergedError.

        Args:
            problem: the equation in real coordinates, with where to begin.

        Returns:
            The coordinates of a solution, a real array of the shape of `problem.initial`.

        Raises:
            NotConvergedError: no solution was found in the steps allowed.
        """

    def takes_batches(self, operator: Operator) -> bool:
        """Whether it may try the equations of a batch all at once, as one.

        Args:
            operator: the derivative of the equation in its unknowns.

        Returns:
            True if one call is given the equations of all examples of `ad.vmap`, joined into one.
        """
        return False


@dataclass(frozen=True)
class SolvingOptions:
    """How an equation is solved.

    facts: of the derivative with respect to y. tolerance: of the check of what a solver found; None
    for eps^(1/2), or for no check where one of our solvers was told its own tolerance. polish:
    Newton steps after the solver. initial: whether y begins at the first operands. objective:
    whether the first value of the program is what y minimises, and the others its gradient.
    """

    solver: Solver
    facts: Facts
    tolerance: float | None = None
    polish: int = 0
    initial: bool = True
    objective: bool = False

    def __post_init__(self) -> None:
        as_numbers(self)
        require_positive("An implicit function", tolerance=self.tolerance)
        if isinstance(self.polish, bool) or self.polish not in range(100):
            raise ArgumentError(
                f"polish is how many Newton steps to take, a small number. Got {self.polish!r}."
            )

    @property
    def trusted(self) -> bool:
        """Whether one of our solvers was told what to reach, and nothing else was asked for."""
        return self.tolerance is None and getattr(self.solver, "tolerance", None) is not None


class DefinedFunction(ABC):
    """A function that an equation defines, at one signature."""

    key: Hashable
    inputs: tuple[ArrayType, ...]
    outputs: tuple[ArrayType, ...]

    def __init__(self) -> None:
        self._derived: dict[tuple[Marks, float], Pushed] = {}
        self._lock = threading.RLock()

    @abstractmethod
    def evaluate(self, *operands: Any) -> tuple[Any, ...]:
        """Solve on arrays."""

    @abstractmethod
    def push(self, moving: Marks) -> Pushed:
        """The derivative with respect to the operands marked."""

    def derive(self, moving: Marks) -> Pushed:
        """The derivative, made once: (operands, y, tangents that move) -> tangents of y."""
        key = moving, settings().kink
        with self._lock:
            if key not in self._derived:
                self._derived[key] = self.push(moving)
            return self._derived[key]

    @cached_property
    def function(self) -> ImplicitFunction:
        """What programs hold."""
        return ImplicitFunction(
            self.key,
            f"unknowns: {sum(type_.size for type_ in self.outputs)}",
            self.inputs,
            self.outputs,
            self.evaluate,
            self.derive,
            lambda batched, size: Batched(self, batched, size).function,
        )


class DerivativeCheck(DefinedFunction):
    """One, by which derivatives are multiplied; an error where there are none."""

    def push(self, moving: Marks) -> Pushed:
        """It is constant."""
        builder = Builder()
        pairs = zip(self.inputs, moving, strict=True)
        tangents = [tangent_type(type_) for type_, mark in pairs if mark]
        for type_ in (*self.inputs, *self.outputs, *tangents):
            builder.input(type_)
        return Pushed(builder.build([]), (False,))


class Implicit(DefinedFunction):
    """An equation whose left-hand side is a program: (y, operands) -> f.

    Its derivative is that of the implicit function theorem (E.1.72): with A = ∂_y f and
    B = -∂_x f at the solution, dy = A^-1 B dx.

    lead: how many axes in front number the examples of a batch.
    """

    def __init__(
        self, program: Program, unknowns: int, options: SolvingOptions, lead: int = 0
    ) -> None:
        super().__init__()
        self.options = options
        self.lead = lead
        self.whole = program
        first = int(options.objective)
        self.program = Program(program.inputs, program.equations, program.outputs[first:])
        self.outputs = program.input_types[:unknowns]
        self.unknowns = unknowns
        self.inputs = program.input_types[0 if options.initial else unknowns :]
        self.kink = settings().kink
        self.key = ("implicit", program, unknowns, options, lead, self.kink)

    # --- programs --------------------------------------------------------------------------------

    @cached_property
    def _linearised(self) -> tuple[Program, Operator]:
        """(y, operands) -> (f, residuals); and ∂_y f, which depends on these residuals."""
        active = [number < self.unknowns for number in range(len(self.program.inputs))]
        with config(kink=self.kink):  # whatever is set where it is solved first
            split = linearize(self.program, active)
        builder = Builder()
        inputs = [builder.input(variable.type) for variable in split.linear.inputs]
        slopes = iter(builder.inline(split.linear, inputs))
        outputs = [
            next(slopes) if mark else zeros(builder, tangent_type(atom.type)).atom
            for mark, atom in zip(split.varying, self.program.outputs, strict=True)
        ]
        linear, facts = builder.build(outputs), self.options.facts
        return split.primal, Operator(linear, split.residuals, facts, self.lead)

    @property
    def primal(self) -> Program:
        """(y, operands) -> (f, what ∂_y f depends on)."""
        return self._linearised[0]

    @property
    def operator(self) -> Operator:
        """∂_y f."""
        return self._linearised[1]

    @cached_property
    def layout(self) -> CoordinateLayout:
        """How y is written in coordinates."""
        return CoordinateLayout(self.outputs, self.lead)

    @cached_property
    def value_layout(self) -> CoordinateLayout:
        """How f is written in coordinates."""
        return CoordinateLayout(self.program.output_types, self.lead)

    @cached_property
    def values(self) -> Compiled:
        """(y, operands) -> the objective, if there is one, and f."""
        return compile_program(self.whole, watch_all(self.whole))

    @cached_property
    def residuals(self) -> Compiled:
        """(y, operands) -> (f, what ∂_y f depends on), compiled."""
        return compile_program(self.primal, watch_all(self.primal))

    def push(self, moving: Marks) -> Pushed:
        """(operands, y, tangents of those that move) -> tangents of y (E.1.72)."""
        if settings().kink != self.kink:  # of a program that was captured under other settings
            return Implicit(self.whole, self.unknowns, self.options, self.lead).push(moving)
        builder = Builder()
        operands = [builder.input(type_) for type_ in self.inputs]
        y = [builder.input(type_) for type_ in self.outputs]
        waiting = [
            builder.input(tangent_type(type_)) if mark else None
            for type_, mark in zip(self.inputs, moving, strict=True)
        ]
        skipped = self.unknowns if self.options.initial else 0
        point = [*y, *operands[skipped:]]
        tangents = [*(None for _ in y), *waiting[skipped:]]
        values = builder.inline(self.primal, point)
        _, slopes = push_forward(builder, self.program, point, tangents)
        if all(slope is None for slope in slopes):
            return Pushed(builder.build([]), (False,) * len(y))
        right = [
            zeros(builder, tangent_type(atom.type))
            if slope is None
            else -Expression(builder, slope)
            for slope, atom in zip(slopes, self.program.outputs, strict=True)
        ]
        fixed = [Expression(builder, atom) for atom in values[len(slopes) :]]
        tangents_of_y = bind(
            LINEAR_SOLVE, *fixed, *right, system=self.operator.system, builder=builder
        )
        return Pushed(builder.build([tangent.atom for tangent in tangents_of_y]), (True,) * len(y))

    # --- runs ------------------------------------------------------------------------------------

    def evaluate(self, *operands: Any) -> tuple[Any, ...]:
        """Solve, take the Newton steps asked for, and check."""
        problem = Problem(self, operands)
        z = self.options.solver.find(problem)
        with np.errstate(all="ignore"):
            for _ in range(self.options.polish):
                z = problem.polished(z)
            problem.check(z)
            if self.options.objective and self.operator.size <= DENSE_LIMIT:
                problem.check_least(z)
        return tuple(problem.layout.leaves(z))


class Batched(DefinedFunction):
    """One equation for each example of a batch: solved all at once, or one after the other."""

    def __init__(self, inner: DefinedFunction, batched: Marks, size: int) -> None:
        super().__init__()
        self.inner = inner
        self.batched = batched
        self.count = size
        self.inputs = _over(inner.inputs, batched, size)
        self.outputs = _over(inner.outputs, [True] * len(inner.outputs), size)
        self.key = ("batched", inner.key, batched, size)

    def evaluate(self, *operands: Any) -> tuple[Any, ...]:
        """Solve all at once where that works; else each, so that none hinders the others."""
        whole = self.whole
        if whole is not None and self.count:
            with suppress(NotConvergedError, SingularError):
                count = whole.unknowns
                start = [
                    x if mark else np.broadcast_to(x, (self.count, *np.shape(x)))
                    for x, mark in zip(operands[:count], self.batched[:count], strict=True)
                ]
                return whole.evaluate(*start, *operands[count:])
        pairs = list(zip(operands, self.batched, strict=True))
        rows = []
        for number in range(self.count):
            with naming_example(number, self.count):
                rows.append(self.inner.evaluate(*(x[number] if mark else x for x, mark in pairs)))
        if not rows:
            return tuple(np.zeros(type_.shape, type_.dtype) for type_ in self.outputs)
        return tuple(np.stack(column) for column in zip(*rows, strict=True))

    @cached_property
    def whole(self) -> Implicit | None:
        """The equations as one; None where the solver does not take them so.

        What is found is checked example by example, and more tightly.
        """
        inner = self.inner
        if not isinstance(inner, Implicit) or not inner.options.initial or inner.options.polish:
            return None
        options, unknowns = inner.options, inner.unknowns
        marks = [*(True for _ in range(unknowns)), *self.batched[unknowns:]]
        program = vmap_program(inner.whole, marks, self.count)
        if options.tolerance is None and not options.trusted:
            options = replace(options, tolerance=precision(inner.layout.dtype, 0.6))
        whole = Implicit(program, unknowns, options, inner.lead + 1)
        takes = options.facts.space is None and options.solver.takes_batches(whole.operator)
        return whole if takes else None

    def push(self, moving: Marks) -> Pushed:
        """That of one example, over the batch."""
        pushed = self.inner.derive(moving)
        tangents = [mark for mark, moves in zip(self.batched, moving, strict=True) if moves]
        marks = [*self.batched, *(True for _ in self.outputs), *tangents]
        return Pushed(vmap_program(pushed.program, marks, self.count), pushed.varying)


def _over(types: Sequence[ArrayType], marks: Sequence[bool], size: int) -> tuple[ArrayType, ...]:
    return tuple(
        array_type((size, *type_.shape), type_.dtype) if mark else type_
        for type_, mark in zip(types, marks, strict=True)
    )


# --- what solvers see ----------------------------------------------------------------------------


class Problem:
    """An equation at given operands, on the real coordinates z of y."""

    def __init__(self, implicit: Implicit, operands: Sequence[Any]) -> None:
        self.implicit = implicit
        self.options = implicit.options
        self.layout = implicit.layout
        self.values = implicit.value_layout
        skipped = implicit.unknowns if self.options.initial else 0
        self.start = [np.array(array) for array in operands[:skipped]]
        self.operands = list(operands[skipped:])

    def coordinates(self, tree: Any) -> Rows:
        """The coordinates of a y that a solver of the user's returned."""
        name = "What the solver of an implicit function returned"
        parts = matched(self.options.facts.domain, tree, name)
        pairs = zip(parts, self.layout.types, strict=True)
        return self.layout.vector([fitting(part, type_, name) for part, type_ in pairs])

    @property
    def initial(self) -> Rows:
        """Where to begin."""
        return self.layout.vector(self.start)

    @property
    def objective(self) -> bool:
        """Whether there is one that is minimised."""
        return self.options.objective

    def value(self, z: Rows) -> tuple[float, Rows]:
        """The objective, and its gradient."""
        value, *slopes = self.implicit.values([*self.layout.leaves(z), *self.operands])
        return float(value), self.values.vector(slopes)

    def residual(self, z: Rows) -> Rows:
        """f."""
        return self._residual(z, self.operands)

    def _residual(self, z: Rows, operands: Sequence[Any]) -> Rows:
        values = self.implicit.values([*self.layout.leaves(z), *operands])
        return self.values.vector(values[int(self.objective) :])

    def linearised(self, z: Rows) -> tuple[Rows, list[Any]]:
        """f, and what ∂_y f depends on."""
        count = len(self.implicit.program.outputs)
        values = self.implicit.residuals([*self.layout.leaves(z), *self.operands])
        return self.values.vector(values[:count]), list(values[count:])

    def step(self, residual: Rows, fixed: Sequence[Any]) -> Rows:
        """Newton's step: (∂_y f)^-1 f."""
        right = [np.asarray(leaf)[None] for leaf in self.values.leaves(residual)]
        step = self.implicit.operator.prepare(fixed)(right)
        return self.layout.vector([leaf[0] for leaf in step])

    def matrix(self, z: Rows) -> Rows:
        """∂_y f, written out."""
        fixed = self.linearised(z)[1]
        basis = np.eye(self.layout.size, dtype=self.layout.dtype)
        return np.stack([self.times(fixed, u) for u in basis], axis=1)

    def times(self, fixed: Sequence[Any], u: Rows) -> Rows:
        """∂_y f[u]."""
        apply = self.implicit.operator.compiled(0)
        return self.values.vector(apply([*fixed, *self.layout.leaves(u)]))

    def norm(self, z: Rows) -> float:
        """The norm of coordinates, in the space of y if one was given."""
        space = self.options.facts.space
        if space is None:
            return float(np.linalg.norm(z))
        tree = pytrees.unflatten(self.options.facts.domain, self.layout.leaves(z))
        return float(space._norm(tree))

    # --- accuracy --------------------------------------------------------------------------------

    @cached_property
    def _units(self) -> Units:
        step = precision(self.layout.dtype, 0.5)
        others: list[Any] = []  # made when first asked for

        def beside(z: Rows) -> Rows:
            others[:] = others or moved(self.operands, step)
            return self._residual(z, others)

        return Units(self.layout, self.values, self.residual, beside, step)

    def relative(self, z: Rows, residual: Rows, fixed: Sequence[Any]) -> float:
        """|f| relative to what f changes by where y and x move by their own size; the largest."""
        units = self._units.at(z, residual, lambda u: self.times(fixed, u))
        return self._units.relative(residual, units)

    def step_size(self, residual: Rows, z: Rows) -> float:
        """How long the step from z to z - f is, relative to z: in the largest entry of an example.

        In the norm of the space instead, if one was given.
        """
        sizes = np.maximum(self._lengths(z), self._lengths(z - residual))
        if not np.all(np.isfinite(sizes)):
            return np.inf
        sizes = np.where(self._units.homogeneous.all(axis=1), np.maximum(1.0, sizes), sizes)
        return largest_share(self._lengths(residual), sizes)

    def _lengths(self, z: Rows) -> Rows:
        if self.options.facts.space is not None:
            return np.array([self.norm(z)])
        entries = moduli(self.layout, z).reshape(self.layout.blocks, -1)
        return np.asarray(np.max(entries, axis=1, initial=0.0))

    def polished(self, z: Rows) -> Rows:
        """After one Newton step, if that makes the residual smaller."""
        residual, fixed = self.linearised(z)
        if not np.any(residual):
            return z
        polished = z - self.step(residual, fixed)
        better = self.norm(self.residual(polished)) < self.norm(residual)
        return polished if better else z

    def check(self, z: Rows) -> None:
        """NotConvergedError unless f is zero there, as far as the tolerance goes."""
        trusted = self.options.trusted
        residual, fixed = (self.residual(z), []) if trusted else self.linearised(z)
        if not np.all(np.isfinite(z)) or not np.all(np.isfinite(residual)):
            raise NotConvergedError(
                "The solver of an implicit function returned NaN or infinity, or a point where "
                "its equation has that value. There is no derivative at such a point."
            )
        if trusted:
            return
        tolerance = self.options.tolerance or precision(self.layout.dtype, 0.5)
        size = self.relative(z, residual, fixed)
        if not size <= tolerance:
            raise NotConvergedError(
                "The solver of an implicit function returned a point where its equation does not "
                f"hold: |f(y, x)| is {size:.2e} of what f changes by where y and x move by their "
                f"own size, and {tolerance:.2e} is allowed. The derivative holds at solutions "
                "only: solve more tightly, polish with polish=1, or allow more with tolerance=."
            )

    def check_least(self, z: Rows) -> None:
        """NotConvergedError where the objective curves downwards: at a saddle or a maximum."""
        bound = BoundOperator(self.implicit.operator, self.linearised(z)[1])
        matrices = bound.matrices()
        # Self-adjoint, but not symmetric; entrywise operators are diagonal, whatever the space.
        if self.options.facts.space is not None and bound.solution.blocks == 1:
            columns = matrices.transpose(0, 2, 1).reshape(-1, bound.size)
            mapped = [bound.riesz(column) for column in columns]
            matrices = np.stack(mapped, axis=-1).reshape(matrices.shape)
        sizes = np.max(np.abs(matrices), axis=(1, 2), keepdims=True, initial=0.0)
        allowed = precision(self.layout.dtype, 0.5) * sizes + np.finfo(self.layout.dtype).tiny
        try:
            np.linalg.cholesky(
                matrices + allowed * np.eye(bound.solution.size, dtype=matrices.dtype)
            )
        except np.linalg.LinAlgError:
            raise NotConvergedError(
                "The solver of a minimisation returned a point where the gradient is zero and the "
                "Hessian has a negative eigenvalue: a saddle point or a maximum. Begin elsewhere, "
                'or use a solver that minimises, such as ad.implicit.SciPy("trust-ncg").'
            ) from None
