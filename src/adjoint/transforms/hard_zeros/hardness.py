"""Hard zeros: a program that knows where no path leads.

Beside a value stands a mask of its hard zeros: those of a seed, of a branch that was not taken, of
an entry that was not indexed, and those that a rule declares (`primitives/hardness.py`). Products
with a hard zero are hard zeros, whatever the other factor is; sums are where all their terms are.
All other zeros are numbers, so that 0 times infinity is NaN.

Programs run without masks. Where a NaN turns up among derivatives, `hardened` makes the program
that is run instead. `masks_of` gives the masks alone, for what a linear program is to know of its
residuals.

An infinity of the data does not move: exp(-inf / t) is 0 for all t, and so is its slope, where the
chain rule has 0 times infinity. So if there are infinities among the arguments, masks hold such
numbers as well: infinities of the data, what they stay in sums, products and quotients, and what
functions make of them alone. Where those are 0, they are hard zeros. Of an infinity that
arithmetic made nobody knows as much, and it has no mask.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np

from adjoint.base.arrays import ArrayType, array_type
from adjoint.primitives.declaration import Each, Joint
from adjoint.primitives.elementwise.arithmetic import DIVIDE, POWER
from adjoint.primitives.elementwise.conversion import CAST, cast
from adjoint.primitives.elementwise.declaring import SCALE
from adjoint.primitives.elementwise.selection import SELECT, select
from adjoint.primitives.elementwise.smooth import ROOT_OF_SQUARES, SQRT
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.hardness import HARD, STRONG_CONTRACT
from adjoint.primitives.structure.contraction import CONTRACT
from adjoint.primitives.structure.moving import broadcast_to, sum_axes
from adjoint.program import Atom, Builder, Equation, Literal, Program, Variable, operation
from adjoint.program.nested import quiet
from adjoint.transforms.hard_zeros.infinities import known, unmoved, unmoved_sum
from adjoint.transforms.hard_zeros.masked_bodies import branches, repeat, scan
from adjoint.transforms.hard_zeros.masks import (
    BOOL,
    Mask,
    both,
    either,
    fill_with,
    infinite_entries,
    is_real,
    whole_mask,
)
from adjoint.transforms.recognition.norms import of_nothing
from adjoint.transforms.recognition.shares import with_shares

_MOVES: Final = frozenset(
    {
        *("reshape", "transpose", "broadcast", "slice", "gather", "stack", "concatenate"),
        *("update", "gather_set"),
    }
)
_SUMS: Final = frozenset(
    {
        *("increment", "gather_add", "sum", "cumulative_sum"),
        *("diagonal_matrix", "diagonal_part", "triangle"),
    }
)
_ENTRYWISE: Final = frozenset({"negative", "conjugate", "real", "imag", "cast", "python_number"})


def hardened(program: Program, still: bool = False) -> Program:
    """The same program, in which hard zeros win.

    still: whether infinities among the inputs are data, which do not move.
    """
    program = program if still else with_shares(program)
    work = _Work(Builder(), True, still)
    inputs, masks = work.start(program)
    outputs, _ = work.append(program, inputs, masks)
    return work.builder.build(outputs)


def masks_of(
    program: Program, places: Sequence[int], still: bool = False
) -> tuple[Program, list[int]]:
    """The program with more outputs: masks of the outputs at these places that may be hard.

    Also which places those are. still: see `hardened`.
    """
    work = _Work(Builder(), False, still)
    inputs, masks = work.start(program)
    outputs, masks = work.append(program, inputs, masks)
    work.builder.derived = True
    masks = work.zeros(outputs, masks)
    hard = [(place, masks[place]) for place in places if masks[place] is not None]
    if not hard:
        return program, []
    shown = [whole_mask(work.builder, mask, outputs[place].type.shape).atom for place, mask in hard]
    return work.builder.build([*outputs, *shown]), [place for place, _ in hard]


def starts_masks(equation: Equation) -> bool:
    """Whether what a transform has written says where no path leads."""
    if equation.primitive is HARD or not equation.inputs:
        return True
    if not equation.transformed or equation.primitive not in (SELECT, CAST):
        return False
    return equation.inputs[0].type.dtype == BOOL and equation.outputs[0].type.inexact


class _Work:
    """Appends programs with masks to a builder.

    wins: whether hard zeros win, or are only known. still: whether masks hold infinities of the
        data, too.
    """

    def __init__(self, builder: Builder, wins: bool, still: bool) -> None:
        self.builder = builder
        self.wins = wins
        self.still = still

    def start(self, program: Program) -> tuple[list[Variable], list[Mask]]:
        """Inputs as those of a program, with masks of the infinities among them."""
        inputs = [self.builder.input(type_) for type_ in program.input_types]
        if not self.still:
            return inputs, [None] * len(inputs)
        self.builder.derived = True
        return inputs, [infinite_entries(self.express(x)) if is_real(x) else None for x in inputs]

    def append(
        self, program: Program, inputs: Sequence[Atom], masks: Sequence[Mask]
    ) -> tuple[list[Atom], list[Mask]]:
        """Append a program; returns its outputs and their masks."""
        builder = self.builder
        names: dict[Variable, Atom] = dict(zip(program.inputs, inputs, strict=True))
        known: dict[Variable, Mask] = dict(zip(program.inputs, masks, strict=True))

        def value(atom: Atom) -> Atom:
            return names[atom] if isinstance(atom, Variable) else atom

        def mask(atom: Atom) -> Mask:
            return known[atom] if isinstance(atom, Variable) else None

        for equation in program.equations:
            builder.origin, builder.derived = equation.origin, equation.derived
            operands = [value(atom) for atom in equation.inputs]
            rule = _RULES.get(equation.primitive.name, _Work.other)
            operand_masks = [mask(x) for x in equation.inputs]
            results, result_masks = rule(self, equation, operands, operand_masks)
            names.update(zip(equation.outputs, results, strict=True))
            known.update(zip(equation.outputs, result_masks, strict=True))
        builder.origin, builder.derived = None, False
        return [value(x) for x in program.outputs], [mask(x) for x in program.outputs]

    # --- parts of rules ---------------------------------------------------------------------------

    def plain(self, equation: Equation, operands: Sequence[Atom]) -> tuple[Variable, ...]:
        """The equation as it is; what is appended after it is not the user's."""
        results = self.builder.emit(equation.operation, operands)
        self.builder.derived = True
        return results

    def done(self, equation: Equation, operands: list[Atom], value: list[Atom]) -> Sequence[Atom]:
        """The value of a mark that has done its work; the mark, where derivatives may follow."""
        return value if self.wins else self.plain(equation, operands)

    def express(self, atom: Atom) -> Any:
        """An atom in rules."""
        return Expression(self.builder, atom)

    def winning(self, result: Atom, mask: Mask) -> tuple[list[Atom], list[Mask]]:
        """The result, with zeros where they are hard."""
        if mask is None:
            return [result], [None]
        type_ = result.type
        if mask is True:
            zero = fill_with(self.builder, type_.shape, type_.dtype, 0).atom
            return [result if type_.weak or not self.wins else zero], [mask]
        mask = broadcast_to(mask, type_.shape)
        if not self.wins:
            return [result], [mask]
        return [select(mask, 0.0, self.express(result)).atom], [mask]

    def masked(
        self, equation: Equation, program: Program, marks: tuple[bool, ...]
    ) -> tuple[Program, tuple[bool, ...]]:
        """A program that an equation holds, with masks; all derived if the equation is."""
        return _with_masks(
            quiet(program, equation.derived) if equation.derived else program,
            marks,
            self.wins,
            self.still,
        )

    def zeros(self, atoms: Sequence[Atom], masks: Sequence[Mask]) -> list[Mask]:
        """The masks of hard zeros alone, which may be NaN where they do not win."""
        if not self.still:
            return list(masks)
        values = [self.express(x) for x in atoms]
        return [
            both(mask, np.logical_or(np.equal(x, 0), np.not_equal(x, x)))
            if isinstance(mask, Expression)
            else mask
            for x, mask in zip(values, masks, strict=True)
        ]

    def written_out(
        self, equation: Equation, operands: Sequence[Atom], masks: Sequence[Mask]
    ) -> list[Mask]:
        """Masks, with those of zeros that are written out among derivatives."""
        of_derivatives = any(mask is not None for mask in masks) and not self.still
        if not (equation.transformed or of_derivatives):
            return list(masks)
        return [
            True if isinstance(atom, Literal) and atom.type.inexact and atom.value == 0 else mask
            for atom, mask in zip(operands, masks, strict=True)
        ]

    def soft(self, type_: ArrayType, mask: Mask) -> Expression:
        """1 where a value of this type is no hard zero, and 0 where it is."""
        if not isinstance(mask, Expression):
            return fill_with(self.builder, type_.shape, type_.dtype, 0 if mask else 1)
        return cast(np.logical_not(broadcast_to(mask, type_.shape)), type_.dtype)

    # --- rules ------------------------------------------------------------------------------------

    def other(
        self, equation: Equation, operands: list[Atom], masks: list[Mask]
    ) -> tuple[Sequence[Atom], list[Mask]]:
        """What is linear in something that is a hard zero as a whole is one; all else is soft."""
        results = self.plain(equation, operands)
        linear = equation.primitive.linear
        stays = unmoved(self, equation, operands, masks, results[0]) if len(results) == 1 else None
        if stays is not None:
            return results, [stays]
        masks = self.zeros(operands, masks)
        inexact = [n for n, atom in enumerate(operands) if atom.type.inexact]
        if not isinstance(linear, (Joint, Each)) or not any(masks[n] is not None for n in inexact):
            return results, [None] * len(results)
        places = [n for n in inexact if linear.places is None or n in linear.places]
        alone = [n for n in places if masks[n] is not None]
        if not alone or (isinstance(linear, Joint) and alone != places):
            return results, [None] * len(results)
        mask: Mask = None if isinstance(linear, Each) else True
        for n in alone:
            type_ = array_type(operands[n].type.shape, np.dtype(float))
            count: Any = sum_axes(self.soft(type_, masks[n]), tuple(range(type_.ndim)))
            none = np.equal(count, 0)
            mask = either(mask, none) if isinstance(linear, Each) else both(mask, none)
        pairs = [self.winning(result, mask if result.type.inexact else None) for result in results]
        return [pair[0][0] for pair in pairs], [pair[1][0] for pair in pairs]

    def move(
        self, equation: Equation, operands: list[Atom], masks: list[Mask]
    ) -> tuple[Sequence[Atom], list[Mask]]:
        """A rearrangement, which takes masks along; zeros written out are as in a choice."""
        results = self.plain(equation, operands)
        masks = self.written_out(equation, operands, masks)
        if not results[0].type.inexact or all(mask is None for mask in masks):
            return results, [None]
        if all(mask is True for mask, x in zip(masks, operands, strict=True) if x.type.inexact):
            return results, [True]
        shown = [
            whole_mask(self.builder, mask, atom.type.shape).atom if atom.type.inexact else atom
            for atom, mask in zip(operands, masks, strict=True)
        ]
        return results, [self.express(self.builder.emit(equation.operation, shown)[0])]

    def total(
        self, equation: Equation, operands: list[Atom], masks: list[Mask]
    ) -> tuple[Sequence[Atom], list[Mask]]:
        """A sum, or what is zero in places: hard where it is of hard zeros alone."""
        results = self.plain(equation, operands)
        stays = unmoved_sum(self, equation, operands, masks, results[0])
        masks = self.zeros(operands, masks)
        if not results[0].type.inexact or not any(mask is not None for mask in masks):
            return results, [None]
        shadows = [
            self.soft(atom.type, mask).atom if atom.type.inexact else atom
            for atom, mask in zip(operands, masks, strict=True)
        ]
        (shadow,) = self.builder.emit(equation.operation, shadows)
        return results, [either(np.equal(self.express(shadow), 0), stays)]

    def entrywise(
        self, equation: Equation, operands: list[Atom], masks: list[Mask]
    ) -> tuple[Sequence[Atom], list[Mask]]:
        """What takes each zero to zero. What is made of a truth says where a path leads."""
        results = self.plain(equation, operands)
        (mask,) = masks
        if equation.transformed and operands[0].type.dtype == BOOL:
            mask = np.logical_not(self.express(operands[0]))
        return results, [mask if results[0].type.inexact else None]

    def add(
        self, equation: Equation, operands: list[Atom], masks: list[Mask]
    ) -> tuple[Sequence[Atom], list[Mask]]:
        """Sums and differences; of infinities of the data that cancel, the result is not known."""
        results = self.plain(equation, operands)
        mask = both(*masks)
        if isinstance(mask, Expression):
            mask = broadcast_to(mask, results[0].type.shape)
        if isinstance(mask, Expression) and self.still:
            value, zeros = self.express(results[0]), both(*self.zeros(operands, masks))
            mask = either(both(mask, np.equal(value, value)), zeros)
        return results, [either(mask, unmoved(self, equation, operands, masks, results[0]))]

    def product(
        self, equation: Equation, operands: list[Atom], masks: list[Mask]
    ) -> tuple[Sequence[Atom], list[Mask]]:
        """Products of derivatives; what the user wrote is NumPy's. A quotient is 0 with its top."""
        results = self.plain(equation, operands)
        if not equation.transformed and equation.primitive is not SCALE:
            return results, [unmoved(self, equation, operands, masks, results[0])]
        top = equation.primitive is DIVIDE
        zeros = self.zeros(operands, masks)
        (result,), (mask,) = self.winning(results[0], zeros[0] if top else either(*zeros))
        return [result], [either(mask, unmoved(self, equation, operands, masks, result))]

    def contract(
        self, equation: Equation, operands: list[Atom], masks: list[Mask]
    ) -> tuple[Sequence[Atom], list[Mask]]:
        """Sums of products: hard where each product is, and without those that are elsewhere."""
        if not equation.transformed:
            results = self.plain(equation, operands)
            return results, [unmoved_sum(self, equation, operands, masks, results[0])]
        if all(mask is None for mask in masks):
            return self.plain(equation, operands), [None]
        masks = self.zeros(operands, masks)
        params = equation.params
        floats = [array_type(x.type.shape, np.dtype(float)) for x in operands]
        soft = [self.soft(type_, mask) for type_, mask in zip(floats, masks, strict=True)]
        mask = np.equal(bind(CONTRACT, *soft, **params), 0)
        if not self.wins:
            return self.plain(equation, operands), [mask]
        shown = [
            whole_mask(self.builder, mask, x.type.shape)
            for x, mask in zip(operands, masks, strict=True)
        ]
        result = bind(STRONG_CONTRACT, *map(self.express, operands), *shown, **params)
        return [result.atom], [mask]

    def choice(
        self, equation: Equation, operands: list[Atom], masks: list[Mask]
    ) -> tuple[Sequence[Atom], list[Mask]]:
        """`select`, where a zero that is written out stands for no path."""
        results = self.plain(equation, operands)
        sides = self.written_out(equation, operands, masks)[1:]
        if not results[0].type.inexact or all(side is None for side in sides):
            return results, [None]
        if all(side is True for side in sides):
            return results, [True]
        shape = results[0].type.shape
        whole = [whole_mask(self.builder, side, shape) for side in sides]
        return results, [select(self.express(operands[0]), *whole)]

    def filled(
        self, equation: Equation, operands: list[Atom], masks: list[Mask]
    ) -> tuple[Sequence[Atom], list[Mask]]:
        """Zeros that are written out."""
        results = self.plain(equation, operands)
        empty = not equation.params["value"] and results[0].type.inexact
        return results, [True if empty else None]

    def declared(
        self, equation: Equation, operands: list[Atom], masks: list[Mask]
    ) -> tuple[Sequence[Atom], list[Mask]]:
        """The marks themselves."""
        x, *where = operands
        mask = self.express(where[0]) if where else np.equal(self.express(x), 0)
        return self.done(equation, operands, [x]), [either(masks[0], mask)]

    def tamed(
        self, equation: Equation, operands: list[Atom], masks: list[Mask]
    ) -> tuple[Sequence[Atom], list[Mask]]:
        """An infinity of which only a share of nothing is taken is a zero, and a number."""
        x = self.express(operands[0])
        if self.wins:
            infinite = infinite_entries(x)
            for under in operands[1:]:
                makers: dict[Atom, Equation] = {
                    result: maker for maker in self.builder.equations for result in maker.outputs
                }
                infinite = both(infinite, of_nothing(under, makers, self.builder))
            x = select(infinite, 0.0, x)
        return self.done(equation, operands, [x.atom]), [None]

    def same(
        self, equation: Equation, operands: list[Atom], masks: list[Mask]
    ) -> tuple[Sequence[Atom], list[Mask]]:
        """A value with the derivatives of another one is that value."""
        return self.done(equation, operands, operands[:1]), masks[:1]

    def root(
        self, equation: Equation, operands: list[Atom], masks: list[Mask]
    ) -> tuple[Sequence[Atom], list[Mask]]:
        """The root of a sum of squares is a root, and that of a sum of powers a power."""
        op = operation(SQRT if equation.primitive is ROOT_OF_SQUARES else POWER)
        if not self.wins:
            op = equation.operation
        results = self.builder.emit(op, operands)
        self.builder.derived = True
        return results, [unmoved(self, equation, operands, masks, results[0])]

    def severed(
        self, equation: Equation, operands: list[Atom], masks: list[Mask]
    ) -> tuple[Sequence[Atom], list[Mask]]:
        """What stands alone is passed on."""
        return self.plain(equation, operands), masks[:1]


