"""Machine code found on disk by the program: its own, never another's, and nothing is lowered."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import adjoint as ad
from adjoint.base.arrays import array_type
from adjoint.base.errors import NativeUnavailableError
from adjoint.executors import Needs
from adjoint.executors.disk import sources
from adjoint.executors.disk.object_cache import Counts, object_cache
from adjoint.executors.native.executor import NativeExecutor
from adjoint.executors.native.lowering import kept, lower
from adjoint.executors.native.lowering.kept import packed, unpacked
from adjoint.executors.native.lowering.lowered import Calling
from adjoint.executors.native.machine.llvm import machine
from adjoint.executors.native.preparation.segments import OF_SMALL_ARRAYS, cut
from adjoint.executors.native.running.executable import NativeExecutable
from adjoint.primitives import UFUNCS
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.structure.gathering import GATHER
from adjoint.program import Builder, Program, operation
from tests.executors.disk.test_contents import X, held, program
from tests.executors.native.loop_programs import random_loop
from tests.executors.native.random_programs import random_program

RNG = np.random.default_rng(8)
MATRIX = RNG.random((100, 100))
LARGE = array_type((100, 100), np.dtype(float))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache of its own; the sources may have been written just now."""
    monkeypatch.setattr(kept, "known_sources", lambda rooms: b"sources")
    monkeypatch.setattr(kept, "are_unchanged", lambda: True)
    with ad.config(cache=tmp_path / "kept", native=True):
        yield tmp_path / "kept"


@pytest.fixture
def lowerings(monkeypatch: pytest.MonkeyPatch) -> list[Program]:
    """What is lowered from now on."""
    programs: list[Program] = []
    lowered = lower.lowered

    def listening(program: Program, needs: Needs) -> Any:
        programs.append(program)
        return lowered(program, needs)

    monkeypatch.setattr(lower, "lowered", listening)
    return programs


def long_program(count: int) -> Program:
    """One that is cut into segments, of which some are equal."""
    builder = Builder()
    x = builder.input(X)
    ufuncs = (np.sin, np.cos, np.tanh, np.negative)
    for number in range(count):
        (x,) = builder.emit(operation(UFUNCS[ufuncs[number % 4 if number < 300 else 0]]), (x,))
    return builder.build([x])


def looked_up() -> Program:
    """One that holds a table, and reads it at an index."""
    builder = Builder()
    index = builder.input(array_type((2,), np.dtype(np.int64)))
    (table,) = held(np.linspace(0, 1, 5)).equations
    (array,) = builder.emit(table.operation, ())
    found = bind(GATHER, Expression(builder, array), Expression(builder, index))
    return builder.build([found.atom])


def products(a: Any, b: Any) -> Any:
    return np.tanh(np.tanh(a + b) - a), np.sqrt(a * a + b * b), a


PROGRAMS: dict[str, tuple[Callable[[], Program], list[Any]]] = {
    "a number": (lambda: program(lambda x: x * 2.0, array_type((), np.dtype(float))), [1.5]),
    "results that are lent": (
        lambda: program(products, LARGE, LARGE),
        [*RNG.random((2, 100, 100))],
    ),
    "segments": (lambda: long_program(700), [RNG.random(3)]),
    "a table": (looked_up, [np.array([4, 1])]),
    **{f"loop {n}": (lambda n=n: random_loop(n)[0], random_loop(n)[1]) for n in range(4)},
    **{
        f"random {n}": (lambda n=n: random_program(n, False)[0], random_program(n, False)[1])
        for n in (0, 2, 3)
    },
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_lowered_twice(name: str, lowerings: list[Program]) -> None:
    make, arguments = PROGRAMS[name]
    first = NativeExecutor().compile(make())
    assert isinstance(first, NativeExecutable)
    expected = first.run(*arguments)
    counts, count = (Counts.loaded, Counts.compiled), len(lowerings)
    assert count
    again = NativeExecutor().compile(make())
    assert isinstance(again, NativeExecutable)
    assert len(lowerings) == count
    assert (Counts.loaded, Counts.compiled) == (counts[0] + 1, counts[1])
    assert again.native.code is not first.native.code
    assert again.native.calling == first.native.calling
    assert again.native.lent == first.native.lent
    found = again.run(*arguments)
    assert (expected is None) == (found is None)
    for one, other in zip(expected or (), found or (), strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))
    assert again.native.ir() == first.native.ir()
    assert again.native.assembly() == first.native.assembly()
    assert again.report().codes[0].regions == first.report().codes[0].regions


