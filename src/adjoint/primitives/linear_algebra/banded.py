"""Whether a Hermitian banded matrix is positive definite: a one, or an error.

A factorisation of a sparse matrix solves systems with an indefinite one as well, where SciPy's
`solveh_banded` raises. So its result is multiplied by this one, which Cholesky's factorisation
gives, in a small part of the time.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, array_type
from adjoint.base.errors import ShapeError
from adjoint.primitives.declaration import NO_DERIVATIVE, Primitive
from adjoint.primitives.expression import bind
from adjoint.primitives.samples import draw, sample
from adjoint.primitives.structure.slicing import stack, take


def _type(band: ArrayType, lower: bool) -> ArrayType:
    if band.ndim != 2:
        raise ShapeError(f"a banded matrix is given by an array of two axes, got {band}.")
    real = np.real(np.zeros((), np.result_type(band.dtype, np.float32))).dtype
    return array_type((), real)


def _evaluate(band: Any, lower: bool) -> Any:
    import_module("scipy.linalg").cholesky_banded(band, lower=lower, check_finite=False)
    return np.ones((), _type(array_type(band.shape, band.dtype), lower).dtype)


def _batch(operands: Any, batched: Any, size: int, lower: bool) -> Any:
    (bands,) = operands
    whole = [(0, length, 1) for length in bands.shape[1:]]
    parts = [bind(DEFINITE_BAND, take(bands, (n, *whole)), lower=lower) for n in range(size)]
    return stack(parts, axis=0)


DEFINITE_BAND = Primitive(
    "definite_band",
    infer=_type,
    evaluate=_evaluate,
    linear=None,
    derivative=NO_DERIVATIVE,
    transpose=NO_DERIVATIVE,
    batch=_batch,
    samples=tuple(sample(draw(1, 3, low=1, high=2), lower=lower) for lower in (True, False)),
)
