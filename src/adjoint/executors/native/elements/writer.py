"""What the rules of the elements write with: instructions on values of any number of lanes."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from adjoint.executors.native.machine.module import (
    Block,
    Value,
    constant,
    register_type,
    scalar_type,
    vector_type,
)

# A condition under which the run must be made again by NumPy: an i1, or a vector of them (lanes).
Fault = tuple[str, int]

BOOLEAN = np.dtype(bool)
DOUBLE = np.dtype(np.float64)
SINGLE = np.dtype(np.float32)

# In this form LLVM minds the floating-point flags, at no cost. An order of floats by `fcmp` raises
# the invalid flag for NaN (x86), of which NumPy does not warn; equality never does. And a plain
# `fdiv` or square root is moved in front of the choice, by `select`, of an operand without fault.
_MINDFUL = "llvm.experimental.constrained"
_ROUNDED = 'metadata !"round.tonearest", metadata !"fpexcept.maytrap"'
_CONSTANT = re.compile("0x[0-9A-F]{16}|-?[0-9]+")
# NaN is chosen seldom: of single numbers, that is a branch which the processor foresees, so that
# the other number does not wait for the question.
_NANS = frozenset(constant(np.nan, dtype).text for dtype in (DOUBLE, SINGLE))
_SELDOM = ', !prof !{!"branch_weights", i32 1, i32 1000000}'
_RAISING = frozenset(("olt", "ole", "ogt", "oge", "ult", "ule", "ugt", "uge"))
_REVERSED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}


def llvm_suffix(dtype: np.dtype[Any], lanes: int) -> str:
    """The ending of the names of overloaded intrinsics: `f64`, `v8f32`, `i64`."""
    letter = "f" if dtype.kind in "fc" else "i"
    bits = 1 if dtype.kind == "b" else 8 * dtype.itemsize
    return (f"v{lanes}" if lanes else "") + f"{letter}{bits}"


def part_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of one part of a number: float64 for complex128, and others unchanged."""
    return np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype


