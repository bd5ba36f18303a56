"""What loops, branches and recomputation are tried on: small programs in two precisions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from adjoint.base.arrays import ArrayType, array_type
from adjoint.primitives.elementwise import arithmetic, comparison, smooth
from adjoint.primitives.expression import Expression
from adjoint.primitives.samples import Fixed, Sample, draw, sample
from adjoint.program import Builder, Program

WRITTEN_IN: Final = (arithmetic, comparison, smooth)  # so that their operations are declared
_INDEX = array_type((), np.dtype(np.int64))


def _program(function: Callable[..., tuple[Any, ...]], *types: ArrayType) -> Program:
    builder = Builder()
    results = function(*(Expression(builder, builder.input(type_)) for type_ in types))
    return builder.build([result.atom for result in results])


def _types(dtype: Any) -> tuple[ArrayType, ArrayType]:
    return array_type((), np.dtype(dtype)), array_type((3,), np.dtype(dtype))


def _scans(dtype: Any) -> tuple[Sample, ...]:
    scalar, vector = _types(dtype)
    body = _program(
        lambda a, x, k, row: (np.sin(a * x) + row, k + 1, x * row), vector, vector, _INDEX, scalar
    )
    return tuple(
        sample(
            Fixed(np.int64(count)),
            draw(3, dtype=dtype),
            draw(3, dtype=dtype),
            Fixed(np.int64(0)),
            draw(4, dtype=dtype),
            body=body,
            constants=1,
            carried=2,
            length=4,
            reverse=reverse,
            single=False,
        )
        for count, reverse in ((4, False), (4, True))
    )


def _whiles(dtype: Any) -> tuple[Sample, ...]:
    scalar, vector = _types(dtype)
    test = _program(lambda a, k, x: (k < 4,), scalar, _INDEX, vector)
    body = _program(lambda a, k, x: (k + 1, np.sin(a * x)), scalar, _INDEX, vector)
    return (
        sample(
            draw(dtype=dtype),
            Fixed(np.int64(1)),
            draw(3, dtype=dtype),
            test=test,
            body=body,
            constants=1,
            carried=2,
            length=None,
            single=False,
        ),
    )


def _switches(dtype: Any) -> tuple[Sample, ...]:
    scalar, vector = _types(dtype)
    sine = _program(lambda x, y: (np.sin(x) * y, x), vector, scalar)
    product = _program(lambda x, y: (x * x * x, np.exp(x) * y), vector, scalar)
    branches = (sine, product)
    return tuple(
        sample(
            Fixed(np.int64(place)),
            draw(3, dtype=dtype),
            draw(dtype=dtype),
            branches=branches,
            single=False,
        )
        for place in (0, 1)
    )


def _checkpoints(dtype: Any) -> tuple[Sample, ...]:
    scalar, vector = _types(dtype)
    body = _program(lambda x, y: (np.sin(x) * y, np.exp(y) * x), vector, scalar)
    return (
        sample(draw(3, dtype=dtype), draw(dtype=dtype), body=body, schedule=None, single=False),
    )


SCANS: Final = (*_scans(np.float64), *_scans(np.float32))
WHILES: Final = (*_whiles(np.float64), *_whiles(np.float32))
SWITCHES: Final = (*_switches(np.float64), *_switches(np.float32))
CHECKPOINTS: Final = (*_checkpoints(np.float64), *_checkpoints(np.float32))
