"""Linear systems whose operator is a program: A x = b, transposed, differentiated, over batches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np

from adjoint.base import pytrees
from adjoint.base.arrays import ArrayType
from adjoint.base.errors import NotConvergedError, SingularError
from adjoint.base.settings import settings
from adjoint.calculus.implicit.layout import CoordinateLayout, Rows
from adjoint.maps import LinearMap
from adjoint.pipeline import Compiled, compile_program, watch_all
from adjoint.primitives.calls.custom import Marks, Pushed
from adjoint.primitives.calls.solving import System
from adjoint.primitives.elementwise.conversion import CAST, CONJUGATE, IMAG, REAL
from adjoint.primitives.elementwise.declaring import SCALE
from adjoint.primitives.elementwise.selection import SELECT
from adjoint.program import Program
from adjoint.spaces import Space, infer
from adjoint.transforms import jvp as jvp_program
from adjoint.transforms import transpose as transpose_program
from adjoint.transforms import vmap as vmap_program

Solve = Callable[[Sequence[Any]], list[Any]]
SolveRows = Callable[[Rows], Rows]

DENSE_LIMIT: Final = 512
# Bytes of operands whose factorisation is kept, and of what is kept for them.
OPERANDS_LIMIT: Final = 1 << 22
KEPT_LIMIT: Final = 1 << 26
# Programs that do to every entry what they do to the others; besides those of NumPy's ufuncs.
_ENTRYWISE: Final = frozenset({SCALE, CAST, CONJUGATE, REAL, IMAG, SELECT})


@dataclass(frozen=True)
class Facts:
    """What is known of an operator, and how its systems are to be solved.

    self_adjoint, positive: in the inner product of `space`. space: of x and of A x; None for the
    plain inner product of their entries. dual: whether x is a covector on it, as in a transposed
    system. domain, codomain: the structures of x and of A x. sparse: whether the fixed operands are
    the entries of a sparse matrix, their rows and their columns.
    """

    solver: LinearSolver
    self_adjoint: bool = False
    positive: bool = False
    space: Space | None = None
    dual: bool = False
    domain: Any = None
    codomain: Any = None
    sparse: bool = False

    def transposed(self) -> Facts:
        """The facts of the transposed operator."""
        return replace(self, dual=not self.dual, domain=self.codomain, codomain=self.domain)


class LinearSolver(ABC):
    """What solves linear systems. Equal ones solve alike: they tell programs apart."""

    def proven(self, core: Core, derivative: Program) -> Program:
        """A derivative with respect to A, for a system that is proven not to be singular.

        For solvers that find something for singular systems, too.
        """
        return derivative

    @abstractmethod
    def takes_blocks(self, operator: Operator) -> bool:
        """Whether a batch of systems is given to it at once, as blocks.

        Args:
            operator: the linear system as a program.

        Returns:
            True if one call is given all systems of a batch; else they are given one by one.
        """

    @abstractmethod
    def prepare(self, bound: BoundOperator) -> SolveRows:
        """Ready to solve: rows of right-hand sides, (count, blocks, size), to solutions.

        Args:
            bound: the system, with its matrix bound to numbers.

        Returns:
            A function from right-hand sides to solutions, both of shape (count, blocks, size).
        """


class Core(ABC):
    """A linear system as a program: (fixed operands, x) -> A x."""

    program: Program
    fixed: int
    key: Hashable
    back: Core | None = None

    @abstractmethod
    def prepare(self, fixed: Sequence[Any]) -> Solve:
        """Ready to solve: right-hand sides with an axis of their count in front, to solutions."""

    @abstractmethod
    def transpose(self) -> Core:
        """The transposed system."""

    @abstractmethod
    def over(self, batched: Marks, size: int) -> Core:
        """The system over a batch, in which some of the fixed operands are batched."""

    @property
    def unknowns(self) -> tuple[ArrayType, ...]:
        """The types of x."""
        return self.program.input_types[self.fixed :]

    def transposed(self) -> Core:
        """The transposed system, made once."""
        if self.back is None:
            self.back = self.transpose()
            self.back.back = self
        return self.back

    def batch(self, batched: Marks, size: int) -> Core:
        """The system over a batch."""
        return self.over(batched, size) if any(batched) else SharedOperator(self, size)

    def derive(self, moving: Marks) -> Pushed:
        """(fixed operands, x, tangents of those that move) -> tangents of A x."""
        still = [False] * len(self.unknowns)
        whole = jvp_program(self.program, [*moving, *still])
        slopes = whole.outputs[len(self.program.outputs) :]
        pushed = Program(whole.inputs, whole.equations, slopes)
        if self.solver is not None:
            pushed = self.solver.proven(self, pushed)
        return Pushed(pushed, (True,) * len(slopes))

    @property
    @abstractmethod
    def solver(self) -> LinearSolver | None:
        """What solves it, if that is one for all."""

    @abstractmethod
    def solved_by(self, solver: LinearSolver) -> Core:
        """The same system, solved by another."""

    def evaluate(self, *operands: Any) -> tuple[Any, ...]:
        """Solve on arrays."""
        right = [np.asarray(array)[None] for array in operands[self.fixed :]]
        with np.errstate(all="ignore"):
            solution = self.prepare(operands[: self.fixed])(right)
        return tuple(leaf[0] for leaf in solution)

    @cached_property
    def system(self) -> System:
        """What programs hold."""
        return System(
            self.key,
            f"unknowns: {sum(type_.size for type_ in self.unknowns)}",
            self.fixed,
            self.program.output_types,
            self.unknowns,
            self.evaluate,
            lambda: self.transposed().system,
            self.derive,
            lambda batched, size: self.batch(batched, size).system,
            self.program,
        )


class Operator(Core):
    """A system that a solver is given whole.

    lead: how many axes in front number the examples of a batch, each with its own system.
    """

    def __init__(self, program: Program, fixed: int, facts: Facts, lead: int = 0) -> None:
        self.program = program
        self.fixed = fixed
        self.facts = facts
        self.lead = lead
        self.key = ("operator", program, fixed, facts, lead, settings().kink)
        self._compiled: dict[int, Compiled] = {}
        self._latest: tuple[list[Any], tuple[Rows, ...]] | None = None

    def kept(self, fixed: Sequence[Any], make: Callable[[], tuple[Rows, ...]]) -> tuple[Rows, ...]:
        """What was made for these very fixed operands the last time, or is made now."""
        latest = self._latest
        if latest is not None and all(map(_same, latest[0], fixed)):
            return latest[1]
        prepared = make()
        if _bytes(fixed) <= OPERANDS_LIMIT and _bytes(prepared) <= KEPT_LIMIT:
            self._latest = [np.array(array) for array in fixed], prepared
        return prepared

    def transpose(self) -> Operator:
        """The transposed system."""
        program = transpose_program(self.program, self.fixed)
        return Operator(program, self.fixed, self.facts.transposed(), self.lead)

    def over(self, batched: Marks, size: int) -> Core:
        """As blocks, if the solver takes them; else one example after the other."""
        program = vmap_program(self.program, [*batched, *(True for _ in self.unknowns)], size)
        blocks = Operator(program, self.fixed, self.facts, self.lead + 1)
        return blocks if self.facts.solver.takes_blocks(blocks) else Looped(self, batched, size)

    def prepare(self, fixed: Sequence[Any]) -> Solve:
        """By the solver."""
        bound = BoundOperator(self, fixed)
        solve = self.facts.solver.prepare(bound)
        right, solution = bound.right, bound.solution
        return lambda leaves: solution.decode(solve(right.encode(leaves)))

    def compiled(self, count: int) -> Compiled:
        """The program for this many x at once; 0 for one without an axis of its own."""
        compiled = self._compiled.get(count)
        if compiled is None:
            program = self.program
            if count:
                marks = [number >= self.fixed for number in range(len(program.inputs))]
                program = vmap_program(program, marks, count)
            compiled = self._compiled.setdefault(
                count, compile_program(program, watch_all(program))
            )
        return compiled

    @cached_property
    def blocks(self) -> int:
        """How many axes in front number independent systems, all of them where A is entrywise."""
        shapes = {type_.shape for type_ in (*self.unknowns, *self.program.output_types)}
        if len(shapes) != 1 or len(self.unknowns) != len(self.program.outputs):
            return self.lead
        (shape,) = shapes
        moving: set[Any] = set(self.program.inputs[self.fixed :])
        for equation in self.program.equations:
            if moving.isdisjoint(equation.inputs):
                continue
            primitive = equation.primitive
            known = primitive.ufunc is not None or primitive in _ENTRYWISE
            if not known or any(variable.type.shape != shape for variable in equation.outputs):
                return self.lead
            moving.update(equation.outputs)
        return len(shape)

    @cached_property
    def solution(self) -> CoordinateLayout:
        """How x is written in coordinates."""
        return CoordinateLayout(self.unknowns, self.blocks)

    @cached_property
    def right(self) -> CoordinateLayout:
        """How A x is written in coordinates."""
        return CoordinateLayout(self.program.output_types, self.blocks)

    @property
    def size(self) -> int:
        """The coordinates of one block."""
        return self.solution.size

    @property
    def solver(self) -> LinearSolver:
        """That of the facts."""
        return self.facts.solver

    def solved_by(self, solver: LinearSolver) -> Core:
        """With another in the facts."""
        facts = replace(self.facts, solver=solver)
        return Operator(self.program, self.fixed, facts, self.lead)


def _bytes(arrays: Sequence[Any]) -> int:
    return sum(np.asarray(array).nbytes for array in arrays)


def _same(one: Any, other: Any) -> bool:
    return one.shape == np.shape(other) and bool(np.array_equal(one, other))


class BoundOperator:
    """An operator at given fixed operands, on coordinates.

    solution, right: how x and A x are written in coordinates.
    """

    def __init__(self, operator: Operator, fixed: Sequence[Any]) -> None:
        self.operator = operator
        self.facts = operator.facts
        self.fixed = list(fixed)
        self.solution = operator.solution
        self.right = operator.right

    @property
    def size(self) -> int:
        """The number of coordinates, in all blocks."""
        return self.solution.blocks * self.solution.size

    def apply(self, leaves: Sequence[Any]) -> list[Any]:
        """A x, for the arrays of one x."""
        return list(self.operator.compiled(0)([*self.fixed, *leaves]))

    def times(self, x: Rows) -> Rows:
        """A x in coordinates, for a flat vector of them."""
        return self.right.vector(self.apply(self.solution.leaves(x)))

    def matrices(self) -> Rows:
        """The matrix of each block, (blocks, size, size)."""
        size, blocks = self.solution.size, self.solution.blocks
        if not size:
            return np.zeros((blocks, 0, 0), self.solution.dtype)
        basis = np.broadcast_to(
            np.eye(size, dtype=self.solution.dtype)[:, None], (size, blocks, size)
        )
        columns = self.solution.decode(basis)
        images = self.operator.compiled(size)([*self.fixed, *columns])
        return self.right.encode(images).transpose(1, 2, 0)

    def transposed(self) -> BoundOperator:
        """The transposed operator at the same operands."""
        back = self.operator.transposed()
        assert isinstance(back, Operator)
        return BoundOperator(back, self.fixed)

    # --- geometry --------------------------------------------------------------------------------

    def riesz(self, x: Rows) -> Rows:
        """The coordinates of <x, .>."""
        return self._mapped(x, self.facts.dual)

    def represent(self, x: Rows) -> Rows:
        """The vector whose `riesz` this is."""
        return self._mapped(x, not self.facts.dual)

    def _mapped(self, x: Rows, up: bool) -> Rows:
        space = self.facts.space
        if space is None:
            return x
        tree = pytrees.unflatten(self.facts.domain, self.solution.leaves(x))
        mapped = space._represent(tree) if up else space._riesz(tree)
        return self.solution.vector(pytrees.leaves(mapped))

    def inner(self, x: Rows, y: Rows) -> float:
        """The inner product of two vectors."""
        return float(self.riesz(x) @ y)

    def norm(self, x: Rows) -> float:
        """The norm of a vector."""
        return (
            float(np.sqrt(max(self.inner(x, x), 0.0)))
            if self.facts.space
            else float(np.linalg.norm(x))
        )

    @cached_property
    def scale(self) -> float:
        """An estimate of the operator's norm, from below."""
        x = np.random.default_rng(0).standard_normal(self.size).astype(self.solution.dtype)
        return self.norm(self.times(x)) / self.norm(x) if self.size else 0.0

    def allowed(self, x: Rows, right: Rows, goal: float) -> float:
        """The residual that x may leave: the goal, or what rounding alone leaves of such an x.

        The latter, however, no further than eps^(1/2) of the right-hand side.
        """
        eps = float(np.finfo(self.solution.dtype).eps)
        rounding = min(4 * eps * self.scale * self.norm(x), eps**0.5 * self.norm(right))
        return float(max(goal, rounding))

    def as_map(self) -> LinearMap:
        """The operator as a map, for a solver of the user's."""
        facts, back = self.facts, self.transposed()

        def applied(bound: BoundOperator) -> Callable[[Any], Any]:
            def apply(tree: Any) -> Any:
                image = bound.apply(pytrees.leaves(tree))
                return pytrees.unflatten(bound.facts.codomain, image)

            return apply

        spaces = [
            infer(pytrees.unflatten(tree, [np.zeros(t.shape, t.dtype) for t in layout.types]))
            for tree, layout in ((facts.domain, self.solution), (facts.codomain, self.right))
        ]
        if facts.space is not None and not facts.dual:
            spaces = [facts.space, facts.space]
        return LinearMap(spaces[0], spaces[1], applied(self), applied(back), name="A")


