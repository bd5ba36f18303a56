"""What objects of the user's classes are by the classes of libraries that they inherit from.

`class Clamped(scipy.interpolate.CubicSpline)`, of NumPy's polynomials, or of `functools.partial`:
what such a class defines is entered, and what it does not is found here.
"""

from __future__ import annotations

import functools
from typing import Any

from adjoint.capture.clones.rebinding import rebind_partial
from adjoint.capture.numpy.polynomials.series import as_series
from adjoint.capture.scipy.inherited import inherited, is_librarys
from adjoint.capture.scipy.table import scipy_part
from adjoint.spaces.polynomials.bases import KINDS


def inherited_method(owner: Any, name: str, base: type, above: Any = None) -> Any:
    """The method of a library's class that an object of the user's inherits; None if it is none.

    base: the class that defines it. above: `super()`, where it is looked up there.
    """
    if name == "__call__" and base is functools.partial:
        return rebind_partial(owner)
    if not is_librarys(base) or isinstance(owner, type) or is_librarys(type(owner)):
        return None
    if name.startswith("__") and name != "__call__":
        return None
    if above is None and name in inside(owner):
        return None
    stand_in = as_series(owner) if isinstance(owner, KINDS) else scipy_part(owner)
    if stand_in is None:
        return None
    theirs = getattr(owner if above is None else above, name)
    return inherited(owner, name, theirs, stand_in) if callable(theirs) else None


def inside(owner: Any) -> dict[str, Any]:
    """The attributes that an object has of its own, and not by its class."""
    return getattr(owner, "__dict__", {})


def inherited_call(owner: Any) -> Any:
    """What is called for an object whose `__call__` is not the user's."""
    kind = type(owner)
    base = next((base for base in kind.__mro__ if "__call__" in base.__dict__), object)
    return inherited_method(owner, "__call__", base) or owner
