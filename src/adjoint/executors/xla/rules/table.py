"""The table of lowering rules, which the files beside this one fill.

    rule(work, equation, *operands) -> the result, a tuple of them, or None: on the host

`work` is the `XlaLowering`; operands are JAX's arrays, of the dtypes of the program.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, Final

Rule = Callable[..., Any]

RULES: Final[dict[str, Rule]] = {}
_ROOMS: Final = ("elementwise", "structure", "loops", "linear_algebra", "special")


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Enter a function as the rule of primitives, by their names."""

    def enter(function: Rule) -> Rule:
        for name in names:
            if name in RULES:
                raise ValueError(f"there are two rules for {name}")
            RULES[name] = function
        return function

    return enter


@cache
def load_rules() -> None:
    """Let all rules be entered."""
    for room in _ROOMS:
        import_module(f"adjoint.executors.xla.rules.{room}")
