"""The native executor around machine code: whole programs, programs in pieces, misses."""

from __future__ import annotations

import gc
import sys
import weakref
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjoint.base.arrays import array_type
from adjoint.base.errors import NativeUnavailableError
from adjoint.executors import NativeExecutor, Needs, NumpyExecutor
from adjoint.executors.arena import ARENA
from adjoint.executors.attempt import PATIENCE, Attempt, conforming
from adjoint.executors.interface import PLAIN, Executable
from adjoint.executors.native.preparation.partition import partition
from adjoint.executors.native.running import executable as module
from adjoint.executors.native.running.mixed import crossing_bytes
from adjoint.optimise import simplify
from adjoint.primitives.calls.linear import LINEAR_CALL, LinearFunction
from adjoint.primitives.elementwise.conversion import PYTHON_NUMBER
from adjoint.primitives.expression import bind
from adjoint.primitives.structure.moving import sum_axes
from adjoint.program import Builder, Literal, Program
from adjoint.transforms import vjp
from tests.building import f8, program_of
from tests.executors.native.fake import FakeLowering, fake_bind
from tests.transforms.test_random_programs import ACTIVE, INDEX, programs, quickly

X = np.array([0.5, 1.0, 2.0])


def compiled(program: Program, **needs: Any) -> Executable:
    executable = NativeExecutor().compile(program, Needs(**needs))
    assert executable.pays
    return executable


def wave(x: Any) -> Any:
    return np.exp(np.sin(x)) * x


def in_pieces(x: Any) -> Any:
    y = np.tanh(wave(x))
    return np.exp(y) * y


# --- whole programs -------------------------------------------------------------------------------


def test_a_whole_program_is_its_machine_code(fake: FakeLowering) -> None:
    executable = compiled(program_of(wave, f8(3)), watched=(0,))
    (made,) = fake.made
    assert executable.run == made.function
    assert executable.guarded
    assert made.needs.watched == (0,)
    assert made.needs.threads is None
    np.testing.assert_array_equal(executable.run(X)[0], np.exp(np.sin(X)) * X)  # type: ignore[index]


@pytest.mark.parametrize(
    "argument",
    [
        np.repeat(X, 2)[::2],
        X[::-1],
        np.frombuffer(b"0" + X.tobytes(), offset=1),
        X.view(type("Own", (np.ndarray,), {})),
        X.view(np.dtype(float, metadata={"a": 1})),
    ],
)
def test_unusual_arrays_are_made_usual(fake: FakeLowering, argument: Any) -> None:
    program = program_of(wave, f8(3))
    attempt = Attempt(program.input_types, compiled(program))
    assert attempt.run(argument) is None
    (result,) = attempt.run_conforming([argument])  # type: ignore[misc]
    np.testing.assert_array_equal(result, wave(np.array(argument)))
    assert fake.hits == 1
    assert fake.runs == 2
    assert attempt.misses == 0


def test_what_is_unusual_in_the_numbers_is_a_miss(fake: FakeLowering) -> None:
    program = program_of(np.log, f8(3))
    attempt = Attempt(program.input_types, compiled(program))
    assert attempt.run(np.zeros(3)) is None
    assert attempt.run_conforming([np.zeros(3)]) is None
    assert attempt.misses == 1
    assert fake.runs == 1  # no second attempt: the arguments were as they should be


def test_types_of_numbers() -> None:
    weak, strong = array_type((), np.dtype(float), True), f8()
    types = [weak, strong, strong, strong, array_type((), np.dtype(bool))]
    given_ = [np.float64(1), 1.5, np.array(2.5), np.float64(3), True]
    found = conforming(types, given_)
    assert found == [1.0, 1.5, 2.5, 3.0, True]
    assert [type(each) for each in found] == [float, *[np.float64] * 3, np.bool]
    assert conforming(types, found) is None
    wide = array_type((2,), np.dtype("q"))
    (changed,) = conforming([wide], [np.zeros(2, "q")]) or [np.zeros(2, "l")]
    assert changed.dtype.str == "<i8" if sys.byteorder == "little" else ">i8"


def test_memory_is_handed_out_and_taken_back(fake: FakeLowering) -> None:
    fake.lends = True
    executable = compiled(program_of(wave, f8(3)))
    first, second = executable.run(X), executable.run(X + 1)
    assert first is not None
    assert second is not None
    np.testing.assert_array_equal(first[0], wave(X))
    np.testing.assert_array_equal(second[0], wave(X + 1))
    before = ARENA.kept
    executable.run(X)
    assert ARENA.kept == before


def test_constants_are_bound(fake: FakeLowering) -> None:
    program = program_of(lambda x, y, s: np.exp(x) * y + s, f8(3), f8(3), f8())
    for lends in (False, True):
        fake.lends = lends
        executable = compiled(program)
        call = executable.bind([np.repeat(X, 2)[::2], 1.5])
        np.testing.assert_array_equal(call(X)[0], np.exp(X) * X + 1.5)  # type: ignore[index]
        assert executable.bind([]) is executable.run


