"""Ten thousand random programs, in shards, half of which are slow tests.

`python -m tests.fuzz` runs as many as are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as start
from hypothesis import strategies as st

import adjoint as ad
from adjoint.primitives.declaration import PRIMITIVES
from tests.fuzz.checks import check
from tests.fuzz.maker import Choices, made, table
from tests.fuzz.numpy_checks import check_numpy
from tests.fuzz.numpy_programs import numpy_program
from tests.sampling import one_in

SHARDS, EACH = 20, 500  # of each shard, one half are primitives' and one half NumPy's
NATIVE = 37  # one in so many programs becomes machine code

programs = st.lists(st.integers(0, 2**16 - 1), min_size=4, max_size=48)
"""Random well-typed programs, as the choices that make them."""


def many(shard: int, holds: Callable[[list[int], int, bool], Any]) -> None:
    """Hold half a shard of programs to the reference."""

    @start(shard)
    @settings(
        max_examples=EACH // 2,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(programs)
    def every_way_agrees(numbers: list[int]) -> None:
        seed = crc32(repr(numbers).encode())  # all seeds alike, where hypothesis prefers zero
        holds(numbers, seed, seed % NATIVE == 0)

    every_way_agrees()


@pytest.mark.parametrize("shard", one_in(2, range(SHARDS)))
def test_random_programs(shard: int) -> None:
    many(shard, check)


@pytest.mark.parametrize("shard", one_in(2, range(SHARDS)))
def test_random_numpy_programs(shard: int) -> None:
    many(shard, check_numpy)


# --- the programs are what they should be ---------------------------------------------------------


def test_the_whole_table_is_used() -> None:
    numpys, scipys = table()
    assert len(numpys) > 400
    assert len(scipys) > 100


def test_choices_end_in_zeros() -> None:
    choices = Choices([7])
    assert (choices.below(5), choices.below(5), choices.left) == (2, 0, False)


def test_loops_and_branches_occur() -> None:
    names = {
        equation.primitive.name
        for kind in range(4)
        for equation in made([3, kind, 1, 2, 3, 4, 5, 6, 7])[0].equations
    }
    assert {"scan", "while", "switch", "checkpoint"} <= names


def test_numpy_programs_view_write_loop_and_branch() -> None:
    text = "".join(numpy_program(_numbers(seed)).source for seed in range(300))
    for part in (
        *("[::-1]", ".T[...]", ".reshape(", "np.add.at(", ".sort(", ".fill(", "out=", "where="),
        *(".flat[", "np.put(", "np.copyto(", "[[0, 1]] = ", "for k in", "for row in", "while "),
        *("if ", "else:", "ad.cond(", "ad.scan(", "ad.fori_loop(", "ad.while_loop(", "helper0("),
    ):
        assert part in text, part


def _numbers(seed: int) -> list[int]:
    return np.random.default_rng(seed).integers(0, 2**16, 30).tolist()


# --- faults are found -----------------------------------------------------------------------------


def held(holds: Callable[[list[int], int], Any], seeds: Iterable[int]) -> None:
    """Hold the programs of some seeds to the reference."""
    for seed in seeds:
        holds(_numbers(seed), seed)


@pytest.mark.parametrize("holds", [check, check_numpy])
def test_a_planted_fault_is_found(
    holds: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    rule = PRIMITIVES["sin"].derivative
    monkeypatch.setattr(
        PRIMITIVES["sin"],
        "derivative",
        lambda *args, **params: tuple(1.001 * each for each in rule(*args, **params)),
    )
    with pytest.raises(AssertionError, match="differences"):
        held(holds, range(40))


def test_a_planted_fault_of_a_batch_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    ad.cache_clear()  # loops remember what the rules of other tests have given
    monkeypatch.setattr(PRIMITIVES["sin"], "batch", lambda operands, *_: np.cos(operands[0]))
    with pytest.raises(AssertionError, match="batch"):
        held(check, range(1, 60, 3))
