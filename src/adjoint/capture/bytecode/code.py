"""What can be told of a function from its compiled code.

Whether it may write into arrays, and which names it assigns.
"""

from __future__ import annotations

import dis
import math
import sys
import types
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from adjoint.primitives.special import SPECIAL

_IN_PLACE = 13  # the first argument of BINARY_OP that means an in-place operator
_STORES = frozenset({"STORE_SUBSCR", "DELETE_SUBSCR", "STORE_SLICE", "DELETE_ATTR"})
_WRITING_NAMES = frozenset(
    {
        *("at", "byteswap", "copyto", "fill", "fill_diagonal", "partition", "place", "put"),
        *("put_along_axis", "putmask", "readinto", "resize", "setfield", "setflags", "shuffle"),
        "sort",
    }
)
_DRAWS = ("choice", "integers", "normal", "permutation", "random", "standard_normal", "uniform")
# Methods of these do not write into arrays, but for those above.
_SAFE_NAMES = frozenset(
    name
    for owner in (np.ndarray, np, np.linalg, math, list, dict, str, set, float)
    for name in dir(owner)
) | frozenset({*SPECIAL, *_DRAWS})
_NAMED = frozenset({"LOAD_GLOBAL", "LOAD_DEREF", "LOAD_NAME", "LOAD_CLASSDEREF"})
_MAKES = frozenset({"MAKE_FUNCTION", "SET_FUNCTION_ATTRIBUTE", "IMPORT_FROM", "IMPORT_NAME"})
_NULL_FIRST = sys.version_info < (3, 13)  # PUSH_NULL comes before what is called, and not after


class CodeFacts(NamedTuple):
    """writes: may write into arrays it did not make.

    Stores_globals: assigns globals. stored_cells: outer names it assigns.
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
    instructions = list(dis.get_instructions(code))
    writes = writes or calls_unknown(instructions)
    for instruction in instructions:
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


def calls_unknown(instructions: list[dis.Instruction]) -> bool:
    """Whether code calls what rebinding does not see: methods of objects, functions in containers.

    Names of modules and of closures are seen when they are looked up.
    """
    made_here = {
        after.argval
        for before, after in pairwise(instructions)
        if before.opname in _MAKES and after.opname == "STORE_FAST"
    }
    for place, instruction in enumerate(instructions):
        name = instruction.opname
        if name == "LOAD_METHOD" or (
            name == "LOAD_ATTR" and sys.version_info >= (3, 12) and (instruction.arg or 0) & 1
        ):
            if instruction.argval not in _SAFE_NAMES:
                root = instructions[_root(instructions, place - 1)]
                if root.opname not in _NAMED and root.argval not in made_here:
                    return True
        elif name == "PUSH_NULL":
            callee = instructions[place + 1 if _NULL_FIRST else place - 1]
            key = instructions[min(place + 3, len(instructions) - 1)]
            if _NULL_FIRST and key.opname == "BINARY_SUBSCR":
                return True  # table[key](...)
            if callee.opname not in _NAMED | _MAKES and callee.argval not in made_here:
                return True
    return False


def _root(instructions: list[dis.Instruction], place: int) -> int:
    while place > 0 and instructions[place].opname == "LOAD_ATTR":
        place -= 1
    return place
