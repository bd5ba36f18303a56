"""`scipy.fft`: cosine and sine transforms, by Fourier transforms of twice the length.

With w_m = exp(-i pi m / N) as the root of a transform of 2 N entries: cosines are real parts and
sines imaginary ones of sums over x_n w^(k n), turned by half a step where a type has it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.capture.numpy.table import as_array
from adjoint.capture.scipy.table import implements_scipy

_INVERSE_TYPE = {1: 1, 2: 3, 3: 2, 4: 4}


def _turn(steps: Any, length: int) -> Any:
    """exp(-2 pi i steps / length)."""
    return np.exp(-2j * math.pi * np.asarray(steps) / length)


def _weighted(x: Any, first: float, last: float) -> Any:
    """The entries, with other weights at the ends."""
    weights = np.ones(x.shape[-1], x.real.dtype)
    weights[0] *= first
    weights[-1] *= last
    return x * weights


def _sums(x: Any, kind: int, sine: bool) -> Any:
    """Twice the sum over x_n of cosines, or of sines, along the last axis."""
    n = x.shape[-1]
    k, shift = np.arange(n), int(sine)
    if kind == 1:
        length = 2 * (n + 1) if sine else 2 * (n - 1)
        x = x if sine else _weighted(x, 0.5, 0.5)
        turned = _transform(x, shift, length)[..., shift : n + shift]
    elif kind == 2:
        turned = _transform(x, 0, 2 * n)[..., shift : n + shift] * _turn(k + shift, 4 * n)
    elif kind == 3:
        x = _weighted(x, 1.0, 0.5) if sine else _weighted(x, 0.5, 1.0)
        turned = _transform(x * _turn(k + shift, 4 * n), shift, 2 * n)[..., :n]
    else:
        turned = _transform(x * _turn(k, 4 * n), 0, 2 * n)[..., :n] * _turn(2 * k + 1, 8 * n)
    return -2 * np.imag(turned) if sine else 2 * np.real(turned)


def _transform(x: Any, shift: int, length: int) -> Any:
    if shift:
        x = np.concatenate([np.zeros((*x.shape[:-1], shift), x.dtype), x], axis=-1)
    return np.fft.fft(x, length)


def _ends(kind: int, sine: bool) -> tuple[tuple[float, float], tuple[float, float]]:
    """Weights at the ends of what goes in and comes out, that make a transform orthogonal."""
    root = math.sqrt(2)
    if kind == 1 and not sine:
        return (root, root), (1 / root, 1 / root)
    if kind == 2:
        return (1.0, 1.0), ((1.0, 1 / root) if sine else (1 / root, 1.0))
    if kind == 3:
        return ((1.0, root) if sine else (root, 1.0)), (1.0, 1.0)
    return (1.0, 1.0), (1.0, 1.0)


def _along_last(
    x: Any, kind: int, sine: bool, inverse: bool, norm: Any, orthogonal: bool | None
) -> Any:
    if x.dtype.kind == "c":
        parts = (np.real(x), np.imag(x))
        real, imaginary = (_along_last(y, kind, sine, inverse, norm, orthogonal) for y in parts)
        return real + 1j * imaginary
    n = x.shape[-1]
    kind = _INVERSE_TYPE[kind] if inverse else kind
    whole = 2 * (n + (1 if sine else -1) * (kind == 1))
    factor = 1 / math.sqrt(whole) if norm == "ortho" else 1.0
    if (norm == "forward") != inverse and norm != "ortho":
        factor = 1 / whole
    if orthogonal or (orthogonal is None and norm == "ortho"):
        before, after = _ends(kind, sine)
        return factor * _weighted(_sums(_weighted(x, *before), kind, sine), *after)
    return factor * _sums(x, kind, sine)


def _fitted(x: Any, n: Any) -> Any:
    """The first n entries along the last axis, with zeros behind."""
    if n is None or n == x.shape[-1]:
        return x
    if n < x.shape[-1]:
        return x[..., :n]
    return np.concatenate([x, np.zeros((*x.shape[:-1], n - x.shape[-1]), x.dtype)], axis=-1)


def _one(name: str, sine: bool, inverse: bool) -> Callable[..., Any]:
    def transform(
        x: Any,
        type: int = 2,
        n: Any = None,
        axis: int = -1,
        norm: Any = None,
        overwrite_x: Any = False,
        workers: Any = None,
        orthogonalize: bool | None = None,
    ) -> Any:
        x = as_array(x)
        moved = _fitted(np.moveaxis(x * 1.0 if x.dtype.kind in "biu" else x, axis, -1), n)
        result = _along_last(moved, type, sine, inverse, norm, orthogonalize)
        return np.moveaxis(result, -1, axis)

    transform.__name__ = name
    return transform


def _several(name: str, one: Callable[..., Any]) -> Callable[..., Any]:
    def transform(
        x: Any,
        type: int = 2,
        s: Any = None,
        axes: Any = None,
        norm: Any = None,
        overwrite_x: Any = False,
        workers: Any = None,
        *,
        orthogonalize: bool | None = None,
    ) -> Any:
        x = as_array(x)
        s, axes = (y if y is None or np.iterable(y) else (y,) for y in (s, axes))
        if axes is None:
            axes = range(x.ndim) if s is None else range(x.ndim - len(s), x.ndim)
        sizes = [None] * len(axes) if s is None else s
        for axis, size in zip(axes, sizes, strict=True):
            x = one(x, type, size, axis, norm, orthogonalize=orthogonalize)
        return x

    transform.__name__ = name
    return transform


for _stem, _sine in (("dct", False), ("dst", True)):
    for _name in (_stem, f"i{_stem}"):
        _single = _one(_name, _sine, _name != _stem)
        implements_scipy("fft", _name)(_single)
        implements_scipy("fft", f"{_name}n")(_several(f"{_name}n", _single))
