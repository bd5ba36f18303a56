"""What a public namespace shows: the names that users call, and none of the rooms behind them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial


def names_of(module: str) -> Callable[[], list[str]]:
    """The `__dir__` of a module: `dir` and completion show its `__all__`, and no more of it.

    Where there is no `__all__`, they show what is defined in the module itself.
    """
    return partial(_names, module)


def _names(module: str) -> list[str]:
    names = vars(sys.modules[module])
    public = names.get("__all__") or [
        name
        for name, value in names.items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module
    ]
    own = [name for name in names if name.startswith("__") and name.endswith("__")]
    return sorted({*public, *own})
