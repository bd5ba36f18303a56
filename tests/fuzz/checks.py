"""What must hold of a random program: every transform and executor against the reference.

The reference is the program itself, interpreted equation by equation with what each primitive
means in NumPy. Transforms give programs, which are interpreted as well: forward and reverse mode
against each other and against differences, for every program. Then one of the ways to go on, by
turns: each simplifies and compiles the programs that it needs.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np

from adjoint.base.errors import DegenerateError, SingularError
from adjoint.executors import NativeExecutor, Needs, NumpyExecutor
from adjoint.loops import bodies
from adjoint.optimise import simplify
from adjoint.program import Equation, Program, check_linear, check_program
from adjoint.transforms import jvp, linearize, transpose, vjp, vmap
from tests.fuzz.maker import made
from tests.vectors import coordinates, distance, pairing, random_like

BATCH = 3
STEPS = (1e-5, 1e-6)  # of differences
CLOSE, ROUGH = 1e-8, 2e-4
LARGEST = 1e7  # derivatives beyond are rounding: differences and products say nothing of them
LEAST = 1e-2  # results below are measured as if they were as large: they may be cancellations

# Whose derivative is not that of their values, by declaration.
CONSTANT: Final = {
    "stop_gradient": "that is what it is for",
    "dilated_basis": "any basis will do: what it is used for does not depend on it",
    "leading_entries": "where a rotation begins; the rotation has the derivative",
    "lu_factors": "the solve that uses them has the derivative",
}
# What SciPy computes to a few digits only, so that differences of it are noise.
INACCURATE: Final = ("pro_rad2", "pro_rad2_cv")
# The ways of the derivative stop here, by an error that says so.
REFUSED: Final = (DegenerateError, SingularError, np.linalg.LinAlgError)


class Disagreement(AssertionError):
    """Two ways to compute the same differ."""


@contextmanager
def nothing_compiled() -> Iterator[None]:
    """Bodies of loops are interpreted too, and do not become functions behind our back."""
    found, bodies.COMPILE = bodies.COMPILE, lambda op, types: None
    try:
        yield
    finally:
        bodies.COMPILE = found


def interpreted(program: Program, arguments: Sequence[Any]) -> tuple[Any, ...]:
    """The reference."""
    with nothing_compiled():
        return bodies.interpreted(program)(*arguments)


def executed(program: Program, arguments: Sequence[Any]) -> tuple[Any, ...]:
    """By the NumPy executor: simplified, checked."""
    simple = check_program(simplify(check_program(program)))
    found: tuple[Any, ...] = NumpyExecutor().compile(simple).run(*arguments)
    if any(np.isnan(np.asarray(each)).any() for each in found):
        found = NumpyExecutor().compile(simple, Needs(hard=True)).run(*arguments)
    return found


def equations_of(program: Program) -> Iterator[Equation]:
    """All equations, those of bodies too."""
    for equation in program.equations:
        yield equation
        for value in equation.params.values():
            for each in value if isinstance(value, tuple) else (value,):
                if isinstance(each, Program):
                    yield from equations_of(each)


@dataclass
class Subject:
    """A random program at a random point."""

    numbers: Sequence[int]
    seed: int

    def __post_init__(self) -> None:
        self.program, self.inputs, self.order = made(self.numbers)
        self.rng = np.random.default_rng(self.seed)
        self.point = tuple(each.draw.array(self.rng) for each in self.inputs)

    @cached_property
    def values(self) -> tuple[Any, ...]:
        """The reference's results."""
        return interpreted(self.program, self.point)

    @cached_property
    def active(self) -> tuple[bool, ...]:
        """The inputs that a derivative is taken in."""
        types = self.program.input_types
        return tuple(
            t.inexact and not t.weak and not each.constant
            for t, each in zip(types, self.inputs, strict=True)
        )

    @cached_property
    def tangents(self) -> tuple[Any, ...]:
        """Of the active inputs."""
        types = [t for t, mark in zip(self.program.input_types, self.active, strict=True) if mark]
        return random_like(self.rng, types)

    @cached_property
    def weights(self) -> tuple[Any, ...]:
        """Cotangents of the inexact results."""
        return random_like(self.rng, [t for t in self.program.output_types if t.inexact])

    @cached_property
    def forward(self) -> Program:
        """(inputs, tangents) -> results and their tangents."""
        return jvp(self.program, self.active)

    @cached_property
    def reverse(self) -> Program:
        """(inputs, cotangents) -> results and cotangents of the active inputs."""
        return vjp(self.program, self.active)

    @cached_property
    def slopes(self) -> tuple[Any, ...]:
        """Tangents of the results."""
        found = interpreted(self.forward, (*self.point, *self.tangents))
        count = len(self.program.outputs)
        self.expect("values beside the jvp", found[:count], self.values)
        return found[count:]

    @cached_property
    def pulled(self) -> tuple[Any, ...]:
        """Cotangents of the active inputs."""
        found = interpreted(self.reverse, (*self.point, *self.weights))
        count = len(self.program.outputs)
        self.expect("values beside the vjp", found[:count], self.values)
        return found[count:]

    @property
    def finite(self) -> bool:
        """Whether there is something to compare."""
        arrays = [np.asarray(v) for v in self.values]
        return all(np.isfinite(a).all() for a in arrays if a.dtype.kind in "fc")

    @property
    def derived(self) -> bool:
        """Whether there are derivatives to compare, finite and not huge."""
        if not (any(self.active) and self.weights and self.order):
            return False
        return usable(self.slopes) and usable(self.pulled)

    @cached_property
    def names(self) -> frozenset[str]:
        """The primitives that occur."""
        return frozenset(each.primitive.name for each in equations_of(self.program))

    @cached_property
    def bound(self) -> float:
        """The relative error allowed: single precision may occur anywhere."""
        equations = [v for e in equations_of(self.program) for v in (*e.inputs, *e.outputs)]
        types = [v.type for v in (*self.program.inputs, *equations) if v.type.inexact]
        single = any(t.dtype.itemsize // (1 + (t.dtype.kind == "c")) < 8 for t in types)
        return 5e-3 if single else CLOSE

    def expect(
        self, what: str, found: Sequence[Any], wanted: Sequence[Any], bound: float | None = None
    ) -> None:
        """Raise unless they agree."""
        limit = self.bound if bound is None else bound
        error = distance(found, wanted)
        if error <= limit:
            return
        one, other = coordinates(found), coordinates(wanted)
        if one.shape == other.shape and np.abs(one - other).max() < limit * LEAST:
            return
        self.fail(f"{what}: relative error {error:.2e}\nfound {found}\nwanted {wanted}")

    def fail(self, text: str) -> None:
        """Raise, with the program."""
        numbers = f"numbers {list(self.numbers)}, seed {self.seed}"
        raise Disagreement(f"{text}\n{numbers}\n{self.program}")


def usable(arrays: Sequence[Any]) -> bool:
    """Whether they are finite and not huge."""
    return all(np.all(np.abs(np.asarray(a)) < LARGEST) for a in arrays)


def check(numbers: Sequence[int], seed: int, native: bool = False) -> bool:
    """Hold one program to the reference; False where its values are not finite.

    seed: of the point; it also says which of the ways is gone. native: machine code too.
    """
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        subject = Subject(numbers, seed)
        try:
            if not subject.finite:
                return False
            if subject.derived:
                _adjoint_identity(subject)
                _differences(subject)
            WAYS[seed % len(WAYS)](subject)
            if native:
                _machine_code(subject)
        except REFUSED:
            return False
        except ValueError as error:
            if "infs or NaNs" not in str(error):  # SciPy's words for what is not finite
                raise
            return False
    return True


# --- for every program ----------------------------------------------------------------------------


def _adjoint_identity(subject: Subject) -> None:
    """<w, Du> = <D*w, u>."""
    pairs = [
        (np.asarray(w), np.asarray(s)) for w, s in zip(subject.weights, subject.slopes, strict=True)
    ]
    size = sum(float(np.abs(w).sum() * np.abs(s).max(initial=0)) for w, s in pairs)
    size += sum(float(np.abs(np.asarray(p)).sum()) for p in subject.pulled)
    one, other = (
        pairing(subject.weights, subject.slopes),
        pairing(subject.pulled, subject.tangents),
    )
    gap = abs(one - other)
    if not gap <= subject.bound * (1 + size):
        subject.fail(f"adjoint identity: {gap:.2e} of {size:.2e}")


def _differences(subject: Subject) -> None:
    """Central differences, by two steps: near a kink, or where they are rounding, they differ.

    At a jump, as where LAPACK chooses a sign, both are far from the value in between.
    """
    if subject.bound > CLOSE or not subject.names.isdisjoint(CONSTANT):
        return
    if not subject.names.isdisjoint(INACCURATE):
        return
    found, other = (_difference(subject, step) for step in STEPS)
    if found is not None and other is not None and distance(found, other) < ROUGH / 4:
        subject.expect("differences", subject.slopes, found, ROUGH)


def _difference(subject: Subject, step: float) -> list[Any] | None:
    """The central difference; None where the value is not in the middle."""
    moved = []
    for sign in (step, -step):
        tangents = iter(subject.tangents)
        point = [
            x + sign * next(tangents) if mark else x
            for x, mark in zip(subject.point, subject.active, strict=True)
        ]
        moved.append(interpreted(subject.program, point))
    middle = [(np.asarray(a) + b) / 2 for a, b in zip(*moved, strict=True)]
    if distance(middle, subject.values) > 1e-3:
        return None
    return [
        (a - b) / (2 * step)
        for a, b, type_ in zip(*moved, subject.program.output_types, strict=True)
        if type_.inexact
    ]


# --- by turns -------------------------------------------------------------------------------------


def _executed(subject: Subject) -> None:
    """The program and its forward mode, simplified and compiled."""
    found = executed(subject.program, subject.point)
    subject.expect("value", found, subject.values)
    if subject.derived:
        found = executed(subject.forward, (*subject.point, *subject.tangents))
        subject.expect("jvp", found, (*subject.values, *subject.slopes))


def _executed_backwards(subject: Subject) -> None:
    """Reverse mode, simplified and compiled."""
    if subject.derived:
        found = executed(subject.reverse, (*subject.point, *subject.weights))
        subject.expect("vjp", found, (*subject.values, *subject.pulled))


def _linear(subject: Subject) -> None:
    """The derivative as a linear map, and its transpose."""
    if not subject.derived:
        return
    split = linearize(subject.program, subject.active)
    check_linear(split.linear, split.linear.inputs[split.residuals :])
    residuals = executed(split.primal, subject.point)[len(subject.program.outputs) :]
    varying = [
        mark
        for mark, type_ in zip(split.varying, subject.program.output_types, strict=True)
        if type_.inexact
    ]
    moving = [slope for slope, varies in zip(subject.slopes, varying, strict=True) if varies]
    found = executed(split.linear, (*residuals, *subject.tangents))
    subject.expect("linearize", found, moving)
    some = [weight for weight, varies in zip(subject.weights, varying, strict=True) if varies]
    back = executed(transpose(split.linear, split.residuals), (*residuals, *some))
    subject.expect("transpose", back, subject.pulled)


def _second(subject: Subject) -> None:
    """Forward over reverse, and reverse over forward: the same second derivative."""
    if not subject.derived or subject.order < 2:
        return
    program, point, u, w = subject.program, subject.point, subject.tangents, subject.weights
    marks, still = subject.active, (False,) * len(subject.weights)
    other = random_like(
        subject.rng, [t for t, mark in zip(program.input_types, marks, strict=True) if mark]
    )
    count, slopes = len(program.outputs), len(w)
    turned = interpreted(jvp(subject.reverse, (*marks, *still)), (*point, *w, *u))
    ahead = turned[-len(u) :]
    ends = [False] * count + [True] * slopes
    over = vjp(subject.forward, (*marks, *(False for _ in u)), ends)
    back = executed(over, (*point, *u, *w))[count + slopes :]
    if not usable(ahead) or not usable(back):
        return
    one, two = pairing(ahead, other), pairing(back, other)
    size = 1 + sum(float(np.abs(np.asarray(part)).sum()) for part in (*ahead, *back))
    if not abs(one - two) <= 10 * subject.bound * size:
        subject.fail(f"second order: {one} and {two}")


def _batch(subject: Subject) -> None:
    """The program over a batch, against one example after another."""
    points = [tuple(each.draw.array(subject.rng) for each in subject.inputs) for _ in range(BATCH)]
    marks = [bool(subject.rng.random() < 0.7) and not t.weak for t in subject.program.input_types]
    if not any(marks):
        return
    columns = [
        np.stack([np.asarray(p[n]) for p in points]) if mark else points[0][n]
        for n, mark in enumerate(marks)
    ]
    rows = [
        tuple(points[k][n] if mark else points[0][n] for n, mark in enumerate(marks))
        for k in range(BATCH)
    ]
    alone = [interpreted(subject.program, row) for row in rows]
    wanted = [
        np.stack([np.asarray(each) for each in column]) for column in zip(*alone, strict=True)
    ]
    subject.expect("batch", executed(vmap(subject.program, marks, BATCH), columns), wanted)


WAYS: tuple[Callable[[Subject], None], ...] = (
    _executed,
    _batch,
    _executed_backwards,
    _linear,
    _batch,
    _second,
)


def _machine_code(subject: Subject) -> None:
    """The program, and its reverse mode, as machine code."""
    derived = [(subject.program, subject.point, subject.values)]
    if subject.derived:
        wanted = (*subject.values, *subject.pulled)
        derived.append((subject.reverse, (*subject.point, *subject.weights), wanted))
    for program, arguments, wanted in derived:
        simple = check_program(simplify(program))
        found = NativeExecutor().compile(simple, Needs(threads=1)).run(*arguments)
        if found is not None and not np.isnan(coordinates(found)).any():
            subject.expect("machine code", found, wanted)