class SharedOperator(Core):
    """Many right-hand sides for one operator."""

    @property
    def solver(self) -> LinearSolver | None:
        """That of the operator."""
        return self.inner.solver

    def solved_by(self, solver: LinearSolver) -> Core:
        """The operator by another."""
        return SharedOperator(self.inner.solved_by(solver), self.count)

    def __init__(self, inner: Core, size: int) -> None:
        marks = [number >= inner.fixed for number in range(len(inner.program.inputs))]
        self.inner = inner
        self.count = size
        self.program = vmap_program(inner.program, marks, size)
        self.fixed = inner.fixed
        self.key = ("shared", inner.key, size)

    def transpose(self) -> Core:
        """The transposed operator for as many."""
        return SharedOperator(self.inner.transposed(), self.count)

    def over(self, batched: Marks, size: int) -> Core:
        """An operator for each example, for many right-hand sides of its own."""
        return Looped(self, batched, size)

    def prepare(self, fixed: Sequence[Any]) -> Solve:
        """Once for all of them."""
        solve = self.inner.prepare(fixed)

        def every(right: Sequence[Any]) -> list[Any]:
            count = right[0].shape[0]
            solutions = solve([b.reshape(count * self.count, *b.shape[2:]) for b in right])
            return [x.reshape(count, self.count, *x.shape[1:]) for x in solutions]

        return every


