"""What traced arrays refuse of NumPy's arguments, each with the reason that its message gives."""

from __future__ import annotations

import re

from adjoint.base.errors import (
    DroppedDerivativeError,
    DTypeError,
    UnsupportedFunctionError,
)

REFUSED: dict[str, tuple[type[Exception], str]] = {
    # row: its error, and what the message says
    "np.ravel(F, order='K')": (UnsupportedFunctionError, "order='K'"),
    "np.reshape(F, -1, order='A')": (UnsupportedFunctionError, "order='A'"),
    "np.astype(x, str)": (DTypeError, "dtype <U0"),
    "np.astype(x, object)": (DTypeError, "dtype object"),
    "[o := np.zeros(4, int), np.sum(x, axis=0, out=o)]": (DroppedDerivativeError, "int64"),
    "[o := np.zeros(4), np.sum(np.stack([v, v]) * 1j, axis=0, out=o)]": (DTypeError, "imaginary"),
    "[o := np.zeros(3), np.multiply.at(o, [0], 1j * s)]": (DTypeError, "complex128"),
    "np.sum(n, initial=1j * s)": (DTypeError, "complex"),
}
_EXPECTED = re.compile(
    r"depends on the layout|be made one of dtype|truncates them and loses|drops the imaginary|"
    r"np.asarray\(\) was called|float\(\) was called|complex number cannot be put|"
    r"Cannot cast ufunc '\w+' output from dtype\('complex128'\)"
)


def is_expected(said: str) -> bool:
    """Whether what the sweep says of a row is one of these refusals."""
    return "UNSUPPORTED" in said and bool(_EXPECTED.search(said))
