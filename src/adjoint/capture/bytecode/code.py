"""What can be told of a function from its compiled code: the names that it assigns and reads."""

from __future__ import annotations

import dis
import types
from functools import lru_cache
from typing import Final, NamedTuple

CALLED: Final = "()"
"""What a clone's code adds to a name that it looks up to call it."""
CONSTANTS: Final = frozenset({"LOAD_CONST", "LOAD_COMMON_CONSTANT", "LOAD_SMALL_INT"})
_LOOKS_UP: Final = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL"})
_ATTRIBUTE: Final = frozenset({"LOAD_ATTR", "LOAD_METHOD"})
_REMAINDER: Final = 6  # the argument of BINARY_OP for %, which may be one of text
# Who calls one of these may look at any attribute of an object.
_WHOLE: Final = frozenset(
    {
        *("copy", "deepcopy", "replace", "asdict", "astuple", "fields", "vars", "dir", "pickle"),
        *("getattr", "setattr", "delattr", "hasattr", "attrgetter", "methodcaller"),
    }
)
_WHOLE_ATTRIBUTES: Final = frozenset(
    {"__dict__", "__getattribute__", "__getstate__", "__reduce__", "__slots__", "__setattr__"}
)
_IDENTITY: Final = frozenset({"is_", "is_not", "shares_memory", "may_share_memory", "id"})
_MOST_ORIGINALS: Final = 8192
_TEXT: Final = frozenset({"ascii", "format", "print", "repr", "str"})


class CodeFacts(NamedTuple):
    """stores_globals: assigns globals. stored_cells: outer names it assigns."""

    stores_globals: bool
    stored_cells: frozenset[str]


class CodeReads(NamedTuple):
    """What a function's code, and all code nested in it, may look up.

    names: of globals, also those that it assigns. bare: those of which something else is done than
    to ask for an attribute. chains: names with the attributes that are asked
    of them at once, as ('np', 'linalg', 'solve'). attributes: all attributes' names. imports: the
    modules that are imported. whole: whether it may look at objects as wholes (`vars`, `getattr`).
    texts: whether it may make text of objects. identities: whether it may ask if two objects are
    one. fails: whether it may go on after an error. codes: the code and all code nested in it.
    """

    names: frozenset[str]
    bare: frozenset[str]
    chains: frozenset[tuple[str, ...]]
    attributes: frozenset[str]
    imports: frozenset[str]
    whole: bool
    texts: bool
    identities: bool
    fails: bool
    codes: tuple[types.CodeType, ...]


@lru_cache(maxsize=4096)
def facts_of(code: types.CodeType) -> CodeFacts:
    """The facts of a function's code and of all code nested in it."""
    stores_globals, cells = False, set()
    for instruction in dis.get_instructions(code):
        name = instruction.opname
        if name in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            stores_globals = True
        elif name in ("STORE_DEREF", "DELETE_DEREF"):
            cells.add(str(instruction.argval))
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            inner = facts_of(constant)
            stores_globals = stores_globals or inner.stores_globals
            cells |= inner.stored_cells
    return CodeFacts(stores_globals, frozenset(cells))


_originals: dict[int, tuple[types.CodeType, types.CodeType]] = {}


def note_original(rewritten: types.CodeType, original: types.CodeType) -> None:
    """Note which code a clone's code was made of."""
    if len(_originals) >= _MOST_ORIGINALS:
        _originals.clear()
    _originals[id(rewritten)] = (rewritten, original)


def original_of(code: types.CodeType) -> types.CodeType | None:
    """The user's code that a clone's was made of; None for other code."""
    known = _originals.get(id(code))
    return known[1] if known is not None and known[0] is code else None


def _is_name(constant: object) -> bool:
    """Whether a constant may be the name of an attribute, as `getattr` takes it."""
    return isinstance(constant, str) and constant.isidentifier()


@lru_cache(maxsize=4096)
def reads_of(code: types.CodeType) -> CodeReads:
    """What a function's code and all code nested in it may look up."""
    names: set[str] = set()
    bare: set[str] = set()
    chains: set[tuple[str, ...]] = set()
    imports: set[str] = set()
    attributes = {*code.co_names, *filter(_is_name, code.co_consts)}
    whole = texts = identities = False
    fails = bool(code.co_exceptiontable)
    chain: tuple[str, ...] = ()
    before = ""
    for instruction in dis.get_instructions(code):
        name = instruction.opname
        if len(chain) == 1 and name not in _ATTRIBUTE:
            bare.add(chain[0])
        if name in _LOOKS_UP:
            chain = (str(instruction.argval).removesuffix(CALLED),)
            names.add(chain[0])
        elif name in _ATTRIBUTE and chain:
            chain = (*chain, instruction.argval)
            chains.add(chain)
        else:
            chain = ()
            if name == "IMPORT_NAME":
                imports.add(instruction.argval)
            whole = whole or name == "MATCH_CLASS"
            identities = identities or (name == "IS_OP" and before not in CONSTANTS)
            texts = texts or name.startswith("FORMAT_")
            texts = texts or (name == "BINARY_OP" and instruction.arg == _REMAINDER)
        before = name
    called = {*names, *(path[-1] for path in chains)}
    whole = whole or not _WHOLE.isdisjoint(called - {"copy", "replace"})
    whole = whole or not names.isdisjoint({"copy", "replace"})
    whole = whole or not _WHOLE_ATTRIBUTES.isdisjoint(attributes)
    texts = texts or not _TEXT.isdisjoint(attributes)
    identities = identities or not _IDENTITY.isdisjoint(attributes)
    codes = [code]
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            inner = reads_of(constant)
            names |= inner.names
            bare |= inner.bare
            chains |= inner.chains
            attributes |= inner.attributes
            imports |= inner.imports
            whole, texts = whole or inner.whole, texts or inner.texts
            identities, fails = identities or inner.identities, fails or inner.fails
            codes += inner.codes
    return CodeReads(
        frozenset(names),
        frozenset(bare),
        frozenset(chains),
        frozenset(attributes),
        frozenset(imports),
        whole,
        texts,
        identities,
        fails,
        tuple(codes),
    )
