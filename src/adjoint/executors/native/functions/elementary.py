"""Elementary functions of single numbers and of vectors: which library function for which lanes.

Exponentials are written into the loop instead where that is faster (`exponential.py`).

On x86 with glibc, libmvec has functions of whole vector registers; elsewhere the C library's
function is called lane by lane. Those of libmvec were held against mpmath and NumPy over all
magnitudes, special values and vector registers (glibc 2.36): they are within 4 units in the last
place, and raise every floating-point flag for which NumPy warns. A few raise flags for ordinary
arguments too, which would send a whole program back to NumPy; `_detour` keeps those arguments out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from adjoint.base.errors import NativeUnavailableError
from adjoint.executors.native.functions import exponential, sine
from adjoint.executors.native.machine.llvm import Machine, machine
from adjoint.executors.native.machine.module import (
    FUNCTION_ATTRIBUTES,
    Block,
    Value,
    constant,
    register_type,
    scalar_type,
    vector_type,
)

# The names of NumPy, and those of C.
_C_NAMES = {
    **{name: name for name in ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "cbrt")},
    **{name: name for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "hypot")},
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "arctan2": "atan2",
    "arcsinh": "asinh",
    "arccosh": "acosh",
    "arctanh": "atanh",
    "power": "pow",
}
FUNCTIONS = frozenset({"sqrt", *_C_NAMES})

# The letters of libmvec for the vector registers, the feature that each needs, and its bytes.
_REGISTERS = (("e", "avx512f", 64), ("d", "avx2", 32), ("c", "avx", 32), ("b", "sse2", 16))


@dataclass(frozen=True, slots=True)
class VectorFunction:
    """A function of the library of vector functions: its symbol, registers and number of lanes."""

    symbol: str
    letter: str
    lanes: int


def vector_functions(on: Machine, name: str, dtype: np.dtype[np.generic]) -> list[VectorFunction]:
    """The vector variants of a function that the machine can run, widest first."""
    variants: list[VectorFunction] = []
    if not on.is_x86 or name not in _C_NAMES:
        return variants
    count = 2 if name in ("arctan2", "power", "hypot") else 1
    for letter, feature, size in _REGISTERS:
        if letter != "b" and not on.has(feature):
            continue
        lanes = size // dtype.itemsize
        if any(other.lanes == lanes for other in variants):
            continue
        symbol = f"_ZGV{letter}N{lanes}{'v' * count}_{_c_name(name, dtype)}"
        if on.find(symbol) is not None:
            variants.append(VectorFunction(symbol, letter, lanes))
    return variants


def call(
    block: Block, name: str, operands: list[Value], on: Machine | None = None
) -> tuple[Value, str | None]:
    """Write the call of an elementary function of real numbers.

    Returns its value and a condition, an i1 or a vector of them, that is true where NumPy must
    decide instead; None where there is no such case.
    """
    on = on or machine()
    dtype, lanes = operands[0].dtype, operands[0].lanes
    if name not in FUNCTIONS or dtype.kind != "f" or dtype.itemsize not in (4, 8):
        raise NativeUnavailableError(f"there is no native function {name} of {dtype}")
    texts = [operand.text for operand in operands]
    if name == "sqrt":
        return Value((_square_root(block, texts[0], dtype, lanes),), dtype, lanes), None
    variants = vector_functions(on, name, dtype) if lanes > 1 else []
    written = exponential.width(on, name, dtype, bool(variants)) if lanes > 1 else None
    if written is not None:
        return Value((_written(block, name, operands[0], written, on),), dtype, lanes), None
    if name in _TURNS and lanes > 1 and sine.is_written(on, dtype, bool(variants), False):
        return _written_turns(block, operands[0], on)[_TURNS.index(name)], None
    if not variants:
        return Value((_lane_by_lane(block, name, texts, dtype, lanes),), dtype, lanes), None
    variant = _fitting(variants, lanes)
    detour = _detour(block, name, variant.letter, operands)
    if detour is None:
        return Value((_in_pieces(block, variant, texts, dtype, lanes),), dtype, lanes), None
    result = _in_pieces(block, variant, detour.texts, dtype, lanes)
    return Value((_rejoined(block, detour, result, operands[0]),), dtype, lanes), None


def sine_and_cosine(
    block: Block, operand: Value, on: Machine | None = None
) -> tuple[Value, Value] | None:
    """Write both for less than two calls; None where that is not to be had.

    Of single numbers it is not: `sincos` of the C library took 0.88 to 1.13 times as long as the
    two functions, which wait for nothing of each other (loops of such numbers, Zen 5).
    """
    dtype, lanes, on = operand.dtype, operand.lanes, on or machine()
    called = bool(vector_functions(on, "sin", dtype))
    if lanes > 1 and sine.is_written(on, dtype, called, True):
        return _written_turns(block, operand, on)
    return None


def written(block: Block, name: str, operand: Value, on: Machine | None = None) -> Value | None:
    """A function that no library has, where there are instructions for these lanes."""
    dtype, lanes, on = operand.dtype, operand.lanes, on or machine()
    width = exponential.width(on, name, dtype, False) if lanes > 1 else None
    if width is None:
        return None
    return Value((_written(block, name, operand, width, on),), dtype, lanes)


_TURNS = ("sin", "cos")


def _written_turns(block: Block, operand: Value, on: Machine) -> tuple[Value, Value]:
    """Both as instructions; by the library in the lanes that those do not reach."""
    dtype, lanes, kind = operand.dtype, operand.lanes, register_type(operand)
    written = sine.write(block, operand.text, dtype, lanes, on)
    near, mask = (written.sine, written.cosine), vector_type("i1", lanes)
    name = f"llvm.vector.reduce.or.v{lanes}i1"
    block.module.declare(name, f"declare i1 @{name}({mask})")
    some = block.op(f"call i1 @{name}({mask} {written.beyond})")
    before, away, after = block.label, block.new_label("far"), block.new_label("near")
    seldom = '!prof !{!"branch_weights", i32 1, i32 4096}'
    block.do(f"br i1 {some}, label %{away}, label %{after}, {seldom}")
    block.place(away)
    far = []
    for name, text in zip(_TURNS, near, strict=True):
        other = _of_library(block, name, operand, on)
        far.append(block.op(f"select {mask} {written.beyond}, {kind} {other}, {kind} {text}"))
    block.do(f"br label %{after}")
    block.place(after)
    of_sine, of_cosine = (
        block.op(f"phi {kind} [{one}, %{before}], [{other}, %{away}]")
        for one, other in zip(near, far, strict=True)
    )
    return Value((of_sine,), dtype, lanes), Value((of_cosine,), dtype, lanes)


def _of_library(block: Block, name: str, operand: Value, on: Machine) -> str:
    dtype, lanes = operand.dtype, operand.lanes
    variants = vector_functions(on, name, dtype)
    if not variants:
        return _lane_by_lane(block, name, [operand.text], dtype, lanes)
    return _in_pieces(block, _fitting(variants, lanes), [operand.text], dtype, lanes)


def _fitting(variants: list[VectorFunction], lanes: int) -> VectorFunction:
    """The widest that the lanes fill, or the narrowest there is."""
    fitting = [variant for variant in variants if variant.lanes <= lanes]
    return fitting[0] if fitting else variants[-1]


def _c_name(name: str, dtype: np.dtype[np.generic]) -> str:
    return _C_NAMES[name] + ("f" if dtype.itemsize == 4 else "")


def _square_root(block: Block, text: str, dtype: np.dtype[np.generic], lanes: int) -> str:
    type_text = vector_type(scalar_type(dtype), lanes)
    suffix = f"v{lanes}f{8 * dtype.itemsize}" if lanes else f"f{8 * dtype.itemsize}"
    symbol = f"llvm.sqrt.{suffix}"
    block.module.declare(symbol, f"declare {type_text} @{symbol}({type_text})")
    return block.op(f"call {type_text} @{symbol}({type_text} {text})")


def _call(block: Block, symbol: str, texts: list[str], type_text: str) -> str:
    types = ", ".join([type_text] * len(texts))
    block.module.declare(symbol, f"declare {type_text} @{symbol}({types}) {FUNCTION_ATTRIBUTES}")
    arguments = ", ".join(f"{type_text} {text}" for text in texts)
    return block.op(f"call {type_text} @{symbol}({arguments})")


def _lane_by_lane(
    block: Block, name: str, texts: list[str], dtype: np.dtype[np.generic], lanes: int
) -> str:
    """The function of the C library, called for each lane; without lanes, called once."""
    scalar, symbol = scalar_type(dtype), _c_name(name, dtype)
    if not lanes:
        return _call(block, symbol, texts, scalar)
    wide = vector_type(scalar, lanes)
    result = "poison"
    for lane in range(lanes):
        picked = [block.op(f"extractelement {wide} {text}, i32 {lane}") for text in texts]
        part = _call(block, symbol, picked, scalar)
        result = block.op(f"insertelement {wide} {result}, {scalar} {part}, i32 {lane}")
    return result


def _in_pieces(
    block: Block,
    variant: VectorFunction,
    texts: list[str],
    dtype: np.dtype[np.generic],
    lanes: int,
) -> str:
    """As many calls of a vector variant as the lanes fill, or one with lanes to spare."""
    part = vector_type(scalar_type(dtype), variant.lanes)

    def one(narrow: list[str]) -> str:
        return _call(block, variant.symbol, narrow, part)

    return _by_registers(block, one, variant.lanes, texts, dtype, lanes)


def _written(block: Block, name: str, operand: Value, width: int, on: Machine) -> str:
    """A function as instructions, on so many lanes at once, or on all."""
    dtype, lanes = operand.dtype, operand.lanes
    width = min(width or lanes, lanes)

    def one(narrow: list[str]) -> str:
        return exponential.write(block, name, narrow[0], dtype, width, on)

    return _by_registers(block, one, width, [operand.text], dtype, lanes)


def _by_registers(
    block: Block,
    one: Callable[[list[str]], str],
    width: int,
    texts: list[str],
    dtype: np.dtype[np.generic],
    lanes: int,
) -> str:
    """What is known for one number of lanes, for another; both are powers of two."""
    scalar = scalar_type(dtype)
    wide, part = vector_type(scalar, lanes), vector_type(scalar, width)
    if width == lanes:
        return one(texts)
    if width > lanes:
        # The lanes too many repeat the others, so that they raise no flags of their own.
        padding = [lane % lanes for lane in range(width)]
        padded = [_shuffled(block, wide, text, None, padding) for text in texts]
        return _shuffled(block, part, one(padded), None, list(range(lanes)))
    pieces = []
    for first in range(0, lanes, width):
        picked = list(range(first, first + width))
        pieces.append(one([_shuffled(block, wide, text, None, picked) for text in texts]))
    return _joined(block, scalar, pieces, width)


def _joined(block: Block, scalar: str, pieces: list[str], lanes: int) -> str:
    """Vectors of equal lanes, a power of two of them, one after the other."""
    while len(pieces) > 1:
        type_text, picked = vector_type(scalar, lanes), list(range(2 * lanes))
        pieces = [
            _shuffled(block, type_text, first, second, picked)
            for first, second in zip(pieces[::2], pieces[1::2], strict=True)
        ]
        lanes *= 2
    return pieces[0]


def _shuffled(
    block: Block, type_text: str, first: str, second: str | None, picked: list[int]
) -> str:
    mask = ", ".join(f"i32 {lane}" for lane in picked)
    return block.once(
        f"shufflevector {type_text} {first}, {type_text} {second or 'poison'}, "
        f"<{len(picked)} x i32> <{mask}>"
    )


# --- detours -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Detour:
    """Harmless operands in the lanes of a condition, and the result there; None for the call's."""

    texts: list[str]
    condition: str
    instead: str | None = "zeroinitializer"


