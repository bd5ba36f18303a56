"""The points where a function is not differentiable that an evaluation met."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.base.arrays import type_of
from adjoint.base.errors import ArgumentError, ArgumentTypeError
from adjoint.base.signatures.calling import named
from adjoint.calculus.inspecting.recording import (
    LocalDerivatives,
    Question,
    Recording,
    one_equation,
)
from adjoint.pipeline import compile_program, run
from adjoint.primitives.elementwise.comparison import ARGMAX, ARGMIN
from adjoint.primitives.elementwise.kink_table import CHOOSING, KINKS, SEARCHING, KinkKind, KinkRule
from adjoint.primitives.structure.reductions import MAX
from adjoint.program import Equation
from adjoint.spaces.elements.values import is_real_scalar


@dataclass(frozen=True, eq=False, repr=False)
class Kink:
    """An operation that was applied at, or near, points where it is not differentiable.

    Attributes:
        operation: "absolute", "maximum", "greater", "max[axes=(0,)]", ...; "question" for what was
            asked of a value, which has no sides.
        kind: what is wrong there.
        line, text: the user's line that recorded it, `file:number`, and what stands there.
        indices: which entries of the result (of a max or min: of the operand), shape (k, axes).
        values: the operands at those entries, shape (k, operands).
        distance: how far the operands are from the kink, shape (k,); 0 at it.
        places: the operands that depend on an argument of the function, by number.
        left, right: the derivatives in those operands from both sides, shape (k, len(places)). For
            a comparison, what it says on both sides. NaN where there is none.
        used: what the derivative takes instead, under the settings in force; for a comparison, what
            it said, and with it the branch that was taken.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> (kink,) = ad.kinks(lambda x: np.maximum(x, 0.0), np.array([-1.0, 0.0, 2.0]))
        >>> kink.indices, kink.left, kink.right, kink.used
        (array([[1]]), array([[0.]]), array([[1.]]), array([[0.5]]))
    """

    operation: str
    kind: KinkKind
    line: str
    text: str
    indices: Any
    values: Any
    distance: Any
    places: tuple[int, ...]
    left: Any
    right: Any
    used: Any

    def __len__(self) -> int:
        return len(self.indices)

    def __repr__(self) -> str:
        place = f" at {self.line}" if self.line else ""
        return f"<Kink: {self.operation}{place}, {len(self)} {_entries(len(self))}>"

    def __str__(self) -> str:
        place = f" at {self.line}" if self.line else ""
        text = f": {self.text}" if self.text else ""
        head = f"{self.operation}{place}{text}\n  {self.kind.value}, {len(self)} "
        head += _entries(len(self))
        rows = [_entry_text(self, number) for number in range(min(len(self), _SHOWN))]
        rest = [f"  and {len(self) - _SHOWN} more"] if len(self) > _SHOWN else []
        return "\n".join([head, *rows, *rest])


_SHOWN = 4


def _entries(count: int) -> str:
    return "entry" if count == 1 else "entries"


def _entry_text(kink: Kink, number: int) -> str:
    index = tuple(int(n) for n in kink.indices[number])
    where = f"  {list(index)}: " if index else "  "

    def row(values: Any) -> str:
        return ", ".join(f"{value:.6g}" if values.dtype != bool else str(value) for value in values)

    at = f"{where}at {row(kink.values[number])}"
    if kink.kind is KinkKind.QUESTION:
        return at
    sides = [f"{name} {row(getattr(kink, name)[number])}" for name in ("left", "right", "used")]
    return f"{at}: {', '.join(sides)}"


@named
def kinks(
    function: Callable[..., Any], *args: Any, within: float = 0.0, **kwargs: Any
) -> list[Kink]:
    """The operations that met a point where they are not differentiable, in order.

    Looked at are |x|, the choices (maximum, minimum, fmax, fmin, clip, relu), reductions that
    choose (max, min, argmax, argmin) where entries tie, steps (sign, floor, rint, remainder, ...),
    infinite slopes (sqrt at 0, arcsin at 1, ...), hypot at the origin, and comparisons of equals,
    by which `np.where` and Python's `if` choose a branch; and, where a result depends on an
    argument through questions alone (bisection by hand), each of them: the derivative is zero, and
    seldom what was meant. Only where an operand depends on a floating-point argument. Not looked at
    are what capture does not enter (a custom primitive), the equations of implicit functions, the
    order that `np.sort` finds, the interval that `np.interp` and `np.searchsorted` find, matrices
    with repeated eigenvalues, cuts in the complex plane, and what leaves no operation behind: `if
    x:` without a comparison, and `int(x)`.

    Args:
        function: plain NumPy code.
        args: the point.
        within: how near a kink counts, in the units of the operands; 0 for the kinks themselves.
        kwargs: passed on as they are.

    Returns:
        A list of `Kink`, one for each operation that met one, in the order of the program; empty
        where there is none.

    Raises:
        ArgumentTypeError, ArgumentError: `within` is no number, or negative.
        ArgumentTypeError: there is no array or number among the arguments.

    Example:
        >>> import adjoint as ad
        >>> (kink,) = ad.kinks(abs, 0.0)
        >>> kink.left, kink.right, kink.used
        (array([[-1.]]), array([[1.]]), array([[0.]]))
        >>> with ad.config(kink=1.0):
        ...     ad.kinks(abs, 0.0)[0].used
        array([[1.]])
        >>> ad.kinks(abs, 1e-9), len(ad.kinks(abs, 1e-9, within=1e-6))
        ([], 1)
    """
    if not is_real_scalar(within):
        raise ArgumentTypeError(f"within must be a number, got {within!r}.")
    if not within >= 0:
        raise ArgumentError(f"within must not be negative, got {within!r}.")
    recording = Recording(function, args, kwargs, "kinks")
    search = _KinkSearch(recording, float(within))
    met = [
        kink
        for equation, line in zip(recording.program.equations, recording.lines, strict=True)
        if (kink := search.at(equation, line)) is not None
    ]
    return met + [_question(question) for question in recording.questions]


def _question(question: Question) -> Kink:
    """A question that decides a result which depends on the argument in no other way."""
    value = np.asarray(question.value)
    none = np.full((1, 0), np.nan)
    index = np.zeros((1, 0), int)
    row = value.reshape(1, -1)
    kind = KinkKind.QUESTION
    return Kink("question", kind, *question.line, index, row, np.zeros(1), (), none, none, none)


class _KinkSearch:
    """Looks at equations one by one."""

    def __init__(self, recording: Recording, within: float) -> None:
        self.recording = recording
        self.within = within
        self.local = LocalDerivatives()

    def at(self, equation: Equation, line: tuple[str, str]) -> Kink | None:
        """The kink of an equation, if it met one."""
        name = equation.primitive.name
        places = tuple(
            place for place, atom in enumerate(equation.inputs) if atom in self.recording.varying
        )
        if not places:
            return None
        with np.errstate(all="ignore"):  # beside a kink there may be no derivative at all
            if name in CHOOSING or name in SEARCHING:
                return self._tie(equation, line)
            rule = KINKS.get(name)
            if rule is None or (rule.difference and equation.inputs[0] is equation.inputs[1]):
                return None
            return self._entrywise(equation, rule, places, line)

    # --- entry by entry ---

    def _entrywise(
        self, equation: Equation, rule: KinkRule, places: tuple[int, ...], line: tuple[str, str]
    ) -> Kink | None:
        shape = equation.outputs[0].type.shape
        types = [atom.type for atom in equation.inputs]
        whole = np.result_type(*(type_.dtype for type_ in types if not type_.weak), np.float32)
        if all(type_.weak for type_ in types):
            whole = np.result_type(*(type_.dtype for type_ in types))
        operands = []
        for atom in equation.inputs:
            dtype = whole if atom.type.weak and whole.kind in "fc" else atom.type.dtype
            operands.append(np.broadcast_to(np.asarray(self.recording.at(atom), dtype), shape))
        distance = np.broadcast_to(np.asarray(rule.distance(*operands)), shape)
        near = distance <= self.within
        if not near.any():
            return None
        rows = [operand[near] for operand in operands]  # (k,) each
        gaps = distance[near]
        declared = None if rule.sides is None else rule.sides(*rows)
        columns = []
        for place in places:
            at = self._slope(equation, rule, rows, place)
            if declared is None:
                sides = [
                    self._slope(equation, rule, _moved(rows, place, gaps, sign), place)
                    for sign in (-1, 1)
                ]
            else:
                sides = [np.broadcast_to(side, at.shape) for side in declared[place]]
            columns.append((*sides, at))
        left, right, used = (np.stack(slopes, axis=1) for slopes in zip(*columns, strict=True))
        if declared is not None and np.all(np.isnan(left) & np.isnan(right)):
            return None  # the operand that has the kink is constant
        return Kink(
            repr(equation.operation),
            rule.kind,
            *line,
            np.argwhere(near),
            np.stack(rows, axis=1),
            gaps,
            places,
            left,
            right,
            used,
        )

    def _slope(self, equation: Equation, rule: KinkRule, rows: list[Any], place: int) -> Any:
        """The derivative in one operand, as the primitive's own rule has it; or a comparison."""
        program = one_equation(equation.operation, [type_of(row) for row in rows])
        if rule.kind is KinkKind.BRANCH:
            return np.asarray(run(compile_program(program), rows)[0])
        types = program.input_types
        ones = np.ones(rows[place].shape, rows[place].dtype)
        (tangent,) = self.local.at(equation.operation, rows, types, place).push(ones)
        return np.zeros(ones.shape) if tangent is None else np.real(tangent)

    # --- reductions ---

    def _tie(self, equation: Equation, line: tuple[str, str]) -> Kink | None:
        name = equation.primitive.name
        axes = tuple(equation.params["axes"])
        x = np.asarray(self.recording.at(equation.inputs[0]))
        if not x.size:
            return None
        choose = np.max if equation.primitive in (MAX, ARGMAX) else np.min
        distance = _gap(x, choose(x, axis=axes, keepdims=True))
        near = distance <= self.within
        tied = near & (np.count_nonzero(near, axis=axes, keepdims=True) > 1)
        if not tied.any():
            return None
        if name in CHOOSING:
            kind = KinkKind.CORNER
            ones = np.ones(equation.outputs[0].type.shape, x.dtype)[()]
            types = [equation.inputs[0].type]
            used = np.asarray(self.local.at(equation.operation, [x], types, 0).pull([ones]))[tied]
            sides = [np.full(used.shape, side) for side in CHOOSING[name]]
        else:
            kind = KinkKind.BRANCH
            best = np.expand_dims(self.recording.at(equation.outputs[0]), axes)
            numbers = np.arange(x.shape[axes[0]]).reshape(
                [-1 if axis == axes[0] else 1 for axis in range(x.ndim)]
            )
            used = np.broadcast_to(numbers == best, x.shape)[tied]
            sides = [np.full(used.shape, equation.primitive is side) for side in (ARGMIN, ARGMAX)]
        left, right, used = (np.asarray(slopes)[:, None] for slopes in (*sides, used))
        return Kink(
            repr(equation.operation),
            kind,
            *line,
            np.argwhere(tied),
            x[tied][:, None],
            distance[tied],
            (0,),
            left,
            right,
            used,
        )


def _gap(x: Any, best: Any) -> Any:
    return np.where(np.equal(x, best), 0.0, np.abs(x - best))


def _moved(rows: Sequence[Any], place: int, gaps: Any, sign: int) -> list[Any]:
    """The operands with one of them moved to the other side of the kink, or off it."""
    row = rows[place]
    width = np.finfo(row.dtype)
    least = np.maximum(np.spacing(np.abs(row)), width.tiny)
    step = np.where(gaps == 0, least, 2 * gaps).astype(least.dtype)
    return [*rows[:place], row + sign * step, *rows[place + 1 :]]
