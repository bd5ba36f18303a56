"""From a list of whole numbers to a program: each number is a choice, so that lists shrink well.

Every step takes a primitive on one of its samples. Its operands are new inputs, or values so far,
brought to the shape and dtype that the sample asks for and, by a sine, to its bounds. Steps may be
loops and branches whose bodies are made in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from adjoint.base.arrays import array_type, type_of
from adjoint.loops.declared import CHECKPOINT, SCAN, SWITCH, WHILE
from adjoint.primitives import Expression
from adjoint.primitives.declaration import PRIMITIVES, EmptySlot
from adjoint.primitives.elementwise.conversion import CAST
from adjoint.primitives.elementwise.conversion import real as real_part
from adjoint.primitives.expression import bind
from adjoint.primitives.samples import DiagonalDraw, Draw, Fixed, Sample, draw
from adjoint.primitives.structure.gathering import GATHER
from adjoint.primitives.structure.moving import broadcast_to, reshape, sum_axes
from adjoint.primitives.typing_rules import LateUfunc
from adjoint.program import Builder, Program, Variable, check_program

LARGEST = 400  # numbers of one array at most
DEEPEST = 2  # loops within loops
STATE = draw(3, low=-1.0, high=1.0)  # what bodies carry
INDEX = array_type((), np.dtype(np.int64))


class Choices:
    """Whole numbers, taken one by one; zeros after the last."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self._rest = list(reversed(numbers))

    def below(self, count: int) -> int:
        """A number from 0 to count - 1."""
        return (self._rest.pop() if self._rest else 0) % count

    @property
    def left(self) -> bool:
        """Whether there are more."""
        return bool(self._rest)


@cache
def table() -> tuple[list[tuple[Any, Sample]], list[tuple[Any, Sample]]]:
    """All primitives on all their samples: NumPy's, and the special functions of SciPy."""
    numpys: list[tuple[Any, Sample]] = []
    scipys: list[tuple[Any, Sample]] = []
    for _, primitive in sorted(PRIMITIVES.items()):
        holds_programs = primitive in (SCAN, WHILE, SWITCH, CHECKPOINT)
        if holds_programs or isinstance(primitive.samples, EmptySlot):
            continue
        for sample in primitive.samples:
            size = max((int(np.prod(np.shape(d.array(_RNG)))) for d in sample.operands), default=0)
            if sample.operands and size <= LARGEST:
                (scipys if isinstance(primitive.ufunc, LateUfunc) else numpys).append(
                    (primitive, sample)
                )
    return numpys, scipys


_RNG = np.random.default_rng(0)


class Input(NamedTuple):
    """What an input is drawn from, and whether it has no derivative."""

    draw: Any
    constant: bool