def test_no_machine_code_for_what_gains_nothing(fake: FakeLowering) -> None:
    program = program_of(wave, f8(3))

    def is_numpys(program: Program, needs: Needs = PLAIN) -> None:
        executable = NativeExecutor().compile(program, needs)
        assert not executable.pays
        assert not executable.guarded
        np.testing.assert_array_equal(
            executable.run(X)[0], NumpyExecutor().compile(program).run(X)[0]
        )  # type: ignore[index]

    fake.cannot = frozenset({"exp", "sin", "multiply"})
    is_numpys(program)
    is_numpys(program, Needs(hard=True))
    fake.cannot, fake.refuses = frozenset({"tanh"}), True
    is_numpys(program)
    is_numpys(program_of(in_pieces, f8(3)))


def test_a_missing_compiler_is_an_error_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "adjoint.executors.native.lowering.lower", None)
    with pytest.raises(NativeUnavailableError, match="cannot be loaded"):
        NativeExecutor().compile(program_of(wave, f8(3)))


# --- programs in pieces ---------------------------------------------------------------------------


def test_pieces_are_wired(fake: FakeLowering) -> None:
    fake.cannot = frozenset({"tanh"})
    program = program_of(in_pieces, f8(3))
    executable = compiled(program)
    assert not executable.guarded
    source = executable.report().source
    assert source.count("stage") == 3
    assert "v1, = stage0(x0)" in source
    (found,) = executable.run(X)  # type: ignore[misc]
    np.testing.assert_array_equal(found, in_pieces(X))
    assert [made.hits for made in fake.made] == [1, 1]
    assert crossing_bytes(program, partition(program, lambda e: fake.lowerable(e, False))) == 48


def test_a_piece_that_misses_runs_alone_on_numpy(fake: FakeLowering) -> None:
    calls = []

    def twice(x: Any) -> tuple[Any, ...]:
        calls.append(1)
        return (2 * x,)

    linear = LinearFunction(twice, None, [f8(3)], [f8(3)], "twice")

    def function(x: Any) -> Any:
        (y,) = bind(LINEAR_CALL, np.exp(np.sin(x)), function=linear, transposed=False)
        return np.log(y) * np.log(y - 2)

    executable = compiled(program_of(function, f8(3)))
    with pytest.warns(RuntimeWarning, match="divide by zero") as caught:
        (found,) = executable.run(np.zeros(3))  # type: ignore[misc]
    assert len(caught) == 1
    assert np.isinf(found).all()
    assert len(calls) == 1


def test_a_piece_that_always_misses_is_given_up(fake: FakeLowering) -> None:
    fake.cannot = frozenset({"tanh"})
    fake.misses = True
    executable = compiled(program_of(in_pieces, f8(3)))
    for _ in range(2 * PATIENCE):
        np.testing.assert_array_equal(executable.run(X)[0], in_pieces(X))  # type: ignore[index]
    assert fake.runs == 2 * PATIENCE  # two pieces


def test_python_numbers_stay_weak_between_pieces(fake: FakeLowering) -> None:
    fake.cannot = frozenset({"tanh"})
    f4 = array_type((3,), np.dtype("f4"))
    weak = array_type((), np.dtype(float), True)

    def function(x: Any, s: Any) -> Any:
        total = bind(PYTHON_NUMBER, sum_axes(np.exp(x), (0,)))
        y = np.tanh(x * s) * total
        return np.exp(y) * total, total, y * s

    program = program_of(function, f4, weak)
    expected = NumpyExecutor().compile(program).run(X.astype("f4"), 0.5)
    for s in (0.5, np.float64(0.5)):
        found = compiled(program).run(X.astype("f4"), s)
        assert found is not None
        assert [each.dtype for each in found] == [np.dtype(t) for t in ("f4", "f8", "f4")]
        for one, other in zip(found, expected, strict=True):
            assert type(one) is type(other)
            np.testing.assert_array_equal(one, other)


def test_results_share_no_memory_with_arguments_or_one_another(fake: FakeLowering) -> None:
    fake.cannot = frozenset({"tanh"})
    builder = Builder()
    x, s = builder.input(f8(3)), builder.input(f8())
    inner = program_of(in_pieces, f8(3))
    (y,) = builder.inline(inner, [x])
    program = builder.build([x, x, y, y, s, Literal(2.0)])
    found = compiled(program).run(X, 1.5)
    assert found is not None
    for number, array in enumerate(found[:4]):
        for other in (X, *found[:number]):
            assert not np.shares_memory(array, other)
    assert [type(each) for each in found[4:]] == [np.float64] * 2
    np.testing.assert_array_equal(found[3], in_pieces(X))


@quickly
@given(programs(), st.sets(st.sampled_from(["sin", "tanh", "multiply", "scale", "slice"])))
def test_pieces_give_what_numpy_gives(program: Program, cannot: set[str]) -> None:
    backwards = simplify(vjp(program, ACTIVE))
    lowering = FakeLowering(cannot=frozenset(cannot))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "lowering", lambda: lowering)
        patch.setattr(module, "bind", fake_bind)
        executable = NativeExecutor().compile(backwards)
    generator = np.random.default_rng(0)
    arguments = [
        INDEX if each.dtype.kind == "i" else generator.uniform(0.5, 1.5, each.shape)
        for each in backwards.input_types
    ]
    expected = NumpyExecutor().compile(backwards).run(*arguments)
    found = executable.run(*arguments)
    if found is None:
        return
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13)


def test_the_driver_is_let_go_with_its_program(fake: FakeLowering) -> None:
    fake.cannot = frozenset({"tanh"})
    held = weakref.ref(compiled(program_of(in_pieces, f8(3))))
    gc.collect()
    assert held() is None