# Below these the exponential is zero, whatever the rounding.
_EXP_VANISHES = {4: -104.0, 8: -746.0}


def _detour(block: Block, name: str, letter: str, operands: list[Value]) -> _Detour | None:
    """Keep out the arguments for which a variant of libmvec raises flags that NumPy does not.

    Comparisons are of bits or of equality, since ordered ones raise a flag for NaN.
    """
    texts = [operand.text for operand in operands]
    first = operands[0]
    if name == "exp":
        # Overflow, of exponents far below; such are the masks of softmax.
        vanishes = _EXP_VANISHES[first.dtype.itemsize]
        below = _bits_between(block, first, vanishes, -np.inf)
        return _Detour([_replaced(block, below, first, 0.0)], below)
    if name == "power":
        # Invalid or overflow, at times, of zero to any power.
        zero = _same_bits(block, first, 0.0)
        # Not from zero: the vector of -1 that this would take is made in a way that has each turn
        # of a loop wait for the last (a factor of two, measured on Zen 5).
        least = float(np.finfo(first.dtype).smallest_subnormal)
        positive = _bits_between(block, operands[1], least, np.inf)
        both = _and(block, zero, positive, first.lanes)
        return _Detour([_replaced(block, both, first, 1.0), texts[1]], both)
    if letter == "e":
        return None
    if name in ("hypot", "arctan2"):
        zero, also = (_equals(block, operand, 0.0) for operand in operands)
        both = _and(block, zero, also, first.lanes)
        if name == "hypot":
            return _Detour([_replaced(block, both, first, 1.0), texts[1]], both)
        one = _with_sign_of(block, 1.0, operands[1])
        return _Detour([texts[0], _selected(block, both, one, operands[1])], both, None)
    # Invalid, of NaN, in which functions of one number end; of 1 too, where that is at the edge.
    unusual = block.op(f"fcmp uno {register_type(first)} {first.text}, {first.text}")
    if name != "arccosh":
        return _Detour([_replaced(block, unusual, first, 0.5)], unusual, first.text)
    one = _same_bits(block, first, 1.0)
    instead = _selected(block, one, "zeroinitializer", first)
    either = block.op(f"or {vector_type('i1', first.lanes)} {unusual}, {one}")
    return _Detour([_replaced(block, either, first, 2.0)], either, instead)


