"""Local rewrites: each looks at one equation and its operands, and may name a shorter way.

All of these are exact: they change no value, not even in its last bit (a broadcast that is left
out, a transpose that is folded into a product), except where a rewrite says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from adjoint.base.arrays import ArrayType
from adjoint.base.errors import DTypeError
from adjoint.optimise.rolling.indices import affine, rows
from adjoint.primitives.declaration import PRIMITIVES
from adjoint.primitives.elementwise.conversion import PYTHON_NUMBER
from adjoint.primitives.elementwise.declaring import SCALE
from adjoint.primitives.elementwise.selection import SELECT
from adjoint.primitives.hardness import HARD
from adjoint.primitives.structure.contraction import CONTRACT, canonical, split_spec
from adjoint.primitives.structure.gathering import LAST_WRITE
from adjoint.primitives.structure.moving import (
    BROADCAST,
    FILL,
    RESHAPE,
    SUM,
    TRANSPOSE,
    inverse_permutation,
)
from adjoint.primitives.structure.slicing import CONCATENATE, INCREMENT, SLICE, STACK, UPDATE
from adjoint.program import Atom, Equation, Literal, Operation, operation

_WRITES = frozenset({UPDATE, INCREMENT})
_SPREADING = frozenset({BROADCAST, RESHAPE, PYTHON_NUMBER})
_MOVES = frozenset({STACK, CONCATENATE, TRANSPOSE, RESHAPE, BROADCAST, SLICE, SCALE})
MULTIPLY, DIVIDE, NEGATIVE = (PRIMITIVES[name] for name in ("multiply", "divide", "negative"))


@dataclass(frozen=True)
class New:
    """An operand that a rewrite asks for: another equation, to stand before the one rewritten."""

    operation: Operation
    inputs: tuple[Atom, ...]
    type: ArrayType


Definitions = Callable[[Atom], Equation | None]
Rewritten = Atom | tuple[Operation, tuple[Atom | New, ...]] | None


def rewrite(
    op: Operation, inputs: tuple[Atom, ...], result: Any, definition: Definitions
) -> Rewritten:
    """A simpler way to the result: an atom that equals it, another operation, or None."""
    primitive = op.primitive
    if 0 in [atom.type.size for atom in inputs]:
        return _without_numbers(op, inputs, result)
    if primitive.ufunc is not None or primitive is SCALE or primitive is SELECT:
        sources = [source.primitive for source in map(definition, inputs) if source is not None]
        if _SPREADING.isdisjoint(sources):  # as in most programs
            return _drop_units(op, inputs, result, definition)
        return (
            _drop_broadcasts(op, inputs, result, definition)
            or _drop_units(op, inputs, result, definition)
            or _sink_broadcasts(op, inputs, result, definition)
        )
    rule = _RULES.get(primitive)
    return rule(op, inputs, result, definition) if rule else None


def _without_numbers(op: Operation, inputs: tuple[Atom, ...], result: Any) -> Rewritten:
    """What arrays without numbers add is left out, so that nobody has to know such arrays.

    `a[i, :i] @ x[:i]` has a first round in a loop over i.
    """
    primitive = op.primitive
    if primitive in _WRITES and 0 in inputs[1].type.shape:
        return inputs[0] if inputs[0].type == result.type else None
    if primitive is CONCATENATE and result.type.size:
        full = tuple(atom for atom in inputs if 0 not in atom.type.shape)
        same = all(atom.type.dtype == result.type.dtype for atom in full)
        return (op, full) if same else None
    if primitive in (SUM, CONTRACT) or (primitive in _MOVES and not result.type.size):
        type_ = result.type
        return operation(FILL, shape=type_.shape, dtype=type_.dtype, value=0), ()
    return None


def _drop_broadcasts(
    op: Operation, inputs: tuple[Atom, ...], result: Any, definition: Definitions
) -> Rewritten:
    """An elementwise operation broadcasts by itself: the small operand will do.

    Nor need a number be Python's own where the result has the same type without.
    """
    for place, atom in enumerate(inputs):
        source = definition(atom)
        if source is None or not _is_idle(source) or source.inputs[0].type.weak:
            continue
        trial = (*inputs[:place], source.inputs[0], *inputs[place + 1 :])
        try:
            inferred = op.infer(tuple(x.type for x in trial))
        except DTypeError:  # only Python's own number is narrow enough
            continue
        if inferred == (result.type,):
            return op, trial
    return None


def _is_idle(equation: Equation) -> bool:
    """Whether it only repeats its operand, puts axes of length one before it, or makes it weak."""
    if equation.primitive is BROADCAST or equation.primitive is PYTHON_NUMBER:
        return True
    if equation.primitive is not RESHAPE:
        return False
    before, after = equation.inputs[0].type.shape, equation.params["shape"]
    lead = len(after) - len(before)
    return lead > 0 and after == (1,) * lead + before


def _sink_broadcasts(
    op: Operation, inputs: tuple[Atom, ...], result: Any, definition: Definitions
) -> Rewritten:
    """Of operands that are all repeated, or single numbers: compute once, and repeat the result."""
    sources, repeated = [], False
    for atom in inputs:
        source = definition(atom)
        if source is not None and source.primitive is BROADCAST and not source.inputs[0].type.weak:
            sources.append(source.inputs[0])
            repeated = True
        elif atom.type.ndim == 0:
            sources.append(atom)
        else:
            return None
    if not repeated:
        return None
    (small,) = op.infer(tuple(atom.type for atom in sources))
    if small.size >= result.type.size or small.dtype != result.type.dtype or small.weak:
        return None
    return operation(BROADCAST, shape=result.type.shape), (New(op, tuple(sources), small),)


def _broadcast(
    op: Operation, inputs: tuple[Atom, ...], result: Any, definition: Definitions
) -> Rewritten:
    """Of two broadcasts only the last counts, and leading axes of length one come by themselves."""
    source = definition(inputs[0])
    if source is None or source.primitive is PYTHON_NUMBER or not _is_idle(source):
        return None
    return op, source.inputs


def _drop_units(
    op: Operation, inputs: tuple[Atom, ...], result: Any, definition: Definitions
) -> Rewritten:
    """Multiplication by one, double negation, and the choice of what is written at one place."""
    primitive = op.primitive
    if primitive is SELECT:
        chosen = definition(inputs[0])
        alone = chosen is not None and chosen.primitive is LAST_WRITE
        if alone and not result.type.ndim and inputs[1].type is result.type:
            return inputs[1]  # of one index, the last
    if primitive in (MULTIPLY, SCALE):
        for one, other in (inputs, inputs[::-1]):
            if _is_literal(one, 1) and other.type is result.type:
                return other
    if primitive is DIVIDE and _is_literal(inputs[1], 1) and inputs[0].type is result.type:
        return inputs[0]
    if primitive is NEGATIVE:
        source = definition(inputs[0])
        if source is not None and source.primitive is NEGATIVE:
            return source.inputs[0]
    return None


def _is_literal(atom: Atom, value: float) -> bool:
    return isinstance(atom, Literal) and atom.value == value


def _transpose(
    op: Operation, inputs: tuple[Atom, ...], result: Any, definition: Definitions
) -> Rewritten:
    """Two transposes are one; of a product, it is another order of the result's labels."""
    source = definition(inputs[0])
    if source is None:
        return None
    axes = op.params["axes"]
    if source.primitive is TRANSPOSE:
        inner = source.params["axes"]
        both = tuple(inner[axis] for axis in axes)
        if both == tuple(range(len(both))):
            return source.inputs[0]
        return operation(TRANSPOSE, axes=both), source.inputs
    return None


