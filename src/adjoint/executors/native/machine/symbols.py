"""The names in a module and in an object file, read from their text and bytes; names of our own.

LLVM tells them too, one a call. Each call lets go of Python's lock, which costs a thread up to
5 ms to have again beside a caller who keeps the interpreter busy: some hundred of them would take
longer than compiling does.
"""

from __future__ import annotations

import re
import struct
from typing import Any, Final, NamedTuple

from adjoint.executors.native.machine.module import HOT, PLAIN

# Where in this process lies what no library has under a name: objects of Python and NumPy, and
# functions that are found in tables. Machine code refers to it by names of ours, which the next
# process has too, at other places.
_defined: Final[dict[str, int]] = {}


def define(name: str, address: int) -> str:
    """Give what lies at an address a name for machine code, which is returned."""
    _defined[name] = address
    return name


def address_of(name: str) -> int | None:
    """What was defined under a name."""
    return _defined.get(name)


class Symbols(NamedTuple):
    """The names that an object file shows to others, and those that it wants from others."""

    defined: tuple[str, ...]
    external: tuple[str, ...]


_DEFINITION: Final = re.compile(r'^define [^@\n]*@"?([^"(\n]+)"?\((.*)$', re.MULTILINE)


def functions_to_simplify(text: str) -> list[str]:
    """The functions that a module defines, but for those that say that they need no passes."""
    return [match[1] for match in _DEFINITION.finditer(text) if PLAIN not in match[2]]


def has_variables(text: str) -> bool:
    """Whether a module has memory that it writes, as counters: whoever runs it wants its own."""
    return " = global " in text or " = internal global " in text


_FUNCTION: Final = re.compile(
    r'^define internal ([^@\n]*@"?(?P<name>[-\w.$]+)[^\n]*)\{\n.*?^\}\n', re.MULTILINE | re.DOTALL
)
_COMMON: Final = re.compile(r"^(?:declare|attributes|!|@\S+ = private )[^\n]*\n", re.MULTILINE)
_VARIABLE: Final = re.compile(r"^@(\S+) = (?!private )", re.MULTILINE)
_NAME: Final = re.compile(r'@"?([-\w.$]+)')


def hot_functions(text: str) -> tuple[str, str] | None:
    """A module of the functions of another that are hot, with all they call, and the rest of it.

    None without any, or where they refer to a variable of the module.
    """
    functions = {match["name"]: match for match in _FUNCTION.finditer(text)}
    waiting = [name for name, match in functions.items() if HOT in match[1]]
    hot: dict[str, re.Match[str]] = {}
    used: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in functions and name not in hot:
            hot[name] = functions[name]
            called = set(_NAME.findall(functions[name][0]))
            used |= called
            waiting += called
    if not hot or not used.isdisjoint(_VARIABLE.findall(text)):
        return None
    within = [*_COMMON.findall(text)]
    cold, last = [], 0
    for match in sorted(hot.values(), key=lambda match: match.start()):
        within.append(f"define hidden {match[0].removeprefix('define internal ')}")
        cold.append(f"{text[last : match.start()]}declare hidden {match[1]}\n")
        last = match.end()
    return "".join(within), "".join([*cold, text[last:]])


# --- object files ---------------------------------------------------------------------------------

_ELF: Final = b"\x7fELF\x02\x01"  # of 64 bits, the least significant byte first
_SYMBOL_TABLE: Final = 2  # the type of such a section
_GLOBAL: Final = (1, 2)  # bindings: global and weak
_LINKERS_OWN: Final = frozenset({"", "_GLOBAL_OFFSET_TABLE_"})


def symbols_of(image: bytes, module: Any) -> Symbols:
    """The symbols of an object file that came of a module."""
    return _symbols_of_elf(image) if image.startswith(_ELF) else symbols_of_module(module)


def _symbols_of_elf(image: bytes) -> Symbols:
    """The symbols in the tables of an ELF file."""
    (start,) = struct.unpack_from("<Q", image, 0x28)
    size, count = struct.unpack_from("<HH", image, 0x3A)
    # name, type, flags, address, offset, size, link, information, alignment, size of an entry
    sections = [
        struct.unpack_from("<IIQQQQIIQQ", image, start + number * size) for number in range(count)
    ]
    defined: list[str] = []
    external: list[str] = []
    for section in sections:
        if section[1] != _SYMBOL_TABLE:
            continue
        offset, length, link = section[4:7]
        names = sections[link][4]
        for name, kind, _, home, _, _ in struct.iter_unpack(
            "<IBBHQQ", image[offset : offset + length]
        ):
            if kind >> 4 not in _GLOBAL:
                continue
            begin = names + name
            text = image[begin : image.index(b"\0", begin)].decode()
            if text not in _LINKERS_OWN:
                (defined if home else external).append(text)
    return Symbols(tuple(defined), tuple(external))


def symbols_of_module(module: Any) -> Symbols:
    """The symbols that LLVM knows of a module."""
    defined, external = [], []
    for kind in (module.functions, module.global_variables):
        for symbol in kind:
            name = str(symbol.name)
            if name.startswith("llvm."):
                continue
            if symbol.is_declaration:
                external.append(name)
            elif symbol.linkage.name == "external":
                defined.append(name)
    return Symbols(tuple(defined), tuple(external))
