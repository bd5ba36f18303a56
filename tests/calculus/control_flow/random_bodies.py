"""Random bodies of loops: loops and branches in one another, derivatives inside, writes.

    python -m tests.calculus.control_flow.random_bodies 0 400

holds that many against Python's loops, in every mode.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import adjoint as ad
from tests.calculus.control_flow.comparing import check_modes

Body = Callable[[Any, Any, Any, Any], Any]  # (language, state, argument, round) -> state
POINT = np.array([0.6, -0.35])


class Language(NamedTuple):
    """Loops and branches, of the library or Python's own."""

    until: Callable[..., Any]
    count: Callable[..., Any]
    scan: Callable[..., Any]
    cond: Callable[..., Any]


def _until(test: Any, body: Any, x: Any) -> Any:
    while test(x):
        x = body(x)
    return x


def _count(lower: int, upper: int, body: Any, x: Any) -> Any:
    for i in range(lower, upper):
        x = body(i, x)
    return x


def _scan(body: Any, x: Any, rows: Any, reverse: bool = False) -> Any:
    made = []
    for row in rows[::-1] if reverse else rows:
        x, new = body(x, row)
        made.append(new)
    return x, np.stack(made[::-1] if reverse else made)


def _cond(predicate: Any, if_true: Any, if_false: Any, *operands: Any) -> Any:
    return if_true(*operands) if predicate else if_false(*operands)


OURS = Language(ad.while_loop, ad.fori_loop, ad.scan, ad.cond)
PYTHON = Language(_until, _count, _scan, _cond)


def checkpointed(schedule: str) -> Language:
    """The library's loops, of which few states are kept."""
    return OURS._replace(
        until=lambda test, body, x: ad.while_loop(test, body, x, checkpoint=schedule),
        count=lambda low, up, body, x: ad.fori_loop(low, up, body, x, checkpoint=schedule),
    )


def random_body(generator: np.random.Generator, depth: int) -> Body:
    """A body that keeps values near one."""
    weight, shift = generator.normal(size=(2, 2)) / 3, generator.normal(size=2) / 2
    plain: list[Body] = [
        lambda loops, s, x, i: np.sin(weight @ s) + x,
        lambda loops, s, x, i: np.tanh(s * x) + shift * i / 5,
        lambda loops, s, x, i: s * 0.5 + np.cos(x) * shift,
        lambda loops, s, x, i: s[::-1] / (1.5 + x * x),
    ]
    if not depth:
        return plain[generator.integers(0, len(plain))]
    one, other = (random_body(generator, depth - 1) for _ in range(2))
    rounds, reverse = int(generator.integers(0, 4)), bool(generator.integers(0, 2))
    nested = [
        lambda loops, s, x, i: one(loops, other(loops, s, x, i), x, i),
        lambda loops, s, x, i: np.where(s > x, one(loops, s, x, i), other(loops, s, x, i)),
        _branch(one, other, shift),
        _counted(one, rounds),
        _until_small(one, other),
        _over_rows(one, shift, reverse),
        _written(one),
        _descending(one),
    ]
    return (plain + nested)[generator.integers(0, len(plain) + len(nested))]


def _branch(one: Body, other: Body, shift: Any) -> Body:
    def body(loops: Any, s: Any, x: Any, i: Any) -> Any:
        sides = (lambda s: one(loops, s, x, i)), (lambda s: other(loops, s, x, i))
        return loops.cond(np.sum(s * shift) > 0.1, *sides, s)

    return body


def _counted(one: Body, rounds: int) -> Body:
    def body(loops: Any, s: Any, x: Any, i: Any) -> Any:
        return loops.count(0, rounds, lambda j, t: one(loops, t, s, j) + 0.1 * x, s * 0.5)

    return body


def _until_small(one: Body, other: Body) -> Body:
    def body(loops: Any, s: Any, x: Any, i: Any) -> Any:
        def step(state: Any) -> Any:
            t, k = state
            return np.tanh(one(loops, t, x, i)) * 0.7, k + 1

        test = lambda state: (np.sum(state[0] ** 2) > 0.2) & (state[1] < 4)  # noqa: E731
        return loops.until(test, step, (s, 0))[0] + other(loops, s, x, i)

    return body


def _over_rows(one: Body, shift: Any, reverse: bool) -> Body:
    def body(loops: Any, s: Any, x: Any, i: Any) -> Any:
        rows = np.outer(np.arange(1.0, 4.0), s) * shift
        step = lambda t, r: (np.tanh(one(loops, t, r, i)), t * r + x)  # noqa: E731
        last, made = loops.scan(step, s, rows, reverse=reverse)
        return last + np.sum(made, axis=0) * 0.3

    return body


def _written(one: Body) -> Body:
    def body(loops: Any, s: Any, x: Any, i: Any) -> Any:
        def step(j: Any, u: Any) -> Any:
            u = u.copy()
            u[j] = np.sin(one(loops, u[j - 1], x, j))
            return u

        return np.mean(loops.count(0, 3, step, np.ones((3, 2)) * s), axis=0)

    return body


def _descending(one: Body) -> Body:
    def body(loops: Any, s: Any, x: Any, i: Any) -> Any:
        return s - 0.1 * ad.grad(lambda z: np.sum(np.tanh(one(loops, z, x, i)) ** 2))(s)

    return body


def check_seed(seed: int) -> None:
    """One random program, with a tape or with checkpoints, against Python's loops in all modes."""
    generator = np.random.default_rng(seed)
    body = random_body(generator, int(generator.integers(1, 4)))
    schedule = [None, None, "sqrt", "log", 1, 3][generator.integers(0, 6)]
    ours = OURS if schedule is None else checkpointed(schedule)

    def function(loops: Language) -> Callable[[Any], Any]:
        return lambda x: np.sum(body(loops, x * 1.0, x, 1) ** 2)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_modes(function(ours), function(PYTHON), POINT, 1e-9)


if __name__ == "__main__":
    first, last = map(int, sys.argv[1:])
    for number in range(first, last):
        check_seed(number)
