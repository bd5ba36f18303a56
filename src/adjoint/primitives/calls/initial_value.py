"""The steps that a solver of differential equations takes: found by values, and then constant."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

from adjoint.base.arrays import ArrayType
from adjoint.primitives.calls.custom import Marks
from adjoint.primitives.declaration import NO_DERIVATIVE, EmptySlot, Primitive
from adjoint.primitives.expression import bind


@dataclass(frozen=True)
class Steps:
    """How steps are found.

    key: the structure. types: of the results. evaluate: arrays of the operands -> the steps.
    batch: the same for each example of a batch.
    """

    key: Hashable
    types: tuple[ArrayType, ...] = field(compare=False)
    evaluate: Callable[..., tuple[Any, ...]] = field(compare=False)
    batch: Callable[[Marks, int], Steps] = field(compare=False)

    def __str__(self) -> str:
        return f"at most {self.types[0].shape[-1]}"


def _batch(operands: Any, batched: Marks, size: int, steps: Steps) -> Any:
    return bind(STEPS, *operands, steps=steps.batch(tuple(batched), size))


STEPS = Primitive(
    "steps",
    infer=lambda *types, steps: steps.types,
    evaluate=lambda *arrays, steps: steps.evaluate(*arrays),
    linear=None,
    derivative=NO_DERIVATIVE,
    transpose=NO_DERIVATIVE,
    batch=_batch,
    samples=EmptySlot("its descriptions are made on a higher floor, and tried by tests/scipy"),
    multiple=True,
    opaque=True,
)