def _reshape(
    op: Operation, inputs: tuple[Atom, ...], result: Any, definition: Definitions
) -> Rewritten:
    """Of two reshapes only the last counts."""
    source = definition(inputs[0])
    if source is not None and source.primitive is RESHAPE:
        if source.inputs[0].type is result.type:
            return source.inputs[0]
        return op, source.inputs
    return None


def _contract(
    op: Operation, inputs: tuple[Atom, ...], result: Any, definition: Definitions
) -> Rewritten:
    """A transposed operand is the operand itself with its labels in another order."""
    left, right, out = split_spec(op.params["spec"])
    for place, (atom, labels) in enumerate(zip(inputs, (left, right), strict=True)):
        source = definition(atom)
        if source is None or source.primitive is not TRANSPOSE:
            continue
        order = inverse_permutation(source.params["axes"])
        moved = "".join(labels[axis] for axis in order)
        specs = (moved, right) if place == 0 else (left, moved)
        operands = (source.inputs[0], inputs[1]) if place == 0 else (inputs[0], source.inputs[0])
        return operation(CONTRACT, spec=canonical(f"{specs[0]},{specs[1]}->{out}")), operands
    return None


def _hard(
    op: Operation, inputs: tuple[Atom, ...], result: Any, definition: Definitions
) -> Rewritten:
    """What has no zeros, or hard ones only, needs no mark."""
    source = definition(inputs[0])
    constant = isinstance(inputs[0], Literal) and inputs[0].value != 0
    if constant or (source is not None and source.primitive in (FILL, HARD)):
        return inputs[0]
    return None


def _concatenate(
    op: Operation, inputs: tuple[Atom, ...], result: Any, definition: Definitions
) -> Rewritten:
    """Rows of one array that are joined in order are a part of it."""
    if op.params["axis"] or len(inputs) < 2:
        return None
    whole: list[Atom] = []
    for atom in inputs:
        reshaped = definition(atom)
        if reshaped is None or reshaped.primitive is not RESHAPE:
            return None
        if atom.type.shape != (1, *reshaped.inputs[0].type.shape):
            return None
        whole.append(reshaped.inputs[0])
    return _rows_in_order(whole, definition)


def _stack(
    op: Operation, inputs: tuple[Atom, ...], result: Any, definition: Definitions
) -> Rewritten:
    """Rows of one array that are stacked in order are a part of it."""
    if op.params["axis"] or len(inputs) < 2:
        return None
    return _rows_in_order(inputs, definition)


def _rows_in_order(atoms: Sequence[Atom], definition: Definitions) -> Rewritten:
    """The part of an array whose rows these are, if they are evenly spaced ones of it."""
    numbers: list[int] = []
    known: tuple[Any, ...] = ()
    for atom in atoms:
        row = definition(atom)
        if row is None or row.primitive is not SLICE or not row.params["index"]:
            return None
        first, *rest = row.params["index"]
        if not isinstance(first, int) or (known and known != (row.inputs[0], rest)):
            return None
        known = (row.inputs[0], rest)
        numbers.append(first)
    step = affine(numbers)
    if not step:
        return None
    return operation(SLICE, index=(rows(numbers, step), *known[1])), (known[0],)


_RULES: dict[Any, Callable[..., Rewritten]] = {
    STACK: _stack,
    CONCATENATE: _concatenate,
    TRANSPOSE: _transpose,
    RESHAPE: _reshape,
    CONTRACT: _contract,
    BROADCAST: _broadcast,
    HARD: _hard,
}
