"""What must hold of a random NumPy program: derivatives and compiled runs against plain NumPy.

The reference is the function itself, run by NumPy on copies, with loops and branches of `ad` as
Python has them. Every program has its value and gradient compared; then one of the other ways to
run it, by turns.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np

import adjoint as ad
from tests.capture.comparing import copied, direction, leaves, pair
from tests.fuzz.checks import Disagreement
from tests.fuzz.numpy_programs import numpy_program, size_of_x

Point = tuple[Any, ...]
STEPS = (1e-5, 1e-6)
CLOSE, ROUGH, LARGEST = 1e-9, 1e-4, 1e6

# A write through what may or may not be a view is refused, and so is a question inside `vmap`.
REFUSED: Final = (ad.errors.AliasingError,)


class PlainLoops:
    """What `ad` offers, as Python means it; what comes out of a loop is no view of what went in."""

    @staticmethod
    def fori_loop(lower: int, upper: int, body: Callable[..., Any], value: Any) -> Any:
        """A `for` loop."""
        for k in range(lower, upper):
            value = body(k, value)
        return copied(np.asarray(value))[()]

    @staticmethod
    def while_loop(test: Callable[..., Any], body: Callable[..., Any], value: Any) -> Any:
        """A `while` loop."""
        while test(value):
            value = body(value)
        return value[0], copied(np.asarray(value[1]))[()]

    @staticmethod
    def cond(test: Any, one: Callable[..., Any], other: Callable[..., Any], *values: Any) -> Any:
        """An `if`."""
        return copied(np.asarray((one if test else other)(*values)))[()]

    @staticmethod
    def scan(body: Callable[..., Any], state: Any, rows: Any) -> tuple[Any, Any]:
        """A loop over rows."""
        made = []
        for row in rows:
            state, new = body(state, row)
            made.append(new)
        return state, np.array(made)


class _Case:
    """A random program at a random point."""

    def __init__(self, numbers: Sequence[int], seed: int) -> None:
        self.numbers, self.seed = list(numbers), seed
        self.program = numpy_program(numbers)
        self.plain, self.function = self.program.function(PlainLoops), self.program.function(ad)
        self.rng = np.random.default_rng(seed)
        self.point = self.draw()

    def draw(self) -> Point:
        """Arguments."""
        x = self.rng.normal(size=size_of_x(self.numbers))
        return x, self.rng.normal(size=(2, 3)), float(self.rng.normal())

    @cached_property
    def value(self) -> float:
        """The reference's value."""
        return float(self.plain(*copied(self.point)))

    @cached_property
    def gradient(self) -> Point:
        """By reverse mode."""
        value, found = ad.value_and_grad(self.function, argnums=(0, 1, 2))(*copied(self.point))
        self.expect("value", value, self.value)
        return found  # type: ignore[no-any-return]

    def expect(self, what: str, found: Any, wanted: Any, bound: float = CLOSE) -> None:
        """Raise unless they agree."""
        for one, other in zip(leaves(found), leaves(wanted), strict=True):
            gap = np.max(np.abs(one - other), initial=0.0)
            if one.shape == other.shape and gap <= bound * (1 + np.max(np.abs(other), initial=0.0)):
                continue
            raise Disagreement(
                f"{what}\nfound {found}\nwanted {wanted}\n{self.program.source}\n"
                f"numbers {self.numbers}, seed {self.seed}, at {self.point}"
            )


def check_numpy(numbers: Sequence[int], seed: int, native: bool = False) -> bool:
    """Hold one program to NumPy; False where it is refused, or has no finite value.

    native: by machine code whatever can be, else by the NumPy executor alone.
    """
    with np.errstate(all="ignore"), warnings.catch_warnings(), ad.config(native=native):
        warnings.simplefilter("ignore")
        case = _Case(numbers, seed)
        if not np.isfinite(case.value):
            return False
        try:
            if all(np.all(np.abs(part) < LARGEST) for part in leaves(case.gradient)):
                _differences(case)
            WAYS[seed % len(WAYS)](case)
        except REFUSED:
            return False
    return True


