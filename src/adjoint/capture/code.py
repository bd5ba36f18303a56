"""What can be told of a function from its compiled code: whether it may write into arrays, and
which names it assigns.
"""

from __future__ import annotations

import dis
import types
from functools import lru_cache
from typing import NamedTuple

_IN_PLACE = 13  # the first argument of BINARY_OP that means an in-place operator
_STORES = frozenset({"STORE_SUBSCR", "DELETE_SUBSCR", "STORE_SLICE", "DELETE_ATTR"})
_WRITING_NAMES = frozenset(
    ["at", "fill", "sort", "put", "place", "putmask", "copyto", "partition", "resize", "setfield", "setflags", "byteswap", "shuffle", "fill_diagonal", "put_along_axis", "readinto"]
)


class CodeFacts(NamedTuple):
    """writes: may write into arrays it did not make. stores_globals: assigns globals. stored_cells:
    outer names it assigns.
    """

    writes: bool
    stores_globals: bool
    stored_cells: frozenset[str]


@lru_cache(maxsize=4096)
def facts_of(code: types.CodeType) -> CodeFacts:
    """The facts of a function's code and of all code nested in it."""
    writes = bool(_WRITING_NAMES.intersection(code.co_names)) or any(
        isinstance(constant, tuple) and "out" in constant for constant in code.co_consts
    )
    stores_globals, cells = False, set()
    for instruction in dis.get_instructions(code):
        name = instruction.opname
        if name in _STORES or (name == "BINARY_OP" and (instruction.arg or 0) >= _IN_PLACE):
            writes = True
        elif name in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            stores_globals = True
        elif name in ("STORE_DEREF", "DELETE_DEREF"):
            cells.add(str(instruction.argval))
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            inner = facts_of(constant)
            writes = writes or inner.writes
            stores_globals = stores_globals or inner.stores_globals
            cells |= inner.stored_cells
    return CodeFacts(writes, stores_globals, frozenset(cells))