@dataclass(slots=True, eq=False)
class ElementWriter:
    """Writes into a block; conditions that NumPy must meet are added to `faults`.

    contract: whether a product may be fused with a sum (one rounding instead of two).
    """

    block: Block
    faults: list[Fault]
    contract: bool = True

    def value(self, text: str, dtype: np.dtype[Any], lanes: int) -> Value:
        """The result of an instruction as a value."""
        return Value((self.block.op(text),), dtype, lanes)

    def constant(self, number: Any, like: Value) -> Value:
        """A number in the dtype and the lanes of another value."""
        return self.block.splat(constant(number, like.dtype), like.lanes)

    def constant_of(self, number: Any, dtype: np.dtype[Any], lanes: int) -> Value:
        """A number in a dtype, in so many lanes."""
        return self.block.splat(constant(number, dtype), lanes)

    def binary(self, operation: str, x: Value, y: Value) -> Value:
        """An instruction of two operands of one type, `operation type x, y`."""
        return self.value(f"{operation} {register_type(x)} {x.text}, {y.text}", x.dtype, x.lanes)

    def _sum(self, operation: str, x: Value, y: Value) -> Value:
        if x.dtype.kind == "f":
            return self.binary(f"f{operation}", x, y)
        return self.binary(operation, x, y)

    def add(self, x: Value, y: Value) -> Value:
        """x + y of real numbers or integers, which wrap."""
        return self._sum("add", x, y)

    def subtract(self, x: Value, y: Value) -> Value:
        """x - y of real numbers or integers, which wrap."""
        return self._sum("sub", x, y)

    def multiply(self, x: Value, y: Value) -> Value:
        """x * y of real numbers or integers, which wrap."""
        return self._sum("mul", x, y)

    def divide(self, x: Value, y: Value) -> Value:
        """x / y of real numbers."""
        return self.mindful("fdiv", x, y)

    def mindful(self, operation: str, *operands: Value) -> Value:
        """`fdiv`, `fsub` or `sqrt`, of these very operands: a choice of them is not undone."""
        x = operands[0]
        kind = register_type(x)
        function = f"{_MINDFUL}.{operation}.{llvm_suffix(x.dtype, x.lanes)}"
        parameters = ", ".join([kind] * len(operands))
        self.block.module.declare(
            function, f"declare {kind} @{function}({parameters}, metadata, metadata)"
        )
        arguments = ", ".join(f"{kind} {operand.text}" for operand in operands)
        return self.value(f"call {kind} @{function}({arguments}, {_ROUNDED})", x.dtype, x.lanes)

    def negative(self, x: Value) -> Value:
        """-x of real numbers or integers."""
        if x.dtype.kind == "f":
            return self.value(f"fneg {register_type(x)} {x.text}", x.dtype, x.lanes)
        return self.subtract(self.constant(0, x), x)

    def intrinsic(self, name: str, *operands: Value, flag: str = "") -> Value:
        """A function of LLVM on operands of one type, which is that of the result.

        flag: an i1 that some of them take at the end.
        """
        first = operands[0]
        kind = register_type(first)
        tail = f", i1 {flag}" if flag else ""
        parameters = ", ".join([kind] * len(operands)) + (", i1" if flag else "")
        suffix = llvm_suffix(first.dtype, first.lanes)
        function = f"llvm.{name}.{suffix}"
        self.block.module.declare(function, f"declare {kind} @{function}({parameters})")
        arguments = ", ".join(f"{kind} {operand.text}" for operand in operands) + tail
        return self.value(f"call {kind} @{function}({arguments})", first.dtype, first.lanes)

    def absolute(self, x: Value) -> Value:
        """|x| of real numbers."""
        return self.intrinsic("fabs", x)

    def compare(self, predicate: str, x: Value, y: Value) -> Value:
        """A comparison, by LLVM's predicate: `olt` for floats, `slt` or `ult` for integers."""
        kind = register_type(x)
        if x.dtype.kind != "f":
            return self.value(f"icmp {predicate} {kind} {x.text}, {y.text}", BOOLEAN, x.lanes)
        if predicate not in _RAISING:
            return self.value(f"fcmp {predicate} {kind} {x.text}, {y.text}", BOOLEAN, x.lanes)
        result = vector_type("i1", x.lanes)
        function = f"{_MINDFUL}.fcmp.{llvm_suffix(x.dtype, x.lanes)}"
        self.block.module.declare(
            function, f"declare {result} @{function}({kind}, {kind}, metadata, metadata)"
        )
        how = f'metadata !"{predicate}", metadata !"fpexcept.maytrap"'
        text = f"call {result} @{function}({kind} {x.text}, {kind} {y.text}, {how})"
        mask = self.value(text, BOOLEAN, x.lanes)
        if not x.lanes:
            self.block.comparisons[mask.text] = predicate, x, y
        return mask

    def equal_number(self, x: Value, number: Any) -> Value:
        """Whether a real number or an integer is equal to a constant."""
        predicate = "oeq" if x.dtype.kind == "f" else "eq"
        return self.compare(predicate, x, self.constant(number, x))

    def is_nan(self, x: Value) -> Value:
        """Whether a real number is NaN."""
        return self.compare("uno", x, self.constant(0, x))

    def both(self, x: Value, y: Value) -> Value:
        """x and y, of booleans or bits."""
        return self.binary("and", x, y)

    def either(self, x: Value, y: Value) -> Value:
        """x or y, of booleans or bits."""
        return self.binary("or", x, y)

    def invert(self, x: Value) -> Value:
        """Every bit turned over."""
        return self.binary("xor", x, self.constant(True if x.dtype == BOOLEAN else -1, x))

    def select(self, mask: Value, x: Value, y: Value) -> Value:
        """x where the mask holds, y elsewhere; of any dtype."""
        compared = self.block.comparisons.get(mask.text)
        if compared is not None and x.dtype.kind == "f" and not x.lanes:
            predicate, *pair = compared
            if pair in ([x, y], [y, x]):
                order = predicate[1:] if pair == [x, y] else _REVERSED[predicate[1:]]
                extreme = partial(self.extreme, order, x, y)
                return self.of_ordered(extreme, partial(self.in_lanes, mask, x, y), *pair)
            return self.in_lanes(mask, x, y)
        booleans, kind = register_type(mask), register_type(x)
        seldom = _SELDOM if not mask.lanes and x.parts[0] in _NANS else ""
        parts = tuple(
            self.block.op(f"select {booleans} {mask.text}, {kind} {first}, {kind} {second}{seldom}")
            for first, second in zip(x.parts, y.parts, strict=True)
        )
        return Value(parts, x.dtype, x.lanes)

    def in_lanes(self, mask: Value, x: Value, y: Value) -> Value:
        """One of two floats where others were compared.

        Of single numbers, the mask would go through the flags of the processor and back.
        """
        if x.lanes:
            return self.select(mask, x, y)
        predicate, *pair = self.block.comparisons[mask.text]
        lanes = self.compare(predicate, *map(self._paired, pair))
        return self._alone(self.select(lanes, self._paired(x), self._paired(y)))

    def extreme(self, order: str, x: Value, y: Value) -> Value:
        """x where it is before y in an order (`lt`, `ge`), else y; of numbers without NaN.

        That is one instruction where equal numbers give the second. For NaN it raises a flag.
        """
        if order.endswith("e"):
            order, x, y = order.replace("e", "t"), y, x
        kind = register_type(x)
        first = self.block.op(f"fcmp o{order} {kind} {x.text}, {y.text}")
        return self.value(
            f"select {vector_type('i1', x.lanes)} {first}, {kind} {x.text}, {kind} {y.text}",
            x.dtype,
            x.lanes,
        )

    def of_ordered(
        self, usual: Callable[[], Value], with_nan: Callable[[], Value], x: Value, y: Value
    ) -> Value:
        """A value made of two single floats: in one way, and in another where one of them is NaN.

        The question is a branch that the processor foresees, so that the value does not wait for
        its answer.
        """
        block = self.block
        labels = [block.new_label(stem) for stem in ("ordered", "unordered", "chosen")]
        ordered, unordered, chosen = labels
        nan = self.compare("uno", x, y)
        block.rarely(nan.text, unordered, ordered)
        first = usual()
        ways = [f"[{first.text}, %{block.label}]"]
        block.do(f"br label %{chosen}")
        block.place(unordered)
        second = with_nan()
        ways.append(f"[{second.text}, %{block.label}]")
        block.do(f"br label %{chosen}")
        block.place(chosen)
        return self.value(f"phi {register_type(x)} {', '.join(ways)}", x.dtype, 0)

    def _paired(self, x: Value) -> Value:
        """A number as the first of two lanes."""
        kind = register_type(x)
        text = f"insertelement <2 x {kind}> zeroinitializer, {kind} {x.text}, i32 0"
        return self.value(text, x.dtype, 2)

    def _alone(self, x: Value) -> Value:
        """The first of the lanes."""
        return self.value(f"extractelement {register_type(x)} {x.text}, i32 0", x.dtype, 0)

    def change(self, operation: str, x: Value, dtype: np.dtype[Any]) -> Value:
        """A conversion by one instruction: `sitofp`, `trunc`, `bitcast`."""
        target = vector_type(scalar_type(dtype), x.lanes)
        text = f"{operation} {register_type(x)} {x.text} to {target}"
        return self.value(text, dtype, x.lanes)

    def bits(self, x: Value) -> Value:
        """The bits of a float, as a signed integer of the same width."""
        return self.change("bitcast", x, np.dtype(f"i{x.dtype.itemsize}"))

    def sign_bit(self, x: Value) -> Value:
        """Whether the sign of a float is set, also of zero and of NaN."""
        whole = self.bits(x)
        return self.compare("slt", whole, self.constant(0, whole))

    def is_finite(self, x: Value) -> Value:
        """Whether a float is a number; by its bits, for on Arm an order with NaN raises a flag."""
        whole = self.bits(self.absolute(x))
        infinity = np.array(np.inf, x.dtype).view(whole.dtype).item()
        return self.compare("slt", whole, self.constant(infinity, whole))

    def fault(self, mask: Value) -> None:
        """Where the mask holds, the run must be made again by NumPy."""
        self.faults.append((mask.text, mask.lanes))

    def by_lane(self, function: Callable[..., str], *operands: Value) -> Value:
        """A function of single numbers, applied lane by lane.

        function: takes operands as text and returns one, of the dtype of the first operand.
        """
        first = operands[0]
        if not first.lanes:
            return Value((function(*(x.text for x in operands)),), first.dtype)
        kind, scalar = register_type(first), scalar_type(first.dtype)
        result = "poison"
        for lane in range(first.lanes):
            numbers = [
                self.block.op(f"extractelement {register_type(x)} {x.text}, i32 {lane}")
                for x in operands
            ]
            one = function(*numbers)
            result = self.block.op(f"insertelement {kind} {result}, {scalar} {one}, i32 {lane}")
        return Value((result,), first.dtype, first.lanes)


def real_part(x: Value) -> Value:
    """The first part of a complex value; a real one itself."""
    return Value((x.parts[0],), part_dtype(x.dtype), x.lanes)


def imaginary_part(x: Value) -> Value:
    """The second part of a complex value."""
    return Value((x.parts[1],), part_dtype(x.dtype), x.lanes)


def complex_value(real: Value, imaginary: Value) -> Value:
    """The complex value of these parts."""
    dtype = np.dtype(f"c{2 * real.dtype.itemsize}")
    return Value((real.text, imaginary.text), dtype, real.lanes)


def known_number(x: Value) -> Any:
    """The real number that a value is known to be in every lane; None if it is none."""
    if x.text.startswith("%"):
        return None
    texts = {lane.split()[-1] for lane in x.text.strip("<>").split(",")}
    literal = _CONSTANT.fullmatch(texts.pop()) if len(texts) == 1 else None
    if literal is None or x.dtype.kind not in "fiu":
        return None
    if x.dtype.kind == "f":
        return x.dtype.type(np.uint64(int(literal[0], 16)).view(np.float64))
    return x.dtype.type(int(literal[0]))
