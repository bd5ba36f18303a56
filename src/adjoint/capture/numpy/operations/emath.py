"""`numpy.emath`: functions of real numbers whose results are complex outside of their domain.

Whether some number lies outside is a question about values; which dtype follows, NumPy is asked.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.capture.numpy.table import as_array, implements


def _wide(x: Any, beyond: Any) -> Any:
    """Complex, if it is real with a number beyond the domain."""
    x = as_array(x)
    if x.dtype.kind == "c" or not np.any(beyond(x)):
        return x
    return x.astype(np.emath.arccos(np.full(1, 2, x.dtype)).dtype)


def _not_negative(x: Any) -> Any:
    return _wide(x, lambda x: x < 0)


def _within_one(x: Any) -> Any:
    return _wide(x, lambda x: np.abs(x) > 1)


def _implement(name: str, domain: Any) -> None:
    ufunc = getattr(np, name)
    implements(getattr(np.emath, name))(lambda x: ufunc(domain(x)))


for _name in ("sqrt", "log", "log10", "log2"):
    _implement(_name, _not_negative)
for _name in ("arccos", "arcsin", "arctanh"):
    _implement(_name, _within_one)


@implements(np.emath.logn)
def logn(n: Any, x: Any) -> Any:
    """The logarithm to the base n."""
    x, n = _not_negative(x), _not_negative(n)
    return np.log(x) / np.log(n)


@implements(np.emath.power)
def power(x: Any, p: Any) -> Any:
    """x to the power p, of whole numbers with negative exponents too."""
    x, p = _not_negative(x), as_array(p)
    if p.dtype.kind in "iu" and np.any(p < 0):
        p = p * 1.0
    return x**p
