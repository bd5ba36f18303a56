"""Products in which an exact zero stays zero: run only when the plain product has made a NaN."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.primitives.contraction import lowering


def strong_contract(x: Any, y: Any, spec: str) -> Any:
    """A contraction in which zero times anything is zero, also times infinity or NaN."""
    x, y = np.asarray(x), np.asarray(y)
    product = lowering(spec)
    bad_x, bad_y = ~np.isfinite(x), ~np.isfinite(y)
    plain = product(x, y)
    if not (bad_x.any() or bad_y.any()):
        return plain
    finite = product(np.where(bad_x, 0, x), np.where(bad_y, 0, y))
    # How many terms of each entry are truly infinite or undefined: a bad factor against one that is
    # not zero.
    count = product(bad_x.astype(float), (y != 0).astype(float))
    count = count + product((x != 0).astype(float), bad_y.astype(float))
    return np.where(count > 0, plain, finite).astype(plain.dtype)
