"""Functions of Python's library that call functions of the user's: those run as clones.

They are what `functools.singledispatch` and `contextlib.contextmanager` make. Their own code stays.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any, Final

from adjoint.capture.clones.classes import class_of

Rebind = Callable[[Any], Any]
DISPATCHING: Final = functools.singledispatch(lambda _: None).__code__  # type: ignore[attr-defined]


def dispatching(generic: Any, rebind: Rebind) -> Any:
    """A function of `functools.singledispatch`, which asks for the class of its argument."""

    @functools.wraps(generic)
    def dispatch(*args: Any, **kwargs: Any) -> Any:
        if not args:
            return generic(**kwargs)  # which raises
        return rebind(generic.dispatch(class_of(args[0])))(*args, **kwargs)

    return dispatch


def around_clones(
    function: types.FunctionType, is_users: Callable[[Any], bool], rebind: Rebind
) -> Any:
    """A function that closes over functions of the user's, with their clones in their places."""
    cells = [_cell(cell, is_users, rebind) for cell in function.__closure__ or ()]
    if not any(
        made is not cell for made, cell in zip(cells, function.__closure__ or (), strict=True)
    ):
        return function
    made = types.FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        tuple(cells),
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return functools.update_wrapper(made, function)


def _cell(cell: Any, is_users: Callable[[Any], bool], rebind: Rebind) -> Any:
    try:
        content = cell.cell_contents
    except ValueError:  # empty so far
        return cell
    if type(content) is not types.FunctionType or not is_users(content):
        return cell

    @functools.wraps(content)
    def entered(*args: Any, **kwargs: Any) -> Any:
        return rebind(content)(*args, **kwargs)  # as it closes over its names by then

    return types.CellType(entered)
