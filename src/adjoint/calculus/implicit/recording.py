"""A solver's call: computed where all is concrete, and recorded under capture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from adjoint.capture import apply, current, is_known, unwrap, wrap
from adjoint.primitives import Primitive
from adjoint.program import operation


def apply_or_run(
    primitive: Primitive,
    operands: Sequence[Any],
    evaluate: Callable[..., tuple[Any, ...]],
    **params: Any,
) -> tuple[Any, ...]:
    """The results of a primitive on these operands."""
    if not all(map(is_known, operands)):
        return apply(operation(primitive, **params), operands)  # type: ignore[no-any-return]
    results = evaluate(*map(unwrap, operands))
    return results if current() is None else tuple(map(wrap, results))
