"""How the tables are laid out by which programs tell the shared entry what to do.

A table, a record and an output are words of eight bytes, one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

ALIGNMENT: Final = 64  # of the workspace

# A table: the kernel, the record of each input, the outputs, the constant arrays that follow the
# inputs, a function of Python's that says whether SciPy's errors are ignored (or null); how many
# inputs, outputs, constant arrays and lent outputs there are; the bytes of the workspace, flags.
TABLE: Final = (
    *("program", "records", "outputs", "constants", "quiet"),
    *("inputs_count", "outputs_count", "constants_count", "lent_count", "bytes", "flags"),
)
GIVEN, RELEASE, ERRORS, BARE = 1, 2, 4, 8  # the flags
# A type: its check, NumPy's dtype and scalar type, Python's type, what makes a scalar (null for
# truth values, of which there are two), how many axes, their lengths, the bytes of a number.
RECORD: Final = ("check", "dtype", "scalar", "python", "allocate", "ndim", "shape", "itemsize")
# An output: its type, the number of the array that is lent for it or -1, how many parts of numbers
# are looked at for NaN or 0, and by which function.
OUTPUT: Final = ("record", "lent", "watched", "search")

ENTER: Final = "adjoint.enter"
ARRAY, LENT, NUMBER, TRUTH, INTEGER, FLOAT = (
    f"adjoint.check.{kind}" for kind in ("array", "lent", "number", "truth", "integer", "float")
)
SEARCHES: Final = {4: "adjoint.has_nan.float", 8: "adjoint.has_nan.double"}
_NUMBERS: Final = frozenset({"ndim", "itemsize", "lent", "watched", "bytes", "flags"})


def kind_of(field: str) -> str:
    """The LLVM type of a field of these: a pointer, but for what is counted."""
    return "i64" if field in _NUMBERS or field.endswith("_count") else "ptr"


def fields(base: str, layout: Sequence[str], wanted: Sequence[str]) -> str:
    """Loads of fields of a table, a record or an output, under their names."""
    return "\n".join(load(name, kind_of(name), base, 8 * layout.index(name)) for name in wanted)


def load(name: str, kind: str, base: str, offset: int) -> str:
    """The load of one field of an object."""
    return (
        f"  %{name}.at = getelementptr i8, ptr {base}, i64 {offset}\n"
        f"  %{name} = load {kind}, ptr %{name}.at"
    )
