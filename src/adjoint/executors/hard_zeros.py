"""Programs in which a NaN has turned up among derivatives: run again with hard zeros.

At first NumPy runs the program as it is, which warns of what the user's code does, and then the one
with masks (see `transforms/hard_zeros/hardness.py`). Where that comes often, both become machine
code: of the first, only what the user wrote, to know whether NumPy would warn. Where infinite data
leave a NaN even so, a third program, in which they do not move, says what is in its place. The same
is tried where machine code of the whole often has no results: errors of derivatives, of which
nobody is to be warned, are none to code that looks at the user's part alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from typing import Any, Final, Protocol

import numpy as np

from adjoint.executors.numpy import has_infinities
from adjoint.loops.declared import SCAN
from adjoint.optimise.bodies import holds_programs, thinned
from adjoint.primitives.calls.custom import is_users_code
from adjoint.program import Equation, Program, Variable, all_equations, held_programs

# What moves numbers, and raises no floating-point error.
_MOVES: Final = frozenset(
    {
        *("reshape", "transpose", "broadcast", "slice", "gather", "stack", "concatenate"),
        *("update", "gather_set", "python_number", "select", "negative"),
    }
)


class Tier(Protocol):
    """What runs a program, by and by as machine code; see `tiered.py`."""

    def __call__(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """Run it."""

    def run_or_count(self, arguments: Sequence[Any]) -> tuple[Any, ...] | None:
        """The results of machine code, or None; then it is one run more that wanted some."""

    def attempt(self) -> Any:
        """The guarded machine code, if there is any."""

    def compile_at_once(self) -> None:
        """Let the next run be of machine code."""


class HardZeros:
    """A program with hard zeros.

    watched: outputs that are derivatives. data: whether its arguments are data, of which infinities
        do not move; a NaN that is left is looked at with them. tier: makes what runs a program.
    """

    __slots__ = ("_at_once", "_hard", "_make", "_open", "_own", "_still", "_watched")

    def __init__(
        self,
        program: Program,
        watched: tuple[int, ...],
        data: bool,
        tier: Callable[..., Tier],
    ) -> None:
        self._make = partial(tier, program)
        self._watched = watched if data else ()
        self._hard = tier(program, watched, hard=True)
        own = users_part(program)
        self._own = None if own is None else tier(own, ())
        self._at_once = False
        # The program whose infinite data do not move; and, beside it, the one with hard zeros,
        # whatever NaN it leaves. Made when a NaN was left.
        self._still: Tier | None = None
        self._open: Tier | None = None

    def __call__(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """Run it, once or twice."""
        results = self._hard(arguments)
        lost = [n for n in self._watched if np.isnan(results[n]).any()]
        if not lost or not has_infinities(arguments):
            return results
        still = self._still
        if still is None:
            still = self._still = self._make(self._watched, hard=True, still=True)
            self._open = self._make((), hard=True)
            if self._at_once:
                self.compile_at_once()
        return _repaired(results, still(arguments), lost)

    def compile_at_once(self) -> None:
        """Let the next run be of machine code, as `Tiered` does."""
        self._at_once = True
        for part in (self._hard, self._own, self._still, self._open):
            if part is not None:
                part.compile_at_once()

    def run(self, arguments: Sequence[Any]) -> tuple[Any, ...] | None:
        """The results, if all is machine code, no NaN is left, and NumPy would not warn."""
        if self._own is None:
            return None
        well = self._own.run_or_count(arguments) is not None
        if not well and self._hard.attempt() is not None:
            return None
        results = self._hard.run_or_count(arguments)  # which counts at the least
        if results is None and well:
            results = self._run_with_still(arguments)
        return results if well else None

    def _run_with_still(self, arguments: Sequence[Any]) -> tuple[Any, ...] | None:
        """The results where infinite data leave a NaN, if all of that is machine code."""
        if self._still is None or self._open is None or not has_infinities(arguments):
            return None
        results = self._open.run_or_count(arguments)
        further = self._still.run_or_count(arguments)  # which counts at the least
        if results is None or further is None:
            return None
        return _repaired(results, further, self._watched)


def _repaired(
    results: tuple[Any, ...], further: tuple[Any, ...], places: Sequence[int]
) -> tuple[Any, ...]:
    """The results, with those of another run in the place of NaN."""
    repaired = list(results)
    for n in places:
        repaired[n] = np.where(np.isnan(results[n]), further[n], results[n])[()]
    return tuple(repaired)


def users_part(program: Program) -> Program | None:
    """What the user wrote of a program with derivatives, with all its last results.

    It raises the same floating-point errors. Derivatives are in it where the user's own numbers
    follow from them. None where it calls the user's code, or cannot be told apart from derivatives
    within a loop or a branch.
    """
    equations: list[Equation] = []
    needed: set[Any] = set()
    for equation in reversed(program.equations):
        if is_users_code(equation.primitive):
            return None
        is_needed = not needed.isdisjoint(equation.outputs)
        if not is_needed and _is_quiet(equation):
            continue
        part: Equation | None = equation
        if holds_programs(equation):
            part = _users_part_of(equation)
            if is_needed and (part is None or not needed & {*equation.outputs} <= {*part.outputs}):
                part = equation
        if part is None:
            return None
        equations.append(part)
        needed.update(x for x in part.inputs if isinstance(x, Variable))
    last = [x for equation in equations for x in equation.outputs if x not in needed]
    return Program(program.inputs, equations[::-1], last[::-1])


def _is_quiet(equation: Equation) -> bool:
    """Whether the user wrote nothing of it that may raise a floating-point error."""
    if not holds_programs(equation):
        return bool(equation.derived) or not _raises(equation)
    within = chain.from_iterable(map(all_equations, held_programs(equation.operation)))
    return all(inner.derived for inner in within if _raises(inner))


def _users_part_of(loop: Equation) -> Equation | None:
    """A loop without its derivatives; None where something of the user's would go with them."""
    within = chain.from_iterable(map(all_equations, held_programs(loop.operation)))
    if not any(inner.derived for inner in within):
        return loop
    if loop.primitive is not SCAN:
        return None
    body: Program = loop.params["body"]
    makers = {x: equation for equation in body.equations for x in equation.outputs}
    own = {
        output
        for output, atom in zip(loop.outputs, body.outputs, strict=True)
        if atom in makers and not makers[atom].derived
    }
    part = thinned(loop, own)
    kept = list(all_equations(part.params["body"]))
    if any(equation.derived for equation in kept) or not own:
        return None
    before = [x for x in all_equations(body) if _raises(x) and not x.derived]
    return part if len([x for x in kept if _raises(x)]) == len(before) else None


def _raises(equation: Equation) -> bool:
    """Whether an equation may raise a floating-point error."""
    inexact = any(x.type.inexact for x in (*equation.inputs, *equation.outputs))
    return inexact and equation.primitive.name not in _MOVES and not holds_programs(equation)