@contextmanager
def naming_example(number: int, count: int) -> Iterator[None]:
    """Say in errors which example of a batch they are about."""
    try:
        yield
    except (NotConvergedError, SingularError) as error:
        raise type(error)(f"In example {number} of a batch of {count}: {error}") from error


class Looped(Core):
    """One system after the other."""

    @property
    def solver(self) -> LinearSolver | None:
        """That of each."""
        return self.inner.solver

    def solved_by(self, solver: LinearSolver) -> Core:
        """Each by another."""
        return Looped(self.inner.solved_by(solver), self.batched, self.count)

    def __init__(self, inner: Core, batched: Marks, size: int) -> None:
        marks = [*batched, *(True for _ in inner.unknowns)]
        self.inner = inner
        self.batched = batched
        self.count = size
        self.program = vmap_program(inner.program, marks, size)
        self.fixed = inner.fixed
        self.key = ("looped", inner.key, batched, size)

    def transpose(self) -> Core:
        """Each transposed."""
        return Looped(self.inner.transposed(), self.batched, self.count)

    def over(self, batched: Marks, size: int) -> Core:
        """A loop of loops."""
        return Looped(self, batched, size)

    def prepare(self, fixed: Sequence[Any]) -> Solve:
        """Each of them."""
        pairs = list(zip(fixed, self.batched, strict=True))
        solves = []
        for number in range(self.count):
            with naming_example(number, self.count):
                given = [x[number] if mark else x for x, mark in pairs]
                solves.append(self.inner.prepare(given))

        def one_by_one(right: Sequence[Any]) -> list[Any]:
            rows = []
            for number, solve in enumerate(solves):
                with naming_example(number, self.count):
                    rows.append(solve([b[:, number] for b in right]))
            if not rows:
                count = len(right[0])
                return [np.zeros((count, *t.shape), t.dtype) for t in self.unknowns]
            return [np.stack(column, axis=1) for column in zip(*rows, strict=True)]

        return one_by_one
