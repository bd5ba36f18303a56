"""What Python asks of a traced array: its truth, its whole number, its hash, its text.

The value answers, and the question is noted (`guards.py`): a program is right where the answer is
the same. Text is a question of its own kind, and conversions that would lose a derivative are
refused (`escape.py`).
"""

from __future__ import annotations

import math
import operator
import sys
from typing import Any

from adjoint.capture.recording.tracing.applying import concrete
from adjoint.capture.recording.tracing.guards import WHOLE
from adjoint.capture.recording.tracing.hooks import hooks
from adjoint.capture.recording.tracing.traced import Traced


def _round(self: Traced, digits: Any = None) -> Any:
    if digits is None:
        return round(concrete(self, "round"))
    return self.round(digits) if self._value is None else round(concrete(self, WHOLE), digits)


def _truth(self: Traced) -> bool:
    """The truth of a value; after the last round, where it is the test of a loop (see `rounds`)."""
    truth = hooks.truth_in_rounds(self, sys._getframe(1))
    return bool(concrete(self, "bool")) if truth is None else truth


def _index(self: Traced) -> int:
    return operator.index(concrete(self))


def formatted(value: Any) -> str:
    """`format(value)`, which NumPy has in other words than `str(value)`."""
    return format(value, "")


for _name, _method in {
    "__bool__": _truth,
    "__int__": lambda self: int(concrete(self, "int")),
    "__index__": _index,
    "__float__": lambda self: float(hooks.escape(self, "float")),
    "__complex__": lambda self: complex(hooks.escape(self, "complex")),
    "__round__": _round,
    "__trunc__": lambda self: int(concrete(self, "int")),
    "__floor__": lambda self: math.floor(concrete(self, "floor")),
    "__ceil__": lambda self: math.ceil(concrete(self, "ceil")),
    "__hash__": lambda self: hash(concrete(self)),
    "__repr__": lambda self: hooks.show(self, repr),
    "__str__": lambda self: hooks.show(self, str),
    "__format__": lambda self, spec: hooks.show(
        self, (lambda value: format(value, spec)) if spec else formatted
    ),
}.items():
    setattr(Traced, _name, _method)