def test_the_programs_are_what_they_should_be() -> None:
    lent = NativeExecutor().compile(PROGRAMS["results that are lent"][0]())
    assert isinstance(lent, NativeExecutable)
    assert len(lent.native.lent) == 3
    assert len(long_program(700)) > OF_SMALL_ARRAYS.cut
    assert cut(long_program(700)) is not None


def test_pieces_of_a_program_are_found_too(lowerings: list[Program]) -> None:
    def function(x: Any) -> Any:
        return np.sum(np.exp(np.sin(np.partition(np.cos(x) + np.exp(x), 2)) + x))

    x = np.linspace(0.5, 1.0, 5)
    values = []
    for wanted in (2, 2):
        ad.cache_clear()
        values.append(ad.jit(function)(x))
        assert len(lowerings) == wanted
    assert values[0] == values[1]


def test_what_is_found_looks_at_its_arguments() -> None:
    made = program(lambda x: np.sin(x) * 2.0, X)
    for _ in range(2):
        run = NativeExecutor().compile(made).run
        assert run(np.ones(3)) is not None
        for other in (np.ones(4), np.ones(3, "f4"), np.ones((3, 1)), 1.0, None, np.ones(6)[::2]):
            assert run(other) is None
        assert run() is None
        assert run(np.ones(3), np.ones(3)) is None


# --- keys -----------------------------------------------------------------------------------------

NEEDS = [
    Needs(),
    Needs(watched=(0,)),
    Needs(hard=True),
    Needs(still=True),
    Needs(precise=True),
    *(Needs(threads=count) for count in (1, 2, 3)),
]


def test_all_that_is_asked_is_in_the_key() -> None:
    keys = {kept._key(long_program(3), needs) for needs in NEEDS}
    assert None not in keys
    assert len(keys) == len(NEEDS)
    assert len(Needs._fields) == 6  # of a new one, there is to be an example here
    assert kept._key(long_program(3), Needs(timed=True)) is None
    assert kept._key(long_program(3), Needs(threads=object())) is None  # type: ignore[arg-type]


def spoilt(name: str) -> Any:
    raise ValueError(f"{name}.__spec__ is not set")


def test_all_that_is_around_is_in_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    def key() -> bytes | None:
        return kept._key(long_program(3), Needs())

    keys = [key(), kept._key(long_program(4), Needs())]
    changes: list[tuple[Any, str, Any]] = [
        (kept, "known_sources", lambda rooms: b"others"),
        (kept, "cores", lambda: 77),
        (np, "__version__", "2.77"),
        (sources.sys, "version", "3.77"),
        (sources, "EXTENSION_SUFFIXES", [".cp377.so"]),
        (sources, "unchanged_content", lambda path: b"SciPy of another version"),
        (os, "confstr", lambda name: "a C library of another version"),
        *((machine(), "identity", (*machine().identity[:n], "another")) for n in range(5)),
    ]
    for owner, name, value in changes:
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, value)
            sources.surroundings.cache_clear()
            keys.append(key())
    sources.surroundings.cache_clear()
    assert key() == keys[0]
    assert None not in keys
    assert len(set(keys)) == len(keys)
    for name, function in (("unchanged_content", lambda path: None), ("find_spec", spoilt)):
        with monkeypatch.context() as patch:
            patch.setattr(sources, name, function)
            sources.surroundings.cache_clear()
            assert key() is None
    sources.surroundings.cache_clear()
    monkeypatch.setattr(kept, "known_sources", lambda rooms: None)
    assert key() is None


def test_nothing_is_kept_without_a_key(
    folder: Path, monkeypatch: pytest.MonkeyPatch, lowerings: list[Program]
) -> None:
    def entries() -> int:
        return len([*folder.iterdir()])

    NativeExecutor().compile(long_program(5))
    both = entries()
    assert both == 3  # the folder's key, the program, and its object
    NativeExecutor().compile(long_program(6), Needs(timed=True))
    assert entries() == both + 1
    monkeypatch.setattr(kept, "are_unchanged", lambda: False)
    NativeExecutor().compile(long_program(7))
    assert entries() == both + 2
    monkeypatch.setattr(kept, "known_sources", lambda rooms: None)
    count = len(lowerings)
    NativeExecutor().compile(long_program(5))
    assert len(lowerings) == count + 1
    with ad.config(cache=False):
        NativeExecutor().compile(long_program(8))
    assert entries() == both + 2


# --- what is not as it should be ------------------------------------------------------------------