def _differences(case: _Case) -> None:
    """Along a direction: at kinks and jumps the two sides, or the two steps, differ."""
    u = direction(case.point, case.seed)

    def at(step: float) -> float:
        moved = tuple(a + step * b for a, b in zip(case.point, u, strict=True))
        return float(case.plain(*moved))

    found = []
    for step in STEPS:
        ahead, behind = at(step), at(-step)
        found.append((ahead - behind) / (2 * step))
        found.append((ahead - case.value) / step)
    scale = 1 + abs(found[0])
    if max(found) - min(found) < 1e-2 * scale and abs(found[0] - found[2]) < ROUGH / 4 * scale:
        case.expect("differences", pair(case.gradient, u), found[0], ROUGH)


def _forward(case: _Case) -> None:
    u = direction(case.point, case.seed)
    value, slope = ad.jvp(case.function, copied(case.point), u)
    case.expect("value beside the jvp", value, case.value)
    case.expect("jvp", slope, pair(case.gradient, u))


def _compiled(case: _Case) -> None:
    """One compiled function at several points, whose values choose other branches."""
    compiled = ad.jit(case.function)
    for point in (case.point, case.draw(), case.draw(), case.point):
        case.expect("jit", compiled(*copied(point)), case.plain(*copied(point)))


def _compiled_gradient(case: _Case) -> None:
    """The gradient as a compiled function."""
    gradient = ad.grad(case.function, argnums=(0, 1, 2))
    compiled = ad.jit(gradient)
    other = case.draw()
    case.expect("jit of the gradient", compiled(*copied(case.point)), case.gradient)
    case.expect("jit of the gradient", compiled(*copied(other)), gradient(*copied(other)))


def _batch(case: _Case) -> None:
    """Over a batch, against one example after another."""
    if not case.program.batched:
        return _forward(case)
    points = [case.point, case.draw(), case.draw()]
    columns = [np.stack([np.asarray(p[n]) for p in points]) for n in (0, 2)]
    found = ad.vmap(case.function, in_axes=(0, None, 0))(
        columns[0], copied(case.point[1]), columns[1]
    )
    wanted = [case.plain(*copied((p[0], case.point[1], p[2]))) for p in points]
    case.expect("vmap", found, np.array(wanted))
    return None


def _second(case: _Case) -> None:
    """Forward over reverse along two directions, either way round."""
    u, v = direction(case.point, case.seed), direction(case.point, case.seed + 1)
    gradient = ad.grad(case.function, argnums=(0, 1, 2))
    one = ad.jvp(gradient, copied(case.point), u)[1]
    other = ad.jvp(gradient, copied(case.point), v)[1]
    case.expect("second order", pair(one, v), pair(other, u))


def _sparse(case: _Case) -> None:
    """The sparse Hessian times a direction, at two points with one pattern, or with another."""
    hessian = ad.hessian(case.function, argnums=(0, 1, 2), sparse=True)
    gradient = ad.grad(case.function, argnums=(0, 1, 2))
    for point in (case.point, case.draw()):
        u = direction(point, case.seed)
        wanted = ad.jvp(gradient, copied(point), u)[1]
        if not all(np.all(np.abs(part) < LARGEST) for part in leaves(wanted)):
            return
        columns = [np.reshape(part, -1) for part in u]
        found = tuple(
            np.reshape(sum(block @ part for block, part in zip(row, columns, strict=True)), shape)
            for row, shape in zip(hessian(*copied(point)), map(np.shape, point), strict=True)
        )
        case.expect("sparse Hessian", found, wanted)


WAYS: tuple[Callable[[_Case], None], ...] = (
    *(_forward, _compiled, _batch, _compiled_gradient, _compiled, _second, _sparse),
)
