"""The table of rules: how each primitive is written, for each kind of number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from adjoint.executors.native.elements.writer import ElementWriter
from adjoint.executors.native.machine.module import Value


class Emit(Protocol):
    """Writes the instructions: operands of the dtypes of NumPy's own loop."""

    def __call__(self, writer: ElementWriter, *operands: Value) -> Value:
        """The result, of the loop's output dtype (where the loop has several, booleans)."""


@dataclass(frozen=True, slots=True)
class Rule:
    """How a primitive is written for one kind of number.

    exact: whether its result has the very bits of NumPy's, or those of exact rounding.
    """

    emit: Emit
    exact: bool


# By name, and by the kinds of the operands (`f`, `c`, `i`, `u`, `b`; `iu` where they differ).
RULES: Final[dict[tuple[str, str], Rule]] = {}


def rule(
    names: str, kinds: str, exact: bool = True
) -> Callable[[Callable[..., Value]], Callable[..., Value]]:
    """Enter a rule for these names and kinds, both separated by spaces."""

    def enter(emit: Callable[..., Value]) -> Callable[..., Value]:
        for name in names.split():
            for kind in kinds.split():
                RULES[name, kind] = Rule(emit, exact)
        return emit

    return enter


# Of real numbers of one operand: writes the results of a primitive and of its companion, by name;
# None where that is not cheaper than writing each.
WriteBoth = Callable[[ElementWriter, Value], dict[str, Value] | None]

COMPANIONS: Final[dict[str, WriteBoth]] = {}


def companions(*names: str) -> Callable[[WriteBoth], WriteBoth]:
    """Enter what writes these two at once."""

    def enter(write: WriteBoth) -> WriteBoth:
        for name in names:
            COMPANIONS[name] = write
        return write

    return enter
