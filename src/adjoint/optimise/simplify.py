"""Shorter programs: local rewrites and common subexpressions, constant factors, dead code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from adjoint.loops import bodies
from adjoint.optimise.bodies import forget_narrow, in_bodies, shortened_body, thinned
from adjoint.optimise.factors import move_factors
from adjoint.optimise.rewrites import New, rewrite
from adjoint.optimise.tidying import tidy
from adjoint.program import Atom, Equation, Operation, Program, Variable

Pass = Callable[[Program], Program]

_MOST_REWRITES = (
    16  # of one equation; every rule shortens it, so this only guards against a mistake
)


def simplify(program: Program, check: Callable[[Program], Any] | None = None) -> Program:
    """The same program, shorter.

    What the user wrote is computed exactly as written; derivatives up to rounding (see `factors`).
    check: called with the program after every pass.
    """
    shorter = _passed(program, SHORTENING, check)
    moved = _passed(shorter, MOVING, check)
    return shorter if moved is shorter else _passed(moved, SHORTENING, check)


def _passed(
    program: Program, passes: Sequence[Pass], check: Callable[[Program], Any] | None
) -> Program:
    for simplifying_pass in passes:
        program = simplifying_pass(program)
        if check is not None:
            check(program)
    return program


def local_rewrites(program: Program) -> Program:
    """Simpler equations for what they compute, and each of them once."""
    names: dict[Atom, Atom] = {}  # of what is called otherwise than it was
    definitions: dict[Atom, Equation] = {}
    known: dict[Any, int] = {}
    equations: list[Equation] = []

    def rename(atom: Atom) -> Atom:
        return names.get(atom, atom)

    def insert(wanted: Atom | New, before: Equation) -> Atom:
        if not isinstance(wanted, New):
            return wanted
        key = _key(wanted.operation, wanted.inputs)
        place = known.setdefault(key, len(equations))
        if place == len(equations):
            result = Variable(wanted.type)
            kept = Equation(
                wanted.operation, wanted.inputs, (result,), before.origin, before.derived
            )
            equations.append(kept)
            definitions[result] = kept
        else:
            equations[place] = _of_both(equations[place], before)
        return equations[place].outputs[0]

    for equation in program.equations:
        if not equation.outputs:  # a loop that carries nothing and stacks nothing
            continue
        op, inputs = equation.operation, tuple(map(rename, equation.inputs))
        replaced: Atom | None = None
        for _ in range(_MOST_REWRITES):
            rewritten = rewrite(op, inputs, equation.outputs[0], definitions.get)
            if rewritten is None:
                break
            if not isinstance(rewritten, tuple):
                replaced = rewritten
                break
            op, inputs = rewritten[0], tuple(insert(x, equation) for x in rewritten[1])
        if replaced is not None:
            names[equation.outputs[0]] = replaced
            continue
        key = _key(op, inputs)
        place = known.setdefault(key, len(equations))
        if place == len(equations):
            kept = equation
            if op is not equation.operation or inputs != equation.inputs:
                kept = Equation(op, inputs, equation.outputs, equation.origin, equation.derived)
            equations.append(kept)
            definitions.update(dict.fromkeys(kept.outputs, kept))
        else:
            equations[place] = _of_both(equations[place], equation)
            names.update(zip(equation.outputs, equations[place].outputs, strict=True))
    return Program(program.inputs, equations, map(rename, program.outputs))


def _of_both(kept: Equation, other: Equation) -> Equation:
    """One in the place of two: what the user writes too must warn, and is the user's own."""
    if not kept.derived or (other.derived and (other.transformed or not kept.transformed)):
        return kept
    return Equation(kept.operation, kept.inputs, kept.outputs, other.origin, other.derived)


def _key(op: Operation, inputs: tuple[Atom, ...]) -> Any:
    return (op, *[x if isinstance(x, Variable) else x.key for x in inputs])


def eliminate_dead_code(program: Program) -> Program:
    """The program without the equations that its outputs do not need."""
    live = {atom for atom in program.outputs if isinstance(atom, Variable)}
    kept = []
    for equation in reversed(program.equations):
        if not live.isdisjoint(equation.outputs):
            if equation.primitive.multiple:
                equation = thinned(equation, live)
            live.update([atom for atom in equation.inputs if isinstance(atom, Variable)])
            kept.append(equation)
    return Program(program.inputs, reversed(kept), program.outputs)


@lru_cache(maxsize=256)
def _simplified(body: Program) -> Program:
    """A body made shorter: many programs hold the same one, and those hold equal ones."""
    return simplify(body)


def forget_simplified() -> None:
    """Let go of all bodies that were made shorter, and of what was made thinner in them."""
    _simplified.cache_clear()
    forget_narrow()


SHORTENING: tuple[Pass, ...] = (local_rewrites, eliminate_dead_code)
# What gives shorter passes more to do, where it changes anything.
MOVING: tuple[Pass, ...] = (tidy, in_bodies(_simplified), tidy, move_factors)


def _shorter(body: Program) -> Program:
    return shortened_body(_simplified, body)


bodies.SHORTEN = _shorter
