"""Shapes, indices, reductions, products, orders and Fourier transforms."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from adjoint.executors.xla.rules.table import rule
from adjoint.primitives.structure.slicing import numpy_index
from adjoint.program import Equation

_FEW: Final = 64  # places of a window that are summed one after the other

# --- shapes ---------------------------------------------------------------------------------------


@rule("reshape")
def _reshape(work: Any, equation: Equation, x: Any) -> Any:
    return work.np.reshape(x, equation.params["shape"])


@rule("transpose")
def _transpose(work: Any, equation: Equation, x: Any) -> Any:
    return work.np.transpose(x, equation.params["axes"])


@rule("broadcast")
def _broadcast(work: Any, equation: Equation, x: Any) -> Any:
    return work.np.broadcast_to(x, equation.params["shape"])


@rule("concatenate", "stack")
def _joined(work: Any, equation: Equation, *arrays: Any) -> Any:
    dtype = equation.outputs[0].type.dtype
    join = getattr(work.np, equation.primitive.name)
    return join([work.cast(x, dtype) for x in arrays], equation.params["axis"])


@rule("fill")
def _fill(work: Any, equation: Equation) -> Any:
    params = equation.params
    return work.np.full(params["shape"], params["value"], params["dtype"])


@rule("iota")
def _iota(work: Any, equation: Equation) -> Any:
    return work.np.arange(equation.params["length"])


@rule("constant")
def _constant(work: Any, equation: Equation) -> Any:
    return work.np.asarray(equation.params["array"].value)


@rule("diagonal_matrix")
def _diagonal_matrix(work: Any, equation: Equation, x: Any) -> Any:
    return x[..., None] * work.np.eye(x.shape[-1], dtype=x.dtype)


@rule("diagonal_part")
def _diagonal_part(work: Any, equation: Equation, x: Any) -> Any:
    return work.np.diagonal(x, axis1=-2, axis2=-1)


# --- indices --------------------------------------------------------------------------------------


@rule("slice")
def _slice(work: Any, equation: Equation, x: Any) -> Any:
    return x[numpy_index(equation.params["index"])]


@rule("update", "increment")
def _update(work: Any, equation: Equation, x: Any, value: Any) -> Any:
    dtype = equation.outputs[0].type.dtype
    place = work.cast(x, dtype).at[numpy_index(equation.params["index"])]
    value = work.cast(value, dtype)
    return place.set(value) if equation.primitive.name == "update" else place.add(value)


def _within(work: Any, shape: tuple[int, ...], indices: Any) -> tuple[Any, ...]:
    """Indices counted from the first entry; one beyond its axis is a fault."""
    counted = []
    for index, length in zip(indices, shape, strict=False):
        index = work.cast(index, np.dtype(np.int64))
        work.fault((index >= length) | (index < -length))
        counted.append(work.np.where(index < 0, index + length, index))
    return tuple(counted)


@rule("gather")
def _gather(work: Any, equation: Equation, x: Any, *indices: Any) -> Any:
    return x.at[_within(work, x.shape, indices)].get(mode="clip")


def _flat(work: Any, shape: tuple[int, ...], indices: Any) -> Any:
    return work.np.ravel_multi_index(indices, shape[: len(indices)], mode="clip").ravel()


def _is_last(work: Any, shape: tuple[int, ...], indices: Any) -> Any:
    """Which of the places that are written is not written again later."""
    flat = _flat(work, shape, indices)
    order = work.np.arange(flat.size)
    owner = work.np.full(int(np.prod(shape[: len(indices)])), -1, order.dtype)
    return (owner.at[flat].max(order)[flat] == order).reshape(indices[0].shape)


@rule("last_write")
def _last_write(work: Any, equation: Equation, *indices: Any) -> Any:
    shape = equation.params["shape"]
    indices = tuple(work.np.broadcast_arrays(*_within(work, shape, indices)))
    return _is_last(work, shape, indices)


@rule("gather_set", "gather_add")
def _write(work: Any, equation: Equation, x: Any, value: Any, *indices: Any) -> Any:
    dtype, xp = equation.outputs[0].type.dtype, work.np
    x, value = work.cast(x, dtype), work.cast(value, dtype)
    indices = tuple(xp.broadcast_arrays(*_within(work, x.shape, indices)))
    value = xp.broadcast_to(value, indices[0].shape + x.shape[len(indices) :])
    if equation.primitive.name == "gather_add":
        return x.at[indices].add(value, mode="drop")
    # Of two values for one place the later one counts: the earlier is sent beyond the axis.
    last = _is_last(work, x.shape, indices)
    first = xp.where(last, indices[0], x.shape[0])
    return x.at[(first, *indices[1:])].set(value, mode="drop")


# --- reductions and products ----------------------------------------------------------------------


@rule("sum")
def _sum(work: Any, equation: Equation, x: Any) -> Any:
    if x.dtype.kind == "b":
        return work.np.any(x, equation.params["axes"])
    return work.np.sum(x, equation.params["axes"], dtype=x.dtype)


@rule("max", "min", "any", "all")
def _reduce(work: Any, equation: Equation, x: Any) -> Any:
    if x.dtype.kind == "c":
        return None  # NumPy compares real parts first
    return getattr(work.np, equation.primitive.name)(x, equation.params["axes"])


@rule("argmax", "argmin")
def _place(work: Any, equation: Equation, x: Any) -> Any:
    if x.dtype.kind == "c":
        return None
    return getattr(work.np, equation.primitive.name)(x, equation.params["axes"][0])


@rule("cumulative_sum")
def _cumulative_sum(work: Any, equation: Equation, x: Any) -> Any:
    axis, xp = equation.params["axis"], work.np
    if equation.params["reverse"]:
        return xp.flip(xp.cumsum(xp.flip(x, axis), axis, dtype=x.dtype), axis)
    return xp.cumsum(x, axis, dtype=x.dtype)


@rule("contract")
def _contract(work: Any, equation: Equation, x: Any, y: Any) -> Any:
    dtype = equation.outputs[0].type.dtype
    if dtype.kind == "b":
        return None
    x, y = work.cast(x, dtype), work.cast(y, dtype)
    return work.np.einsum(equation.params["spec"], x, y, precision="highest")


@rule("strong_contract")
def _strong_contract(
    work: Any, equation: Equation, x: Any, y: Any, hard_x: Any, hard_y: Any
) -> Any:
    """As NumPy's: terms that are infinite or undefined count where neither factor is hard."""
    dtype, xp = equation.outputs[0].type.dtype, work.np
    x, y, soft_x, soft_y = work.cast(x, dtype), work.cast(y, dtype), ~hard_x, ~hard_y

    def product(one: Any, other: Any) -> Any:
        return xp.einsum(equation.params["spec"], one, other, precision="highest")

    def any_term(one: Any, other: Any) -> Any:
        return product((one & soft_x).astype(float), (other & soft_y).astype(float)) > 0

    good_x, good_y = xp.isfinite(x), xp.isfinite(y)
    finite = product(xp.where(good_x & soft_x, x, 0), xp.where(good_y & soft_y, y, 0))
    if dtype.kind == "c":
        lost = any_term(~good_x, True) | any_term(True, ~good_y)
        return xp.where(lost, xp.nan, finite)
    big_x, big_y = xp.isinf(x), xp.isinf(y)
    lost = any_term(xp.isnan(x), True) | any_term(True, xp.isnan(y))
    lost |= any_term(big_x, y == 0) | any_term(x == 0, big_y)
    up = down = xp.asarray(False)
    for sign in (1, -1):
        for one, other in ((big_x, ~xp.isnan(y)), (~xp.isnan(x), big_y)):
            up = up | any_term(one & (sign * x > 0), other & (sign * y > 0))
            down = down | any_term(one & (sign * x > 0), other & (sign * y < 0))
    total = xp.where(up, xp.inf, xp.where(down, -xp.inf, finite))
    return xp.where(lost | (up & down), xp.nan, total)