def _rejoined(block: Block, detour: _Detour, result: str, like: Value) -> str:
    if detour.instead is None:
        return result
    type_text = register_type(like)
    mask = vector_type("i1", like.lanes)
    return block.op(
        f"select {mask} {detour.condition}, {type_text} {detour.instead}, {type_text} {result}"
    )


def _splatted(block: Block, number: float, like: Value) -> str:
    return block.splat(constant(number, like.dtype), like.lanes).text


def _selected(block: Block, condition: str, chosen: str, other: Value) -> str:
    type_text, mask = register_type(other), vector_type("i1", other.lanes)
    return block.op(f"select {mask} {condition}, {type_text} {chosen}, {type_text} {other.text}")


def _replaced(block: Block, condition: str, operand: Value, number: float) -> str:
    return _selected(block, condition, _splatted(block, number, operand), operand)


def _and(block: Block, first: str, second: str, lanes: int) -> str:
    return block.op(f"and {vector_type('i1', lanes)} {first}, {second}")


def _equals(block: Block, operand: Value, number: float) -> str:
    other = _splatted(block, number, operand)
    return block.op(f"fcmp oeq {register_type(operand)} {operand.text}, {other}")


def _with_sign_of(block: Block, number: float, operand: Value) -> str:
    type_text = register_type(operand)
    symbol = f"llvm.copysign.v{operand.lanes}f{8 * operand.dtype.itemsize}"
    block.module.declare(symbol, f"declare {type_text} @{symbol}({type_text}, {type_text})")
    magnitude = _splatted(block, number, operand)
    return block.op(
        f"call {type_text} @{symbol}({type_text} {magnitude}, {type_text} {operand.text})"
    )


