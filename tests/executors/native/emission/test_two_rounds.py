"""Loops of two rounds, whose instructions stand side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.executors.native.emission import writer
from adjoint.executors.native.machine.interleaving import access_of, side_by_side
from adjoint.executors.native.machine.llvm import machine

UNARY: tuple[Callable[[Any], Any], ...] = (
    np.sin, np.exp, np.tanh, np.abs, lambda x: 1 / (1 + np.exp(-x)), lambda x: np.sqrt(x * x + 1),
    lambda x: np.where(x > 0, x, 0.1 * x), lambda x: x[::-1] * 0.5, lambda x: np.roll(x, 1),
    lambda x: x - np.mean(x), lambda x: np.maximum(x, 0.3), lambda x: np.cumsum(x) * 0.1,
)  # fmt: skip


def recurrence(seed: int) -> Callable[[Any, Any], Any]:
    """Some steps on two carried arrays and the sum of numbers of theirs; sums and writes within."""
    random = np.random.default_rng(seed)
    chosen = [UNARY[i] for i in random.integers(0, len(UNARY), 5)]
    scales = random.uniform(-0.5, 0.5, 6)
    rounds = int(random.integers(2, 9))
    kind = int(random.integers(0, 3))

    def step(state: Any, weights: Any) -> Any:
        u, v, total = state
        first = chosen[0](scales[0] * u * weights + v)
        second = chosen[1](first) * chosen[2](scales[1] * v + weights)
        total = total + np.sum(second * first) * scales[2]
        if kind == 1:
            u = np.concatenate([u[:3] * scales[3], u[3:] + first[:-3]])
        else:
            u = u * scales[3] + chosen[3](second)
        v = scales[4] * v + scales[5] * chosen[4](u) / (1 + total * total)
        return u, v, total

    def function(u: Any, weights: Any) -> Any:
        state = (u, weights * 0.5, 0.0)
        if kind == 2:
            for _ in range(rounds):
                state = step(state, weights)
        else:
            state = ad.fori_loop(0, rounds, lambda _, state: step(state, weights), state)
        u, v, total = state
        return np.sum(u * np.cos(v)) + total

    return function


def results(function: Any, arguments: Sequence[Any]) -> list[Any]:
    ad.cache_clear()  # what has been compiled one way would be run again in the other
    with ad.config(native=True, cache=False):
        value, gradients = ad.jit(ad.value_and_grad(function, argnums=(0, 1)))(*arguments)
    return [np.asarray(value), *map(np.asarray, gradients)]


@pytest.mark.parametrize("seed", range(16))
def test_the_bits_are_those_of_one_round_after_the_other(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(seed)
    lanes = machine().native_lanes(np.dtype(float))
    size = int(random.integers(lanes + 1, 2 * lanes + 1))
    arguments = [random.uniform(-1, 1, size), random.uniform(0.2, 1, size)]
    woven = []

    def counted(first: Sequence[str], second: Sequence[str]) -> list[str] | None:
        both = side_by_side(first, second)
        woven.append(both)
        assert both is None or sorted(both) == sorted([*first, *second])
        return both

    monkeypatch.setattr(writer, "side_by_side", counted)
    together = results(recurrence(seed), arguments)
    assert woven
    left: list[None] = []
    monkeypatch.setattr(writer, "side_by_side", lambda first, second: left.append(None))
    apart = results(recurrence(seed), arguments)
    assert len(left) == len(woven)
    for one, other in zip(together, apart, strict=True):
        np.testing.assert_array_equal(one, other)
    with ad.config(native=False):
        value, gradients = ad.jit(ad.value_and_grad(recurrence(seed), argnums=(0, 1)))(*arguments)
    for one, other in zip(together, [value, *gradients], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)


ADD = "  %v{} = fadd double {}, {}"


def test_results_and_memory_keep_their_order() -> None:
    first = [
        "  %v1 = load double, ptr %p, align 8, !tbaa !4",
        ADD.format(2, "%v1", "%v1"),
        "  store double %v2, ptr %q, align 8, !tbaa !6",
        "  store double %v2, ptr %s9, align 8",
    ]
    second = [
        "  %v3 = load double, ptr %r, align 8, !tbaa !6",
        ADD.format(4, "%v2", "%v3"),
        "  %v5 = load double, ptr %s9, align 8",
        "  store double %v4, ptr %p, align 8, !tbaa !4",
    ]
    both = side_by_side(first, second)
    assert both is not None
    assert both.index(second[0]) > both.index(first[2])
    assert both.index(second[2]) > both.index(first[3])
    assert [line for line in both if line in second] == second


def test_free_instructions_take_turns() -> None:
    first = [ADD.format(k, "%a", "%b") for k in range(4)]
    second = [ADD.format(k, "%a", "%b") for k in range(4, 8)]
    both = side_by_side(first, second)
    assert both == [line for pair in zip(first, second, strict=True) for line in pair]


@pytest.mark.parametrize(
    "line",
    [
        "  br label %x",
        "x:",
        "  %v1 = phi double [ 0.0, %a ]",
        "  call void @work(ptr %p)",
        '  call void asm sideeffect "nop", ""()',
        "  %v1 = cmpxchg ptr %p, i32 0, i32 1 seq_cst seq_cst",
        "  fence seq_cst",
        "  call void @llvm.memcpy.p0.p0.i64(ptr %p, ptr %q, i64 8, i1 false)",
        "  %v1 = load volatile double, ptr %p",
        "  %v1 = load atomic double, ptr %p seq_cst, align 8",
        "  store atomic double %v1, ptr %p release, align 8",
    ],
)
def test_what_may_do_anything_is_left_alone(line: str) -> None:
    free = [ADD.format(7, "%a", "%b")]
    assert side_by_side([line], free) is None
    assert side_by_side(free, [line]) is None


def test_what_is_known_of_memory() -> None:
    gather = "  %v1 = call <8 x double> @llvm.masked.gather.v8f64.v8p0(<8 x ptr> %p, i32 8)"
    assert access_of(gather) == ("", False)
    assert access_of("  store double %v1, ptr %s4, align 8") == ("%s4", True)
    assert access_of("  store double %v1, ptr %v4, align 8") == ("", True)
    # A pointer to the stack may be what is written, which says nothing of where.
    assert access_of("  store ptr %s4, ptr %s5, align 8") == ("%s5", True)
    assert access_of("  store ptr %s4, ptr %v5, align 8") == ("", True)
    assert access_of("  %v1 = load double, ptr %v2, align 8, !invariant.load !0") is None
    assert (
        access_of("  %v1 = call double @llvm.fmuladd.f64(double %a, double %b, double %c)") is None
    )