@rule("correlation")
def _correlation(work: Any, equation: Equation, x: Any, w: Any) -> Any:
    type_ = equation.outputs[0].type
    if not w.size <= _FEW:
        return None
    total = work.np.zeros(type_.shape, type_.dtype)
    for place in np.ndindex(*w.shape):
        part = tuple(slice(k, k + n) for k, n in zip(place, type_.shape, strict=True))
        total = total + x[part] * w[place]
    return total


@rule("recurrence")
def _recurrence(work: Any, equation: Equation, a: Any, u: Any) -> Any:
    dtype = equation.outputs[0].type.dtype
    a, u = work.cast(a, dtype), work.np.moveaxis(work.cast(u, dtype), -1, 0)
    order = a.shape[0] - 1

    def one(past: Any, now: Any) -> Any:
        value = (now - work.np.tensordot(a[1:], past, 1)) / a[0]
        return work.np.concatenate([value[None], past])[:order], value

    begin = work.np.zeros((order, *u.shape[1:]), dtype)
    return work.np.moveaxis(work.lax.scan(one, begin, u)[1], 0, -1)


@rule("warn_where_zero")
def _warn_where_zero(work: Any, equation: Equation, count: Any) -> Any:
    work.fault(count == 0)
    return count


# --- orders and transforms ------------------------------------------------------------------------


@rule("argsort")
def _argsort(work: Any, equation: Equation, x: Any) -> Any:
    if x.dtype.kind == "c":
        return None
    return work.np.argsort(x, equation.params["axis"], stable=True)


@rule("searchsorted")
def _searchsorted(work: Any, equation: Equation, a: Any, v: Any) -> Any:
    if equation.params["lead"] or "c" in (a.dtype.kind, v.dtype.kind):
        return None
    common = np.result_type(a.dtype, v.dtype)
    a, v = work.cast(a, common), work.cast(v, common)
    return work.np.searchsorted(a, v, side=equation.params["side"])


@rule("fft")
def _fft(work: Any, equation: Equation, x: Any) -> Any:
    params = equation.params
    transform = work.np.fft.ifft if params["inverse"] else work.np.fft.fft
    return transform(x, None, params["axis"], params["norm"])


@rule("rfft")
def _rfft(work: Any, equation: Equation, x: Any) -> Any:
    axis = equation.params["axis"]
    half = work.np.fft.rfft(x, None, axis, equation.params["norm"])
    return _weighted(half, x.shape[axis], axis, equation.params["inner"])


@rule("irfft")
def _irfft(work: Any, equation: Equation, x: Any) -> Any:
    n, axis = equation.params["n"], equation.params["axis"]
    half = _weighted(x, n, axis, equation.params["inner"])
    return work.np.fft.irfft(half, n, axis, equation.params["norm"])


def _weighted(half: Any, n: int, axis: int, inner: float) -> Any:
    place = (*(slice(None),) * axis, slice(1, (n + 1) // 2))
    return half if inner == 1 else half.at[place].multiply(inner)
