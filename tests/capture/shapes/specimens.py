"""The arrays that the functions of the tables are called with: shapes, layouts and dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np

Shape = tuple[int, ...]

SHAPES: tuple[Shape, ...] = (
    *((), (1,), (3,), (5,), (0,)),
    *((2, 3), (3, 2), (3, 3), (1, 1), (0, 3), (3, 0), (0, 0)),
    *((2, 3, 3), (2, 1, 3), (0, 3, 3), (2, 0, 2), (2, 3, 0)),
    *((2, 1, 3, 3), (1, 2, 0, 3)),
)
KINDS = (
    *("float32", "complex128", "complex64", "int64", "uint8", "bool"),
    *("byte-swapped", "read-only", "Fortran", "reversed", "broadcast", "swapped complex"),
)
# Shapes that come in every kind, and the one that does where a call has many axes.
KIND_SHAPES: tuple[Shape, ...] = ((), (3,), (3, 3), (2, 3, 3))

PAIRS: tuple[tuple[Shape, Shape], ...] = (
    *(((), ()), ((3,), ()), ((), (2, 3)), ((3,), (3,)), ((3,), (2,)), ((1,), (3,))),
    *(((2, 3), (3,)), ((2, 3), (2, 1)), ((2, 3), (2,)), ((2, 3), (2, 3)), ((3, 2), (2, 3))),
    *(((3, 3), (3, 3)), ((3, 3), (3,)), ((3,), (3, 3)), ((3, 3), (3, 1)), ((3, 3), ())),
    *(((0,), (0,)), ((0, 3), (3,)), ((0, 3), (1, 3)), ((3, 0), (0, 2)), ((0,), (3,)), ((5,), (0,))),
    *(((2, 1, 3), (4, 1)), ((2, 3, 3), (3,)), ((2, 3, 3), (3, 3)), ((3, 3), (2, 3, 3))),
    *(((2, 3, 3), (2, 3, 3)), ((2, 3, 3), (2, 3, 1)), ((2, 3, 3), (2, 3)), ((5,), (3,))),
    *(((2, 1, 3, 3), (2, 3, 3)), ((0, 3, 3), (3, 3)), ((0, 3, 3), (3,)), ((2, 3, 0), (0,))),
)
KIND_PAIRS = (
    *(("float32", "float64"), ("float32", "float32"), ("float64", "int64"), ("int64", "int64")),
    *(("complex128", "float64"), ("float32", "complex64"), ("bool", "float64"), ("bool", "bool")),
    *(("Fortran", "byte-swapped"), ("read-only", "reversed"), ("uint8", "float32")),
    *(("complex128", "complex128"), ("int64", "float64"), ("float64", "broadcast")),
)
KIND_PAIR_SHAPES: tuple[tuple[Shape, Shape], ...] = (
    *(((3,), (3,)), ((3, 3), (3, 3)), ((2, 3, 3), (3,))),
)


def specimen(shape: Shape, kind: str = "float64", seed: int = 0) -> Any:
    """An array of this shape and kind; of square matrices, whose diagonals are large, a stack."""
    rng = np.random.default_rng((seed, *shape))
    values = rng.uniform(0.3, 0.9, shape)
    if len(shape) > 1 and shape[-1] == shape[-2]:
        values = values + 2 * np.eye(shape[-1])
    if kind in ("complex128", "complex64", "swapped complex"):
        values = values + 1j * rng.uniform(0.2, 0.8, shape)
    if kind in ("int64", "uint8", "bool"):
        values = np.round(4 * values) if kind != "bool" else values > 0.6
    return np.asarray(_laid_out(values, kind))


def _laid_out(values: Any, kind: str) -> Any:
    if kind == "Fortran":
        return np.asfortranarray(values)
    if kind == "reversed":
        values = np.repeat(values, 2, -1)[..., ::-2] if values.ndim else values
    if kind == "broadcast":
        return np.broadcast_to(values[:1], values.shape) if values.ndim else values
    if kind in ("read-only", "reversed"):
        values.flags.writeable = False
        return values
    dtypes = {"byte-swapped": ">f8", "swapped complex": ">c16"}
    return values.astype(dtypes.get(kind, kind)) if kind != "float64" else values


def _singles(shapes: tuple[Shape, ...]) -> dict[str, tuple[Any, ...]]:
    found = {f"float64{shape}": (specimen(shape),) for shape in SHAPES}
    return found | {
        f"{kind}{shape}": (specimen(shape, kind),) for shape in shapes for kind in KINDS
    }


def _pairs() -> dict[str, tuple[Any, ...]]:
    found = {f"{one} {two}": (specimen(one), specimen(two, seed=1)) for one, two in PAIRS}
    return found | {
        f"{first}{one} {second}{two}": (specimen(one, first), specimen(two, second, 1))
        for one, two in KIND_PAIR_SHAPES
        for first, second in KIND_PAIRS
    }


SINGLES = _singles(KIND_SHAPES)
ALONG_AXES = _singles(((2, 3, 3),))
TWO = _pairs()
# For the many ufuncs of SciPy, whose arguments all go one way.
FEW = {
    name: args for name, args in SINGLES.items() if name.startswith("float64(") or "(3,)" in name
}