def test_an_object_that_has_gone_is_made_anew(folder: Path, lowerings: list[Program]) -> None:
    x = RNG.random(3)
    expected = NativeExecutor().compile(long_program(5)).run(x)
    for keep in (lambda size: size < 200, lambda size: size >= 200, lambda size: False):
        for path in folder.iterdir():
            if path.name != "key" and not keep(path.stat().st_size):
                path.unlink()
        for more in (1, 0):
            count = len(lowerings)
            found = NativeExecutor().compile(long_program(5)).run(x)
            assert len(lowerings) == count + more
            np.testing.assert_array_equal(found, expected)
    shutil.rmtree(folder)
    NativeExecutor().compile(long_program(5))
    assert NativeExecutor().compile(long_program(5)).run(x) is not None


def test_entries_that_somebody_has_changed(folder: Path, lowerings: list[Program]) -> None:
    x = RNG.random(3)
    NativeExecutor().compile(long_program(5))
    NativeExecutor().compile(long_program(6))
    small = [p for p in folder.iterdir() if p.name != "key" and p.stat().st_size < 200]
    one, other = (path.read_bytes() for path in small)
    for content in (other, one[:-1], one + b"\0", one[:40], b"", bytes(len(one))):
        small[0].write_bytes(content)
        small[1].write_bytes(content if content != other else one)  # each other's
        for count in (5, 6):
            found = NativeExecutor().compile(long_program(count)).run(x)
            with ad.config(cache=False):
                expected = NativeExecutor().compile(long_program(count)).run(x)
            np.testing.assert_array_equal(found, expected)
    assert len(lowerings) == 2 + 6 * 2 * 2


def test_an_object_that_wants_what_is_not_there(
    monkeypatch: pytest.MonkeyPatch, lowerings: list[Program]
) -> None:
    """As BLAS with integers of another size, after SciPy has been removed."""
    made = program(lambda x: np.sin(x), array_type((), np.dtype(float)))
    NativeExecutor().compile(made)
    find = type(machine()).find
    monkeypatch.setattr(
        type(machine()), "find", lambda self, name: None if name == "sin" else find(self, name)
    )
    monkeypatch.setattr(lower, "lowered", lambda program, needs: None)
    assert kept.find(made, Needs(), lower.lowered) is None
    monkeypatch.undo()


def test_where_there_is_no_llvm_lowering_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> Any:
        raise NativeUnavailableError("there is no LLVM here")

    monkeypatch.setattr(kept, "machine", none)
    assert kept.find(long_program(5), Needs(), lower.lowered) is None


def test_entries_are_read_strictly() -> None:
    made = program(products, LARGE, LARGE)
    key = bytes(range(32))
    for calling in (Calling(0, 0, ()), Calling(64, 8, (0,)), Calling(1 << 40, 9, (0, 1, 2))):
        content = packed(key, calling)
        assert unpacked(content, made) == (key, calling)
        for length in range(len(content)):
            assert unpacked(content[:length], made) is None
        assert unpacked(content + bytes(8), made) is None
    wrong = [(3,), (1, 0), (0, 0), (0, 1, 2, 3), (2**63,)]
    assert all(unpacked(packed(key, Calling(0, 0, lent)), made) is None for lent in wrong)
    for calling in (Calling(1 << 48, 0, ()), Calling(0, 1 << 63, ())):
        assert unpacked(packed(key, calling), made) is None
    number = program(lambda x: x * 2.0, array_type((), np.dtype(float)))
    assert unpacked(packed(key, Calling(0, 0, (0,))), number) is None  # which cannot be lent


def test_settings_that_change_between_calls(tmp_path: Path, lowerings: list[Program]) -> None:
    x = np.linspace(-1, 1, 50)
    function = ad.grad(lambda x: np.sum(np.exp(np.sin(x)) * x))
    expected = function(x)
    wanted = len(lowerings)
    for chosen, more in (
        ({"cache": tmp_path / "a"}, 1),
        ({"cache": tmp_path / "a"}, 0),
        ({"cache": tmp_path / "b"}, 1),
        ({"cache": False}, 1),
        ({"cache": tmp_path / "a", "threads": 1}, 1),
        ({"cache": tmp_path / "a", "threads": 1}, 0),
        ({"cache": tmp_path / "a", "precise": True}, 0),  # which leaves the functions to NumPy
        ({"cache": tmp_path / "a", "strong_zeros": False}, 1),
        ({"cache": tmp_path / "a"}, 0),
    ):
        ad.cache_clear()
        with ad.config(**chosen):
            found = ad.jit(function)(x)
        np.testing.assert_allclose(found, expected, rtol=1e-13)
        if "precise" in chosen:
            wanted = len(lowerings)
        wanted += more
        assert len(lowerings) == wanted, chosen
    assert object_cache() is not None
