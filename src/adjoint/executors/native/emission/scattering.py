"""Writes at indices that are known at run time only: lane after lane, as NumPy has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.executors.native.elements import combine
from adjoint.executors.native.emission.memory import Address
from adjoint.executors.native.emission.values import Values
from adjoint.executors.native.graph.nodes import ArrayNode
from adjoint.executors.native.machine.module import Value, memory_type, register_type


class Scatters:
    """The scatters of one function."""

    def __init__(self, values: Values) -> None:
        self.memory = values.memory
        self.block = values.block
        self.select = values.select

    def write(
        self, node: ArrayNode, address: Address, value: Value, lanes: int, fresh: Value | None
    ) -> None:
        """Write or add lane after lane; lanes that were computed before do not count again."""
        dtype = node.output.type.dtype
        scalar = memory_type(dtype)
        parts = len(value.parts)
        home = self.memory.places[node.output]
        tag = self.memory.tag(home)
        last = self.memory.last_written.get(node.output)
        width = max(home.lanes, 1)  # where each place has numbers for all lanes, one after another
        for lane in range(max(lanes, 1)):
            offset = self._lane_offset(address, lane, lanes)
            pointer = address.pointer
            if offset != "0":
                step = offset
                if parts * width > 1:
                    step = self.block.op(f"mul i64 {offset}, {parts * width}")
                pointer = self.block.op(f"getelementptr {scalar}, ptr {pointer}, i64 {step}")
            first = lane if home.lanes else 0
            places = [
                self.block.op(
                    f"getelementptr {scalar}, ptr {pointer}, i64 {first + number * width}"
                )
                for number in range(parts)
            ]
            new = self._lane(value, lane)
            held = self._lane(fresh, lane) if fresh is not None else None
            if node.combine == "sum" or held is not None:
                old = self._old(places, scalar, dtype, tag)
                both = combine(self.block, "sum", old, new) if node.combine == "sum" else new
                new = both if held is None else self.select(held, both, old)
            for place, text in zip(places, new.parts, strict=True):
                if dtype.kind == "b":
                    text = self.block.op(f"zext i1 {text} to i8")
                self.block.do(f"store {scalar} {text}, ptr {place}, align 1{tag}")
                if last is not None:
                    last.note(node, place, text)

    def _old(self, places: Sequence[str], scalar: str, dtype: np.dtype[Any], tag: str) -> Value:
        texts = [self.block.op(f"load {scalar}, ptr {p}, align 1{tag}") for p in places]
        if dtype.kind == "b":
            texts = [self.block.op(f"trunc i8 {text} to i1") for text in texts]
        return Value(tuple(texts), dtype)

    def _lane_offset(self, address: Address, lane: int, lanes: int) -> str:
        if not lanes:
            return "0"
        if address.stride is not None:
            return str(lane * address.stride)
        return self.block.op(f"extractelement <{lanes} x i64> {address.vector}, i32 {lane}")

    def _lane(self, value: Value, lane: int) -> Value:
        if not value.lanes:
            return value
        wide = register_type(value)
        texts = tuple(
            self.block.op(f"extractelement {wide} {part}, i32 {lane}") for part in value.parts
        )
        return Value(texts, value.dtype)
