"""From the program of a function to that of its Jacobian."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final

from adjoint.base.arrays import ArrayType, array_type
from adjoint.base.errors import NotDifferentiableError
from adjoint.base.settings import settings
from adjoint.calculus.custom.missing_rules import is_applicable, is_transposable
from adjoint.calculus.jacobians.planning.chain import Order
from adjoint.calculus.jacobians.planning.cuts import Crossings, CutProgram
from adjoint.calculus.jacobians.planning.elimination import (
    Eliminated,
    EliminationBuilder,
    with_lanes,
    with_numbers,
)
from adjoint.calculus.jacobians.planning.execution import JacobianBuilder
from adjoint.calculus.jacobians.planning.mode import Mode
from adjoint.calculus.jacobians.planning.pushed import goes_with_its_loops, pushed_jacobian
from adjoint.calculus.jacobians.planning.units import without_units
from adjoint.optimise import simplify
from adjoint.primitives.structure.moving import zeros
from adjoint.program import Atom, Builder, Program, Variable, check_program
from adjoint.transforms import linearize

# AUTO follows a plan with less than this share of the operations of the simple modes, ...
WORTHWHILE: Final = 0.75
# ... that holds at most so many times their numbers, or few enough (8 MB) for it not to matter.
MOST_TIMES: Final = 4
ALWAYS_HELD: Final = 2**20
# A search is not begun where the rules take more operations than this many times another mode's.
MOST_SAVED_BY_SEARCH: Final = 1.5
MOST_UNASKED: Final = 500  # edges of a graph whose vertices are eliminated without being asked to


class Differentiated:
    """A program linearised, ready to be planned.

    count: how many of its inputs are arguments; kept: how many of its outputs are differentiated.
    """

    def __init__(self, program: Program, count: int, kept: int) -> None:
        active = [number < count for number in range(len(program.inputs))]
        split = linearize(program, active, given=False)
        self.primal = split.primal
        slopes = iter(split.linear.outputs)
        derivatives = [next(slopes) if mark else None for mark in split.varying][:kept]
        moving = [slope for slope in derivatives if slope is not None]
        linear = Program(split.linear.inputs, split.linear.equations, moving)
        self.linear = simplify(linear, check_program if settings().debug else None)
        results = iter(self.linear.outputs)
        self.slopes: list[Atom | None] = [
            None if slope is None else next(results) for slope in derivatives
        ]
        self.output_types: list[ArrayType] = [atom.type for atom in program.outputs[:kept]]
        self.outputs = len(program.outputs)
        self.crossings = Crossings(self.linear, split.residuals)

    @cached_property
    def cut(self) -> CutProgram:
        """The program cut where it is to be planned."""
        return CutProgram(self.crossings, self.crossings.places())

    @cached_property
    def eliminated(self) -> Eliminated | None:
        """The elimination of its vertices, where it has a graph."""
        return None if self.is_empty else self._with_lanes or with_numbers(self.crossings)

    @cached_property
    def _with_lanes(self) -> Eliminated | None:
        return None if self.is_empty else with_lanes(self.crossings)

    @cached_property
    def elimination_pays(self) -> bool:
        """Whether the elimination of vertices takes fewer operations than any order of products."""
        if self.eliminated is None:
            return False
        least = min(order.operations for order in self.orders().values())
        return (
            self.eliminated.operations_of(self.eliminated.unsearched) < MOST_SAVED_BY_SEARCH * least
            and self.eliminated.operations < least
        )

    @cached_property
    def lanes_pay(self) -> bool:
        """Whether one graph serves many points, with so much less work that AUTO takes it.

        Where it is one of single numbers, an equation for each of them is compiled, and the time of
        a call is mostly that of the call: whoever wants that asks for it.
        """
        plan = self._with_lanes
        if plan is None or len(plan.linear.graph.edges) > MOST_UNASKED:
            return False
        simple = [self.orders()[mode] for mode in (Mode.FORWARD, Mode.REVERSE)]
        least = min(order.operations for order in self.orders().values())
        memory = max(MOST_TIMES * min(order.memory for order in simple), ALWAYS_HELD)
        operations = plan.operations_of(plan.unsearched)
        return operations < WORTHWHILE * least and plan.memory <= memory

    @property
    def is_empty(self) -> bool:
        """Whether no numbers go in, or none that vary come out."""
        return not self.crossings.sizes[0] or not self.crossings.sizes[-1]

    def choose(self, mode: Mode) -> Mode:
        """The mode that AUTO stands for here."""
        if mode is Mode.ELIMINATION and self.eliminated is None:
            return self._ordered()
        if mode is not Mode.AUTO:
            return mode
        return Mode.ELIMINATION if self.lanes_pay else self._ordered()

    def _ordered(self) -> Mode:
        """The mode that is taken where vertices are not eliminated."""
        if self.crossings.has_bottleneck and not self.is_empty:
            return best(self.orders())
        moving = self.crossings.moving
        if not all(map(is_transposable, moving)):
            return Mode.FORWARD
        if not all(map(is_applicable, moving)):
            return Mode.REVERSE
        sizes = self.crossings.sizes
        return Mode.FORWARD if sizes[0] <= sizes[-1] else Mode.REVERSE

    def order(self, mode: Mode) -> tuple[CutProgram, Order]:
        """The order of products of a mode, and the cuts that it is about."""
        if mode in (Mode.FORWARD, Mode.REVERSE):
            return CutProgram.uncut(self.crossings, mode is Mode.FORWARD)
        return self.cut, self.orders()[mode]

    def orders(self) -> dict[Mode, Order]:
        """What each mode does."""
        chain = self.cut.chain
        return {
            Mode.FORWARD: chain.forward(),
            Mode.REVERSE: chain.reverse(),
            Mode.MIDDLE: chain.middle,
            Mode.OPTIMAL: chain.optimal,
        }


def best(orders: dict[Mode, Order]) -> Mode:
    """The mode with the fewest operations.

    The simpler one where there is not much in it, or where a plan holds many more numbers.
    """
    simple = min((Mode.FORWARD, Mode.REVERSE), key=lambda mode: orders[mode].operations)
    planned = min((Mode.MIDDLE, Mode.OPTIMAL), key=lambda mode: orders[mode].operations)
    worthwhile = orders[planned].operations < WORTHWHILE * orders[simple].operations
    memory = max(MOST_TIMES * orders[simple].memory, ALWAYS_HELD)
    return planned if worthwhile and orders[planned].memory <= memory else simple


def jacobian_program(program: Program, kind: Any) -> tuple[Program, tuple[int, ...], Mode]:
    """(arguments, constants) -> (auxiliary outputs, blocks of the Jacobian in order).

    kind: `(name, number of arguments, number of outputs that are differentiated, mode)`.
    """
    _, count, kept, wanted = kind
    with_loops = goes_with_its_loops(program, count)
    if with_loops and wanted is Mode.FORWARD:
        return *pushed_jacobian(program, kept), wanted
    differentiated = Differentiated(program, count, kept)
    mode = differentiated.choose(wanted)
    if with_loops and mode is Mode.FORWARD:
        return *pushed_jacobian(program, kept), mode
    builder = Builder()
    inputs = [builder.input(variable.type) for variable in program.inputs]
    values = builder.inline(differentiated.primal, inputs)
    names = dict(zip(differentiated.linear.inputs, values[differentiated.outputs :], strict=False))
    if differentiated.is_empty:
        blocks: Sequence[Sequence[Atom | None]] = [[None] * count for _ in differentiated.slopes]
    elif mode is Mode.ELIMINATION:
        blocks = _eliminated_blocks(builder, differentiated, names)
    else:
        cut, order = differentiated.order(mode)
        making = JacobianBuilder(builder, cut, names)
        blocks = making.blocks(making.accumulate(order), differentiated.slopes)
    aux = list(values[kept : differentiated.outputs])
    whole = [*aux, *_filled(builder, blocks, differentiated)]
    return without_units(builder.build(whole)), tuple(range(len(aux), len(whole))), mode


def _eliminated_blocks(
    builder: Builder, differentiated: Differentiated, names: dict[Variable, Atom]
) -> list[list[Atom | None]]:
    """For each output, its derivative with respect to each input, by elimination."""
    plan, crossings = differentiated.eliminated, differentiated.crossings
    assert plan is not None
    builder.copy_equations(crossings.fixed, names)
    elimination = EliminationBuilder(builder, plan.linear, names)
    elimination.eliminate(plan.order)
    places = {variable: n for n, variable in enumerate(crossings.results)}
    blocks: list[list[Atom | None]] = []
    for slope, of in zip(differentiated.slopes, differentiated.output_types, strict=True):
        place = places.get(slope) if isinstance(slope, Variable) else None
        blocks.append(
            [
                None
                if place is None
                else elimination.block(of, plan.linear.outputs[place], argument)
                for argument in plan.linear.inputs
            ]
        )
    return blocks


def _filled(
    builder: Builder, blocks: Sequence[Sequence[Atom | None]], differentiated: Differentiated
) -> list[Atom]:
    """The blocks in order, those that are structurally zero written out."""
    flat = []
    for row, of in zip(blocks, differentiated.output_types, strict=True):
        for block, tangent in zip(row, differentiated.crossings.tangents, strict=True):
            if block is None:
                shape = (*of.shape, *tangent.type.shape)
                block = zeros(builder, array_type(shape, of.dtype)).atom
            flat.append(block)
    return flat


def check_real(inputs: Sequence[ArrayType], outputs: Sequence[ArrayType]) -> None:
    """NotDifferentiableError unless all are real floating-point arrays."""
    for type_ in (*inputs, *outputs):
        if type_.dtype.kind != "f":
            raise NotDifferentiableError(
                f"A Jacobian was asked of a function from {_listing(inputs)} to "
                f"{_listing(outputs)}; it is defined here for real "
                "floating-point arrays. For complex ones use ad.derivative(...).matrix(), "
                "over the reals."
            )


def _listing(types: Sequence[ArrayType]) -> str:
    return ", ".join(map(str, types))
