"""The seams between the traced array and the tables of NumPy functions.

The files that hold those tables fill them in.
The traced array's class must know what to do on `x @ y` or `x[i]`, and the functions that do it
must know the class: these names stand between the two, so that neither file imports the other in a
circle.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _unset(*args: Any, **kwargs: Any) -> Any:
    raise RuntimeError("adjoint.capture was not imported whole")


UFUNC: Callable[..., Any] = _unset
FUNCTION: Callable[..., Any] = _unset
ESCAPE: Callable[..., Any] = _unset
SHOW: Callable[..., str] = _unset
UNSEEN: Callable[..., str] = _unset
ATTRIBUTE: Callable[..., Any] = _unset
GET: Callable[..., Any] = _unset
SET: Callable[..., None] = _unset
OVERWRITE: Callable[..., Any] = _unset
LIFT_LIST: Callable[..., int] = _unset
AS_OPERAND: Callable[..., Any] = _unset
ALIAS: Callable[..., Any] = _unset
POWER: Callable[..., Any] = _unset
MATMUL: Callable[..., Any] = _unset
STAR: Callable[..., Any] = _unset
IS_SPARSE: Callable[[Any], bool] = _unset
DEFERS: Callable[[Any], bool] = _unset
SETTLED: Callable[..., None] = _unset
SET_SHAPE: Callable[..., None] = _unset
REBIND: Callable[[Any], Any] = _unset
REWRITTEN: Callable[..., Any] = _unset
IS_USERS_FILE: Callable[[str], bool] = _unset
PRODUCTS: dict[tuple[int, int], Any] = {}
# Values that earlier captures derived from their arguments, by identity.
STALE: dict[int, tuple[Any, tuple[int, ...]]] = {}
WARN_OF_STALE: Callable[[Any], None] = _unset
METHODS: dict[str, Callable[..., Any]] = {}
