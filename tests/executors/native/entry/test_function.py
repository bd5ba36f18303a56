"""The entry: which arguments it takes, what it returns, what it never touches."""

from __future__ import annotations

import math
import pickle
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from adjoint.base.arrays import ArrayType, array_type
from adjoint.base.errors import NativeUnavailableError, ProgramError
from adjoint.executors.native.entry import tables
from adjoint.executors.native.entry.function import SPARE, EntrySpec
from tests.executors.native.entry.kernels import (
    COMPLEX,
    FLOAT,
    INT,
    MEMCPY,
    binary,
    built,
    code,
    copies,
    f8,
    identity,
    same,
    text,
)

DTYPES = ["b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "c8", "c16"]


def numbers(shape: tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
    values = np.random.default_rng(0).normal(size=shape) * 50
    if np.dtype(dtype).kind == "c":
        return (values + 1j * values[::-1]).astype(dtype)
    return (abs(values) if np.dtype(dtype).kind in "bu" else values).astype(dtype)


# --- arguments that fit --------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_and_numbers_of_every_dtype(dtype: str) -> None:
    scalar = np.dtype(dtype).type(3)
    many, none, single = numbers((3, 4), dtype), numbers((2, 0), dtype), np.array(5, dtype)
    types = [array_type(each.shape, dtype) for each in (many, none, scalar, single)]
    results = identity(*types)(many, none, scalar, single)
    for result, wanted in zip(results, (many, none, scalar, single[()]), strict=True):
        same(result, wanted)
    assert results[0].flags.carray
    assert results[0].flags.owndata
    assert results[0].dtype is np.dtype(dtype)


@pytest.mark.parametrize(
    ("type_", "given", "wanted"),
    [
        (FLOAT, -2.5, np.float64(-2.5)),
        (FLOAT, np.float64(math.inf), np.float64(math.inf)),
        (INT, -7, np.int64(-7)),
        (INT, -(2**63), np.int64(-(2**63))),
        (INT, 2**63 - 1, np.int64(2**63 - 1)),
        (INT, np.int64(12), np.int64(12)),
        (COMPLEX, 1 - 2j, np.complex128(1 - 2j)),
        (COMPLEX, np.complex128(3j), np.complex128(3j)),
        (array_type((), bool), True, np.True_),
        (array_type((), bool), False, np.False_),
        (array_type((), bool), np.True_, np.True_),
        (array_type((), bool), np.array(False), np.False_),
    ],
)
def test_python_numbers(type_: ArrayType, given: Any, wanted: Any) -> None:
    result = identity(type_, bare=True)(given)
    assert type(result) is type(wanted)
    assert result == wanted


def test_arrays_that_only_look_unusual() -> None:
    square = identity(f8(1, 3))
    column = np.arange(6.0).reshape(3, 2)[:, :1].copy().T  # axes of length one have any stride
    same(square(column)[0], np.array([[0.0, 2.0, 4.0]]))
    frozen = np.ones((1, 3))
    frozen.flags.writeable = False
    same(square(frozen)[0], np.ones((1, 3)))
    pickled = pickle.loads(pickle.dumps(np.ones((1, 3))))  # has a dtype object of its own
    assert pickled.dtype is not np.dtype("f8")
    same(square(pickled)[0], np.ones((1, 3)))
    other = np.ones((1, 3), np.dtype("f8", metadata={"unit": "m"}))
    same(square(other)[0], np.ones((1, 3)))
    long = np.dtype("q") if np.dtype("q") is not np.dtype("i8") else np.dtype("l")
    same(identity(array_type((2,), "i8"))(np.ones(2, long))[0], np.ones(2, "i8"))


def test_inputs_that_share_memory() -> None:
    data = np.arange(5.0)
    add = built(EntrySpec((f8(4), f8(4)), (f8(4),), bare=True), binary("fadd", f8(4)))
    same(add(data[:4], data[1:]), data[:4] + data[1:])
    same(add(data[:4], data[:4]), 2 * data[:4])


def test_no_inputs_and_no_outputs() -> None:
    assert built(EntrySpec((), ()), "  ret i32 0")() == ()
    assert built(EntrySpec((), ()), "  ret i32 1")() is None


def test_many_inputs() -> None:
    types = [array_type((place % 4,) * (place % 3), "f4") for place in range(60)]
    given = [np.full(type_.shape, place, "f4") for place, type_ in enumerate(types)]
    for result, wanted in zip(identity(*types)(*given), given, strict=True):
        assert result == wanted if result.ndim == 0 else (result == wanted).all()


# --- arguments that do not -----------------------------------------------------------------------


class Derived(np.ndarray[Any, Any]):
    pass


class DerivedFloat(float):
    pass


class DerivedInt(int):
    pass


class DerivedScalar(np.float64):
    pass


def misaligned() -> np.ndarray[Any, Any]:
    return np.zeros(8 * 3 + 1, np.uint8)[1:].view("f8")


WRONG_ARRAYS: list[Callable[[], Any]] = [
    lambda: None,
    lambda: 1.0,
    lambda: "text",
    lambda: [1.0, 2.0, 3.0],
    lambda: object(),
    lambda: np.float64(1),
    lambda: np.array(1.0),
    lambda: np.zeros(4),
    lambda: np.zeros(2),
    lambda: np.zeros(0),
    lambda: np.zeros((1, 3)),
    lambda: np.zeros((3, 1)),
    lambda: np.zeros(3, "f4"),
    lambda: np.zeros(3, "i8"),
    lambda: np.zeros(3, "c16"),
    lambda: np.zeros(3, ">f8" if sys.byteorder == "little" else "<f8"),
    lambda: np.zeros(3, object),
    lambda: np.zeros(3, "U2"),
    lambda: np.zeros(3, "M8[s]"),
    lambda: np.zeros(3, [("x", "f8")]),
    lambda: np.zeros(6)[::2],
    lambda: np.arange(3.0)[::-1],
    lambda: np.broadcast_to(1.0, 3),
    misaligned,
    lambda: np.zeros(3).view(Derived),
    lambda: np.ma.zeros(3),
    lambda: np.float64,
]


@pytest.mark.parametrize("make", WRONG_ARRAYS)
def test_other_than_the_array_is_a_miss(make: Callable[[], Any]) -> None:
    function = identity(f8(3), f8(2))
    assert function(make(), np.ones(2)) is None
    assert identity(f8(2), f8(3))(np.ones(2), make()) is None


@pytest.mark.parametrize(
    ("type_", "given"),
    [
        (f8(), 1.0),
        (f8(), np.float32(1)),
        (f8(), np.int64(1)),
        (f8(), np.ones(1)),
        (f8(), np.array(1, "f4")),
        (f8(), np.array(1.0).view(Derived)),
        (f8(), DerivedScalar(1)),
        (f8(), None),
        (FLOAT, 1),
        (FLOAT, np.float32(1)),
        (FLOAT, DerivedFloat(1)),
        (FLOAT, DerivedScalar(1)),
        (FLOAT, np.array(1.0)),
        (FLOAT, 1j),
        (FLOAT, True),
        (INT, 1.0),
        (INT, True),
        (INT, 2**63),
        (INT, -(2**63) - 1),
        (INT, 10**40),
        (INT, DerivedInt(1)),
        (INT, np.int32(1)),
        (INT, np.uint64(1)),
        (COMPLEX, 1.0),
        (COMPLEX, np.complex64(1)),
        (array_type((), bool), 1),
        (array_type((), bool), None),
        (array_type((), bool), np.array(1)),
        (array_type((), "i8"), 1),
    ],
)
def test_other_than_the_number_is_a_miss(type_: ArrayType, given: Any) -> None:
    assert identity(type_)(given) is None


@pytest.mark.parametrize("count", [0, 1, 3, 20])
def test_another_number_of_arguments_is_a_miss(count: int) -> None:
    given = [np.ones(2)] * count
    assert identity(f8(2), f8(2))(*given) is None
    assert identity(f8(2), f8(2), lent=(1,), workspace_given=True)(*given) is None
    assert identity(f8(2), f8(2), lent=(1,))(*given[:2]) is None


def test_keywords_are_refused() -> None:
    with pytest.raises(TypeError):
        identity(f8(2))(x=np.ones(2))


def test_unknown_numbers_are_refused() -> None:
    for dtype in ("f2", "g", ">f8", "M8[s]"):
        with pytest.raises(NativeUnavailableError):
            code(EntrySpec((array_type((2,), dtype),), ()), "  ret i32 0")


# --- memory that is given ------------------------------------------------------------------------


def test_lent_outputs_are_written_and_returned() -> None:
    function = identity(f8(3), f8(), f8(2), lent=(2, 0))
    third, first = np.zeros(2), np.zeros(3)
    results = function(np.arange(3.0), np.float64(4), np.ones(2), third, first)
    assert results[0] is first
    assert results[2] is third
    same(first, np.arange(3.0))
    same(third, np.ones(2))


@pytest.mark.parametrize("make", [*WRONG_ARRAYS, lambda: np.broadcast_to(np.ones(3), (3,))])
def test_a_lent_output_that_does_not_fit_is_a_miss(make: Callable[[], Any]) -> None:
    assert identity(f8(3), lent=(0,))(np.ones(3), make()) is None


ADDRESS = """
  %o = load ptr, ptr %outputs
  %n = ptrtoint ptr %workspace to i64
  store i64 %n, ptr %o
  call void @llvm.memset.p0.i64(ptr %workspace, i8 7, i64 256, i1 false)
  ret i32 0"""
MEMSET = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"
I8 = array_type((), "i8")


def test_workspace_is_aligned_and_within_the_array() -> None:
    given = built(EntrySpec((), (I8,), 256, True, bare=True), ADDRESS, (), MEMSET)
    memory = np.zeros(256 + SPARE + 128, np.uint8)
    for start in range(64):
        part = memory[start : start + 256 + SPARE]
        memory[:] = 0
        address = given(part)
        assert address % 64 == 0
        inside = address - part.ctypes.data
        assert (part[inside : inside + 256] == 7).all()
        assert memory.sum() == 7 * 256
    start = -memory.ctypes.data % 64
    assert given(memory[start : start + 256]) == memory.ctypes.data + start
    assert given(memory[start : start + 255]) is None
    assert given(memory[start + 1 : start + 256 + 63]) is None


def test_a_workspace_that_does_not_fit_is_a_miss() -> None:
    given = built(EntrySpec((), (I8,), 256, True, bare=True), ADDRESS, (), MEMSET)
    frozen = np.zeros(1000, np.uint8)
    frozen.flags.writeable = False
    wrong = (None, np.zeros(1000), np.zeros(1000, "i1"), np.zeros((2, 500), np.uint8), frozen)
    for each in (*wrong, np.zeros(2000, np.uint8)[::2], np.zeros(0, np.uint8), bytearray(1000)):
        assert given(each) is None


def test_workspace_on_the_stack() -> None:
    own = built(EntrySpec((), (I8,), 32 << 10, bare=True), ADDRESS, (), MEMSET)
    assert own() % 64 == 0


def test_specifications_that_make_no_sense() -> None:
    with pytest.raises(ProgramError, match="stack"):
        EntrySpec((), (), (32 << 10) + 1)
    with pytest.raises(ProgramError, match="bare"):
        EntrySpec((), (), bare=True)
    with pytest.raises(ProgramError, match="lent"):
        EntrySpec((), (f8(),), lent=(0,))


def test_types_are_shared_between_arguments() -> None:
    made = text(EntrySpec((f8(3),) * 5, (f8(3),)), copies(f8(3)), MEMCPY)
    assert made.count("@entry.type.0 =") == 1
    assert "@entry.type.1 =" not in made
    assert tables.ALIGNMENT == SPARE + 1