def _bits(block: Block, operand: Value) -> tuple[str, np.dtype[np.generic], str]:
    """The operand as integers: their type, that of one of them, and the operand."""
    integer = np.dtype(f"i{operand.dtype.itemsize}")
    type_text = vector_type(scalar_type(integer), operand.lanes)
    text = block.op(f"bitcast {register_type(operand)} {operand.text} to {type_text}")
    return type_text, integer, text


def _bits_of(number: float, dtype: np.dtype[np.generic]) -> int:
    return int(np.array(number, dtype).view(f"i{dtype.itemsize}"))


def _same_bits(block: Block, operand: Value, number: float) -> str:
    type_text, integer, text = _bits(block, operand)
    wanted = constant(_bits_of(number, operand.dtype), integer)
    return block.op(f"icmp eq {type_text} {text}, {block.splat(wanted, operand.lanes).text}")


def _bits_between(block: Block, operand: Value, after: float, last: float) -> str:
    """Whether the operand lies after one number and not after another of the same sign."""
    type_text, integer, text = _bits(block, operand)
    start = _bits_of(after, operand.dtype) + 1
    count = _bits_of(last, operand.dtype) - start
    first = block.splat(constant(start, integer), operand.lanes).text
    offset = block.op(f"sub {type_text} {text}, {first}")
    limit = block.splat(constant(count, integer), operand.lanes).text
    return block.op(f"icmp ule {type_text} {offset}, {limit}")
