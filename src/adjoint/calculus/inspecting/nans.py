"""Where a NaN came from: the user's line, the entry, and the partial derivative at fault."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from adjoint.base.arrays import type_of
from adjoint.base.errors import NotDifferentiableError
from adjoint.base.signatures.calling import named
from adjoint.calculus.inspecting.recording import Recording
from adjoint.calculus.inspecting.walking import (
    Index,
    Inherited,
    Outbreak,
    ProgramRun,
    Walk,
    evaluated,
)
from adjoint.program import Equation, Program
from adjoint.transforms import vjp
from adjoint.transforms.hard_zeros.hardness import hardened


class NaNPlace(Enum):
    """What has the NaN."""

    VALUE = "the value"
    DERIVATIVE = "the derivative"


@dataclass(frozen=True, eq=False)
class NaNStep:
    """An operation that made a NaN, or an infinity from which one came, of numbers that were none.

    operation: "log", "divide", ...: what the user's line does there. "argument" where an argument
        has it, "constant" for an array or number of the function's own.
    line, text: the user's line as `file:number`, and what stands there; empty for an argument.
    index: the entry.
    operands: the operation's operands at that entry; whole arrays where it has no entries of its
        own there. For an argument or constant, what it holds.
    derivative: whether it was made by the derivative of the operation, and not by its value.
    factors: what was multiplied, divided, added, ... at that entry, derivatives among them.
    result: NaN or an infinity; where `derivative`, the partial derivative or what it gave.
    round: of the loop that made it, counted from 0; or None.
    """

    operation: str
    line: str
    text: str
    index: Index
    operands: tuple[Any, ...]
    derivative: bool
    factors: tuple[Any, ...]
    result: Any
    round: int | None

    def __str__(self) -> str:
        what = f"the derivative of {self.operation}" if self.derivative else self.operation
        text = what + (f"{list(self.index)}" if self.index else "")
        text += f" at {self.line}: {self.text}" if self.line else ""
        text += "" if self.round is None else f", round {self.round} of the loop"
        row = ", ".join(map(_number, self.operands))
        product = f": {_number(self.result)} of {', '.join(map(_number, self.factors))}"
        return f"{text}\n  at {row}{product if self.factors else ''}" if self.operands else text


@dataclass(frozen=True, eq=False)
class NaNReport:
    """Where the first NaN of a value or derivative came from. `print` shows it.

    Attributes:
        place: whether the value or the derivative has it.
        entry: of which it was followed: the number of the result or argument, and the index in it.
        made: the operation that made it.
        infinity: the one that made the infinity from which the NaN came (0 * inf, inf - inf); or
            None.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> report = ad.explain_nan(lambda x: np.log(x - 2.0), 1.5)
        >>> report.culprit.operation, float(report.culprit.operands[0])
        ('log', -0.5)
    """

    place: NaNPlace
    entry: tuple[int, Index]
    made: NaNStep
    infinity: NaNStep | None

    @property
    def culprit(self) -> NaNStep:
        """What is to be changed: the operation that made the infinity, or else the NaN."""
        return self.infinity or self.made

    def __str__(self) -> str:
        lines = [f"{self.place.value} is NaN, made by {self.made}"]
        if self.infinity is not None:
            lines.append(f"its infinity was made by {self.infinity}")
        return "\n".join(lines)


@named
def explain_nan(function: Callable[..., Any], *args: Any, **kwargs: Any) -> NaNReport | None:
    """Where the NaN in a function's value came from, or, if that has none, in its derivative.

    The derivative is the one in reverse mode, of the sum of all results. The entry that is NaN is
    followed back to the operation that made it of numbers; and if that was 0 times infinity, or a
    difference of infinities, to the operation that made the infinity: `sqrt` at 0, say.

    Args:
        function: plain NumPy code; for second derivatives `ad.grad(f)`.
        args: the point. All arrays and numbers in them are inputs.
        kwargs: passed on as they are.

    Returns:
        A `NaNReport`; None where neither value nor derivative has a NaN.

    Raises:
        ArgumentTypeError: there is no array or number among the arguments.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> def spread(x):
        ...     return np.sqrt(np.mean(x**2) - np.mean(x) ** 2)
        >>> report = ad.explain_nan(spread, np.ones(3))
        >>> report.place.value, report.culprit.operation, report.culprit.derivative
        ('the derivative', 'sqrt', True)
        >>> (
        ...     [float(each) for each in report.culprit.operands],
        ...     float(report.culprit.result),
        ... )
        ([0.0], inf)
        >>> ad.explain_nan(spread, np.array([1.0, 2.0])) is None
        True
    """
    with np.errstate(all="ignore"):  # what there is to warn of is what the report says
        recording = Recording(function, args, kwargs, "explain_nan")
    search = _NaNSearch(recording)
    values = [recording.at(atom) for atom in recording.program.outputs]
    if _first_nan(values) is not None:
        run = ProgramRun(hardened(recording.program), recording.inputs)
        return search.report(NaNPlace.VALUE, run, 0)
    program = _reverse(recording)
    if program is None:
        return None
    seeds = [np.ones(type_of(x).shape, type_of(x).dtype)[()] for x in values if type_of(x).inexact]
    run = ProgramRun(hardened(program), [*recording.inputs, *seeds])
    return search.report(NaNPlace.DERIVATIVE, run, len(values))


def _reverse(recording: Recording) -> Program | None:
    """(inputs, cotangents) -> (results, cotangents of arguments); None where there is none."""
    if not any(recording.active):
        return None
    try:
        return vjp(recording.program, recording.active)
    except NotDifferentiableError:
        return None


def _first_nan(values: Sequence[Any]) -> tuple[int, Index] | None:
    """The number of the first array that has a NaN, and its first entry."""
    for number, value in enumerate(values):
        array = np.asarray(value)
        if array.dtype.kind in "fc" and np.isnan(array).any():
            return number, tuple(int(n) for n in np.argwhere(np.isnan(array))[0])
    return None


class _NaNSearch:
    """Follows NaN and infinity, and says whose they are."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.equations: dict[int | None, tuple[Equation, tuple[str, str]]] = {}
        for pair in zip(recording.program.equations, recording.lines, strict=True):
            self.equations.setdefault(pair[0].origin, pair)

    def report(self, place: NaNPlace, run: ProgramRun, first: int) -> NaNReport | None:
        """What made the first NaN among the outputs from number `first` on."""
        outputs = run.program.outputs[first:]
        entry = _first_nan([run.at(atom) for atom in outputs])
        if entry is None:
            return None
        walk = Walk(run, outputs[entry[0]], entry[1])
        steps = [self._outbreak(outbreak) for outbreak in walk.outbreaks]
        if walk.given is not None:
            steps.append(self._given(walk.given))
        origin, infinity = [*steps, None][:2]
        assert origin is not None
        return NaNReport(place, entry, origin, infinity)

    def _outbreak(self, outbreak: Outbreak) -> NaNStep:
        user, (line, text) = self.equations.get(outbreak.outer.origin, (outbreak.outer, ("", "")))
        inside = outbreak.equation is not outbreak.outer
        op = outbreak.equation.operation if inside else user.operation
        factors = tuple(_entry(operand, outbreak.index) for operand in outbreak.operands)
        derivative, operands = outbreak.equation.transformed, factors
        if derivative and not inside and user is not outbreak.outer:
            operands = tuple(_entry(self.recording.at(x), outbreak.index) for x in user.inputs)
        result = evaluated(outbreak.equation, outbreak.operands)[outbreak.place]
        return NaNStep(
            repr(op),
            line,
            text,
            outbreak.index,
            operands,
            derivative,
            factors if derivative else (),
            np.asarray(result)[outbreak.index],
            outbreak.round,
        )

    def _given(self, inherited: Inherited) -> NaNStep:
        """A NaN or infinity that came in."""
        number, value, row = inherited.number, inherited.value, (inherited.value,)
        if number is not None and number < self.recording.arguments:
            return NaNStep("argument", "", "", inherited.index, row, False, (), value, None)
        origin = None if inherited.user is None else inherited.user.origin
        _, (line, text) = self.equations.get(origin, (None, ("", "")))
        return NaNStep("constant", line, text, inherited.index, row, False, (), value, None)


def _entry(value: Any, index: Index) -> Any:
    """The entry of an array; of one that is broadcast, that which stands there; else the whole."""
    array = np.asarray(value)
    if array.ndim > len(index):
        return value
    own = index[len(index) - array.ndim :]
    if any(n >= size != 1 for n, size in zip(own, array.shape, strict=True)):
        return value
    return array[tuple(0 if size == 1 else n for n, size in zip(own, array.shape, strict=True))]


def _number(value: Any) -> str:
    array = np.asarray(value)
    if array.ndim:
        return f"array of shape {array.shape}"
    return f"{array[()]:.6g}" if array.dtype.kind in "fc" else str(array[()])