class Maker:
    """Makes one program. order: up to which derivatives exist."""

    def __init__(self, choices: Choices) -> None:
        self.choices = choices
        self.builder = Builder()
        self.inputs: list[Input] = []
        self.values: list[Expression] = []
        self.order = 4

    # --- whole programs ---------------------------------------------------------------------------

    def program(self, steps: int) -> Program:
        """A program of so many steps, which returns its last values."""
        for _ in range(steps):
            self.step(DEEPEST)
            if not self.choices.left:
                break
        outputs = self.values[-2:]
        return check_program(self.builder.build(value.atom for value in outputs))

    def step(self, depth: int) -> None:
        """One primitive, loop or branch."""
        kind = self.choices.below(12) if depth else 11
        forms: list[Callable[[int], Sequence[Expression]]] = [
            self._scan,
            self._while,
            self._switch,
            self._checkpoint,
        ]
        results = forms[kind](depth) if kind < len(forms) else self._primitive()
        self.values.extend(results)

    # --- operands ---------------------------------------------------------------------------------

    def input(self, draw: Any, constant: bool = False) -> Expression:
        """A new input, drawn as a sample says."""
        self.inputs.append(Input(draw, constant))
        return Expression(self.builder, self.builder.input(type_of(draw.array(_RNG))))

    def operand(self, draw: Any, constant: bool = False) -> Expression:
        """A value so far in the shape, dtype and bounds of a sample, or a new input."""
        if constant:
            return self.input(draw, constant)
        numbers = isinstance(draw, Draw) and np.dtype(draw.dtype).kind in "fc" and not draw.python
        usable = [v for v in self.values if v.type.inexact and v.type.size]
        if not numbers or not usable or not self.choices.below(3):
            return self.input(draw)
        value = usable[self.choices.below(len(usable))]
        return self.fitted(value, draw)

    def fitted(self, value: Expression, draw: Draw) -> Expression:
        """A value as a sample would draw it."""
        dtype = np.dtype(draw.dtype)
        real = bind(CAST, self.shaped(real_part(value), draw.shape), dtype=np.dtype(float))
        middle, half = (draw.low + draw.high) / 2, (draw.high - draw.low) / 2
        found = middle + 0.9 * half * np.sin(real)
        if isinstance(draw, DiagonalDraw):
            found = found + self.input(Fixed(3 * np.eye(*draw.shape[-2:])), constant=True)
        if dtype.kind == "c":
            found = found + 1j * (middle + 0.9 * half * np.cos(real))
        return bind(CAST, found, dtype=dtype)

    def shaped(self, value: Expression, shape: tuple[int, ...]) -> Expression:
        """A value in this shape: reshaped, repeated from its entries, or summed and broadcast."""
        size = int(np.prod(shape))
        if value.type.size == size:
            return reshape(value, shape)
        way = self.choices.below(2)
        if way or not size:
            total = sum_axes(value, tuple(range(value.type.ndim))) if value.type.ndim else value
            return broadcast_to(total * (1 / value.type.size), shape)
        flat = reshape(value, (value.type.size,))
        index = np.arange(size) * 7 % value.type.size
        places = self.input(Fixed(index))
        return reshape(bind(GATHER, flat, places), shape)

    # --- steps ------------------------------------------------------------------------------------

    def _primitive(self) -> Sequence[Expression]:
        rows = table()[self.choices.below(5) == 4]
        primitive, sample = rows[self.choices.below(len(rows))]
        self.order = min(self.order, sample.order)
        operands = [
            self.operand(draw, place in sample.constant)
            for place, draw in enumerate(sample.operands)
        ]
        found = bind(primitive, *operands, **sample.params)
        return found if primitive.multiple else (found,)

    def _inner(self, states: int, results: int, depth: int) -> tuple[Maker, list[Input]]:
        """The equations of a body: from so many states to so many, bounded so that no loop
        runs away; and what else it reads."""
        inner = Maker(self.choices)
        inner.values = [inner.input(STATE) for _ in range(states)]
        for _ in range(1 + self.choices.below(2)):
            inner.step(depth - 1)
        self.order = min(self.order, inner.order)
        usable = [v for v in inner.values if v.type.inexact and v.type.size]
        inner.values = [inner.fitted(usable[-1 - n % len(usable)], STATE) for n in range(results)]
        return inner, inner.inputs[states:]

    def _body(self, states: int, results: int, depth: int) -> tuple[Program, list[Expression]]:
        """A body, whose first operands are constants, and these."""
        inner, others = self._inner(states, results, depth)
        variables = inner.builder.inputs
        order = [*variables[states:], *variables[:states]]
        outputs = [value.atom for value in inner.values]
        program = check_program(Program(order, inner.builder.equations, outputs))
        return program, [self.operand(*each) for each in others]

    def _scan(self, depth: int) -> Sequence[Expression]:
        length, carried = 1 + self.choices.below(4), 1 + self.choices.below(2)
        scanned, stacked = self.choices.below(2), self.choices.below(2)
        body, constants = self._body(carried + scanned, carried + stacked, depth)
        count = self.input(Fixed(np.int64(self.choices.below(length + 1))))
        state = [self.operand(STATE) for _ in range(carried)]
        rows = [self.operand(draw(length, 3)) for _ in range(scanned)]
        params = {"constants": len(constants), "carried": carried, "length": length}
        reverse = bool(self.choices.below(2))
        return bind(SCAN, count, *constants, *state, *rows, body=body, **params, reverse=reverse)

    def _while(self, depth: int) -> Sequence[Expression]:
        """At most so many rounds, and as long as the mean of the state is small."""
        carried = 1 + self.choices.below(2)
        inner, lent = self._inner(carried, carried, depth)
        states, others = inner.builder.inputs[:carried], inner.builder.inputs[carried:]
        limit, count = (Expression(inner.builder, Variable(INDEX)) for _ in range(2))
        order = [limit.atom, *others, count.atom, *states]
        outputs = [(count + 1).atom, *(value.atom for value in inner.values)]
        body = check_program(Program(order, inner.builder.equations, outputs))
        tester = Builder()
        operands = [Expression(tester, tester.input(each.type)) for each in order]
        small = np.less(sum_axes(operands[-1], (0,)), 1.5)
        goes_on = np.logical_and(np.less(operands[len(others) + 1], operands[0]), small)
        test = check_program(tester.build([goes_on.atom]))
        constants = [
            self.input(Fixed(np.int64(self.choices.below(5)))),
            *(self.operand(*each) for each in lent),
        ]
        state = [self.input(Fixed(np.int64(0))), *(self.operand(STATE) for _ in range(carried))]
        params = {"constants": len(constants), "carried": carried + 1, "length": None}
        found = bind(WHILE, *constants, *state, test=test, body=body, **params)
        return found[2:]

    def _switch(self, depth: int) -> Sequence[Expression]:
        made = [self._inner(1, 1, depth) for _ in range(2)]
        lent = [inner.builder.inputs[1:] for inner, _ in made]
        branches = []
        for number, (inner, _) in enumerate(made):
            others = [
                variable if place == number else Variable(variable.type)
                for place, variables in enumerate(lent)
                for variable in variables
            ]
            order = [*others, inner.builder.inputs[0]]
            outputs = [value.atom for value in inner.values]
            branches.append(check_program(Program(order, inner.builder.equations, outputs)))
        index = self.input(Fixed(np.int64(self.choices.below(2))))
        constants = [self.operand(*each) for _, inputs in made for each in inputs]
        return bind(SWITCH, index, *constants, self.operand(STATE), branches=tuple(branches))

    def _checkpoint(self, depth: int) -> Sequence[Expression]:
        body, constants = self._body(1, 1, depth)
        return bind(CHECKPOINT, *constants, self.operand(STATE), body=body, schedule=None)


def made(numbers: Sequence[int]) -> tuple[Program, list[Input], int]:
    """The program of a list of choices, what its inputs are drawn from, and its order."""
    choices = Choices(numbers)
    maker = Maker(choices)
    program = maker.program(1 + choices.below(5))
    return program, maker.inputs, maker.order