@lru_cache(maxsize=256)
def _with_masks(
    program: Program, marks: tuple[bool, ...], wins: bool, still: bool
) -> tuple[Program, tuple[bool, ...]]:
    """(inputs, masks of those marked) -> (outputs, masks of those that have one), and which."""
    builder = Builder()
    inputs = [builder.input(type_) for type_ in program.input_types]
    masks = [
        Expression(builder, builder.input(array_type(x.type.shape, BOOL))) if mark else None
        for x, mark in zip(inputs, marks, strict=True)
    ]
    outputs, output_masks = _Work(builder, wins, still).append(program, inputs, masks)
    builder.derived = True
    shown = [
        whole_mask(builder, mask, atom.type.shape).atom
        for atom, mask in zip(outputs, output_masks, strict=True)
        if mask is not None
    ]
    return builder.build([*outputs, *shown]), tuple(mask is not None for mask in output_masks)


_Rule = Callable[[_Work, Equation, list[Atom], list[Mask]], tuple[Sequence[Atom], list[Mask]]]
_RULES: Final[dict[str, _Rule]] = {
    **dict.fromkeys(_MOVES, _Work.move),
    **dict.fromkeys(_SUMS, _Work.total),
    **dict.fromkeys(_ENTRYWISE, _Work.entrywise),
    **dict.fromkeys(("scale", "multiply", "divide"), _Work.product),
    **dict.fromkeys(("add", "subtract"), _Work.add),
    "contract": _Work.contract,
    "select": _Work.choice,
    "fill": _Work.filled,
    "hard": _Work.declared,
    "tame": _Work.tamed,
    "same_as": _Work.same,
    **dict.fromkeys(("root_of_squares", "root_of_powers"), _Work.root),
    "known": known,
    "stop_gradient": _Work.severed,
    "scan": scan,
    "while": repeat,
    "switch": branches,
    "checkpoint": branches,
}
