"""Matrix products in machine code: against NumPy, within their memory, without spurious faults."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

pytest.importorskip("llvmlite")

from adjoint.executors.native.machine import routines
from adjoint.executors.native.machine.llvm import machine
from adjoint.executors.native.machine.module import Module
from adjoint.executors.native.products import ArrayProduct, Emitted, blas, emit_product, tiling
from adjoint.executors.native.products.plan import grouped
from adjoint.executors.native.products.tiling import Vectors

_MATHS = ctypes.CDLL("libm.so.6") if machine().is_x86 else None
_FAULTS = 0x0D  # invalid, division by zero, overflow
_GUARD = 24  # numbers around every array


@dataclass
class Place:
    """An array somewhere in a buffer that is otherwise full of signalling NaNs."""

    buffer: np.ndarray[Any, Any]
    array: np.ndarray[Any, Any]

    @property
    def strides(self) -> tuple[int, ...]:
        return tuple(step // self.array.itemsize for step in self.array.strides)

    def outside(self) -> np.ndarray[Any, Any]:
        """The bits of the buffer, with zeros where the array is."""
        bits = np.array(self.buffer).view(f"u{self.array.itemsize}")
        mask = np.zeros(self.buffer.size, bool)
        start = (self.array.ctypes.data - self.buffer.ctypes.data) // self.array.itemsize
        steps = zip(np.indices(self.array.shape), self.strides, strict=True)
        mask[start + sum((index * step for index, step in steps), np.zeros((), int))] = True
        bits[mask] = 0
        return bits


def place(
    shape: tuple[int, ...],
    dtype: Any,
    order: tuple[int, ...] | None = None,
    gaps: tuple[int, ...] | None = None,
    flips: tuple[int, ...] = (),
) -> Place:
    """An array whose axes lie in memory in the given order, every so many numbers."""
    order = order or tuple(range(len(shape)))
    gaps = gaps or (1,) * len(shape)
    inside = [shape[axis] * gap for axis, gap in zip(order, gaps, strict=True)]
    size = int(np.prod(inside, dtype=int))
    dtype = np.dtype(dtype)
    buffer = np.empty(size + 2 * _GUARD, dtype)
    # Any arithmetic on a signalling NaN raises the flag of an invalid operation.
    signalling = {4: 0x7FA00000, 8: 0x7FF4000000000000}[dtype.itemsize]
    buffer.view(f"u{dtype.itemsize}")[:] = signalling
    view = buffer[_GUARD : _GUARD + size].reshape(inside)
    view = view[(*(slice(None, None, gap) for gap in gaps), ...)]
    array = view.transpose(np.argsort(order)) if order else view
    for axis in flips:
        array = np.flip(array, axis)
    return Place(buffer, array)


def product_of(spec: str, left: Place, right: Place, result: Place) -> ArrayProduct:
    return ArrayProduct(
        left.array.dtype,
        spec,
        left.array.shape,
        right.array.shape,
        left.strides,
        right.strides,
        result.strides,
    )


def run(product: ArrayProduct, left: Place, right: Place, result: Place, **options: Any) -> Emitted:
    """Compute it by machine code; all that must stay as it is is checked."""
    module = Module()
    emitted = emit_product(module, product, **options)
    assert emitted is not None
    text = module.text()
    text += (
        "\ndefine void @product(ptr %c, ptr %a, ptr %b, ptr %s) {\n"
        f"  call void @{emitted.name}(ptr %c, ptr %a, ptr %b, ptr %s)\n  ret void\n}}\n"
    )
    compiled = machine().compile(text, verify=True)
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(compiled.address("product"))
    scratch = np.full(emitted.scratch_bytes + 192, 0xA5, np.uint8)
    start = 64 + (-scratch.ctypes.data) % 64
    before = [item.outside() for item in (left, right, result)]
    operands = [np.array(item.buffer).view("u1") for item in (left, right)]
    pointers = [item.array.ctypes.data for item in (result, left, right)]
    faults = 0
    if _MATHS is None:
        function(*pointers, scratch.ctypes.data + start)
    else:
        _MATHS.feclearexcept(0x3F)
        function(*pointers, scratch.ctypes.data + start)
        faults = _MATHS.fetestexcept(_FAULTS)
    for item, bits in zip((left, right, result), before, strict=True):
        assert np.array_equal(item.outside(), bits)
    for item, bytes_ in zip((left, right), operands, strict=True):
        assert np.array_equal(np.array(item.buffer).view("u1"), bytes_)
    assert np.all(scratch[:start] == 0xA5)
    assert np.all(scratch[start + emitted.scratch_bytes :] == 0xA5)
    assert not faults, "floating-point flags were raised"
    return emitted


def check(spec: str, left: Place, right: Place, result: Place, **options: Any) -> Emitted:
    """Random numbers in the operands; the result is compared with einsum in more digits."""
    random = np.random.default_rng(1)
    for item in (left, right):
        item.array[...] = random.standard_normal(item.array.shape)
    emitted = run(product_of(spec, left, right, result), left, right, result, **options)
    wide = [item.array.astype(np.longdouble) for item in (left, right)]
    expected = np.einsum(spec, *wide)
    scale = np.einsum(spec, *(np.abs(array) for array in wide))
    error = np.abs(result.array - expected)
    assert np.all(error <= 60 * np.finfo(left.array.dtype).eps * scale)
    return emitted


def simple(spec: str, sizes: dict[str, int], dtype: Any = "f8", **options: Any) -> Emitted:
    """Arrays as NumPy makes them."""
    labels = spec.replace("->", ",").split(",")
    places = [place(tuple(sizes[label] for label in group), dtype) for group in labels]
    return check(spec, *places, **options)


def random_case(random: np.random.Generator, largest: int) -> tuple[str, list[Place]]:
    """A product of arbitrary axes in arbitrary order, with gaps and steps backwards."""
    count = int(random.integers(0, 6))
    roles = random.choice(list("brcs"), count)
    sizes = {}
    groups: list[list[str]] = [[], [], []]
    for label, role in zip("abcdef", roles, strict=False):
        likely = [0] if random.random() < 0.03 else [1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 19]
        sizes[label] = int(min(largest, random.choice(likely)))
        for group, members in zip(groups, ("brs", "bcs", "brc"), strict=True):
            if role in members:
                group.append(label)
    for group in groups:
        random.shuffle(group)
    if count and random.random() < 0.3:
        sizes[str(random.choice(list(sizes)))] = int(random.choice([33, 50, 70]))
    dtype = random.choice(["f4", "f8"])
    places = []
    for group in groups:
        order = tuple(range(len(group)))
        gaps = (1,) * len(group)
        flips: tuple[int, ...] = ()
        if random.random() < 0.5:
            order = tuple(int(axis) for axis in random.permutation(len(group)))
        if random.random() < 0.3:
            gaps = tuple(int(gap) for gap in random.choice([1, 1, 1, 2, 3], len(group)))
        if random.random() < 0.2:
            flips = tuple(axis for axis in range(len(group)) if random.random() < 0.3)
        places.append(place(tuple(sizes[label] for label in group), dtype, order, gaps, flips))
    names = ["".join(group) for group in groups]
    return f"{names[0]},{names[1]}->{names[2]}", places


@pytest.mark.parametrize("seed", range(120))
def test_arbitrary_products(seed: int) -> None:
    random = np.random.default_rng(seed)
    spec, places = random_case(random, 9 if seed % 3 else 20)
    itemsize = places[0].array.itemsize
    width = int(random.choice([16, 32, 64]))
    check(spec, *places, lanes=min(width, machine().vector_bytes) // itemsize)


@pytest.mark.parametrize("through_blas", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_operands_that_repeat_themselves(seed: int, through_blas: bool) -> None:
    random = np.random.default_rng(20_000 + seed)
    spec, places = random_case(random, 20)
    for item in places[:2]:
        steps = [0 if random.random() < 0.4 else step for step in item.array.strides]
        item.array = as_strided(item.array, strides=steps)
    check(spec, *places, blas=through_blas)


@pytest.mark.parametrize("seed", range(40))
def test_arbitrary_products_of_infinities_raise_no_flags(seed: int) -> None:
    random = np.random.default_rng(5_000 + seed)
    spec, places = random_case(random, 20)
    left, right, result = places
    lanes = int(random.choice([16, 32, 64])) // left.array.itemsize
    lanes = min(lanes, machine().native_lanes(left.array.dtype))
    left.array[...], right.array[...] = -2.0, -np.inf
    run(product_of(spec, *places), left, right, result, lanes=lanes)
    assert np.all((result.array == np.inf) | (result.array == 0.0))


CASES = [
    ("ab,bc->ac", {"a": 178, "b": 13, "c": 16}),
    ("ab,bc->ac", {"a": 178, "b": 16, "c": 3}),
    ("ab,ac->bc", {"a": 178, "b": 16, "c": 3}),
    ("ab,cb->ac", {"a": 178, "b": 3, "c": 16}),
    ("ab,b->a", {"a": 100, "b": 10}),
    ("ab,a->b", {"a": 33, "b": 100}),
    ("ab,b->a", {"a": 3, "b": 3}),
    ("a,a->", {"a": 1}),
    ("a,a->", {"a": 2000}),
    ("a,b->ab", {"a": 7, "b": 13}),
    ("ab,ab->ab", {"a": 7, "b": 13}),
    (",a->a", {"a": 19}),
    (",->", {}),
    ("ab,ab->", {"a": 70, "b": 31}),
    ("abc,dcb->dca", {"a": 10, "b": 10, "c": 25, "d": 41}),
    ("abc,abd->bcd", {"a": 1030, "b": 3, "c": 10, "d": 10}),
    ("abc,acb->ac", {"a": 600, "b": 2, "c": 9}),
    ("ab,bc->ac", {"a": 96, "b": 600, "c": 70}),
    ("ab,cb->ca", {"a": 96, "b": 600, "c": 70}),
    ("ab,bc->ac", {"a": 5, "b": 0, "c": 9}),
    ("ab,bc->ac", {"a": 0, "b": 4, "c": 9}),
]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(("spec", "sizes"), CASES)
def test_products(spec: str, sizes: dict[str, int], dtype: str) -> None:
    emitted = simple(spec, sizes, dtype)
    assert emitted.flops == 2 * np.prod(list(sizes.values()), dtype=int)


@pytest.mark.parametrize("lanes", [2, 4, 8])
@pytest.mark.parametrize(("spec", "sizes"), CASES)
def test_products_with_short_vectors(spec: str, sizes: dict[str, int], lanes: int) -> None:
    lanes = min(lanes, machine().native_lanes(np.dtype("f4")))
    simple(spec, sizes, "f4", lanes=lanes, registers=16, blas=False)


@pytest.mark.parametrize(("spec", "sizes"), CASES)
def test_unused_lanes_meet_no_infinity(spec: str, sizes: dict[str, int]) -> None:
    """A number that is infinite times one that is there is no fault; times a zero it would be."""
    left, right, result = (
        place(tuple(sizes[label] for label in group), "f8")
        for group in spec.replace("->", ",").split(",")
    )
    left.array[...], right.array[...] = np.inf, 2.0
    run(product_of(spec, left, right, result), left, right, result)
    depth = np.prod(
        [sizes[label] for label in sizes if label not in spec.split("->")[1]], initial=1
    )
    assert np.all(result.array == (np.inf if depth else 0.0))
    left.array[...], right.array[...] = -2.0, -np.inf
    run(product_of(spec, left, right, result), left, right, result)
    assert np.all(result.array == (np.inf if depth else 0.0))


def test_a_nan_stays_in_its_row() -> None:
    left, right, result = (place(shape, "f8") for shape in ((20, 9), (9, 13), (20, 13)))
    left.array[...], right.array[...] = 1.0, 2.0
    left.array[3, 4] = np.nan
    run(product_of("ab,bc->ac", left, right, result), left, right, result)
    assert np.all(np.isnan(result.array[3]))
    assert np.all(np.delete(result.array, 3, axis=0) == 18.0)


def test_products_without_a_sum_keep_the_sign_of_zero() -> None:
    left, right, result = (place(shape, "f8") for shape in ((5,), (9,), (5, 9)))
    left.array[...], right.array[...] = -0.0, 1.0
    run(product_of("a,b->ab", left, right, result), left, right, result)
    assert np.all(np.signbit(result.array))


@pytest.mark.parametrize("spec", ["a,a->", "ab,b->a", "ab,bc->ac", "ba,bc->ac"])
def test_long_sums_are_as_accurate_as_those_of_numpy(spec: str) -> None:
    sizes = {"a": 40_000} if spec == "a,a->" else {"a": 5, "b": 40_000, "c": 3}
    if spec == "ba,bc->ac":
        sizes = {"a": 17, "b": 40_000, "c": 5}
    groups = spec.replace("->", ",").split(",")
    left, right, result = (place(tuple(sizes[x] for x in group), "f4") for group in groups)
    random = np.random.default_rng(3)
    left.array[...] = random.random(left.array.shape)
    right.array[...] = random.random(right.array.shape)
    run(product_of(spec, left, right, result), left, right, result, blas=False)
    exact = np.einsum(spec, left.array.astype("f8"), right.array.astype("f8"))
    numpy = np.einsum(spec, left.array, right.array, optimize=True)
    error = np.abs(result.array / exact - 1).max()
    assert error <= max(4e-7, 1.1 * np.abs(numpy / exact - 1).max())


def test_other_dtypes_are_left_to_others() -> None:
    for dtype in ("c16", "i8", "f2"):
        product = ArrayProduct(np.dtype(dtype), "a,a->", (3,), (3,), (1,), (1,), ())
        assert emit_product(Module(), product) is None


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(
    ("spec", "orders"),
    [
        ("ab,bc->ac", ((0, 1), (0, 1), (0, 1))),
        ("ab,bc->ac", ((1, 0), (0, 1), (0, 1))),
        ("ab,bc->ac", ((0, 1), (1, 0), (0, 1))),
        ("ab,bc->ac", ((1, 0), (1, 0), (1, 0))),
        ("ab,b->a", ((0, 1), (0,), (0,))),
        ("ab,b->a", ((1, 0), (0,), (0,))),
        ("b,bc->c", ((0,), (0, 1), (0,))),
        ("dab,dbc->dac", ((0, 1, 2), (1, 0, 2), (1, 0, 2))),
    ],
)
def test_products_through_blas(spec: str, orders: Any, dtype: str) -> None:
    sizes = {"a": 60, "b": 50, "c": 70, "d": 3}
    groups = spec.replace("->", ",").split(",")
    places = [
        place(tuple(sizes[label] for label in group), dtype, order)
        for group, order in zip(groups, orders, strict=True)
    ]
    assert check(spec, *places, blas=True).uses_blas


def test_large_products_go_through_blas() -> None:
    product = ArrayProduct(
        np.dtype("f8"), "ab,bc->ac", (3000,) * 2, (3000,) * 2, (3000, 1), (3000, 1), (3000, 1)
    )
    emitted = emit_product(Module(), product)
    assert emitted is not None
    assert emitted.uses_blas


def test_routines_are_found_by_name() -> None:
    for name in ("dgemm", "sgemm", "dgemv", "zgemm", "dgetrf", "dpotrf"):
        found = blas.routine(name)
        assert found is not None
        assert machine().find(found.symbol)
    assert blas.routine("nothing") is None


def test_the_library_of_numpy_takes_the_place_of_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routines, "_exported", lambda module, name: None)
    blas.routine.cache_clear()
    try:
        if blas.routine("dgemm") is None:
            pytest.skip("this NumPy brings no BLAS of its own")
        simple("ab,bc->ac", {"a": 30, "b": 40, "c": 50}, blas=True)
    finally:
        blas.routine.cache_clear()


def test_without_any_library_products_are_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blas, "routine", lambda name: None)
    assert not simple("ab,bc->ac", {"a": 30, "b": 40, "c": 50}, blas=True).uses_blas


@pytest.mark.parametrize("seed", range(40))
def test_arbitrary_products_through_blas(seed: int) -> None:
    random = np.random.default_rng(10_000 + seed)
    spec, places = random_case(random, 9)
    check(spec, *places, blas=True)


@pytest.mark.parametrize("columns", [3, 5, 11])
def test_packed_lanes_that_are_not_used_read_nothing(
    columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where both operands have the columns, only those of one of them are packed."""
    monkeypatch.setattr(tiling, "_NEAR_BYTES", 300)
    sizes = {"a": 119, "b": 3, "c": 92, "d": columns}
    labels = ("abcd", "cbd", "bad")
    places = [place(tuple(sizes[label] for label in group), "f8") for group in labels]
    made = tiling.tiled(grouped(product_of("abcd,cbd->bad", *places)), Vectors(8, 16, 8))
    assert made.packed
    check("abcd,cbd->bad", *places, lanes=8, registers=16, blas=False)
