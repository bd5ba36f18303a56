"""A NumPy function as one of JAX's, which calls it on the host; so are its derivatives."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from contextvars import copy_context
from importlib import import_module
from typing import Any, Final, NamedTuple

import numpy as np

from adjoint.base import pytrees
from adjoint.base.arrays import ArrayType, array_type
from adjoint.base.errors import ArgumentTypeError, UnknownResultError
from adjoint.base.settings import settings
from adjoint.executors.xla import backend
from adjoint.executors.xla.words import pack, packed, unpack, unpacked
from adjoint.interop.flat import FlatFunction, entered, results_declared, results_on_types

_OPERAND: Final = object()
_KEPT: Final = 256  # signatures of a function


def bridged(function: Callable[..., Any], mode: str, result: Any) -> Any:
    """The function of JAX's; see `front.jax`."""
    backend.jax()
    name = getattr(function, "__name__", type(function).__name__)
    kept: dict[Any, _Bridged] = {}

    @functools.wraps(function)
    def apply(*args: Any, **kwargs: Any) -> Any:
        call = _call_of(args, kwargs)
        key = (call.key, settings(), backend.jax().config.jax_enable_x64)
        signature = kept.get(key)
        if signature is None:
            signature = _signature(name, function, call, mode, result)
            if len(kept) >= _KEPT:
                kept.clear()
            kept[key] = signature
        results = signature.apply(*call.operands)
        return pytrees.unflatten(signature.treedef, results)

    return apply


# --- calls ----------------------------------------------------------------------------------------


class _JaxCall(NamedTuple):
    """Arguments taken apart: their structure, what is static in it, and the arrays."""

    treedef: Any
    statics: tuple[Any, ...]
    operands: list[Any]
    types: tuple[ArrayType, ...]

    @property
    def key(self) -> Any:
        """What signatures are kept by."""
        return self.treedef, tuple((type(x), x) for x in self.statics), self.types

    def join(self, arrays: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with these in the places of the arrays."""
        waiting = iter(arrays)
        leaves = [next(waiting) if leaf is _OPERAND else leaf for leaf in self.statics]
        whole: tuple[tuple[Any, ...], dict[str, Any]] = self.treedef.unflatten(leaves)
        return whole


class _Bridged(NamedTuple):
    """A bridged function of arrays, and the structure of its result."""

    apply: Callable[..., tuple[Any, ...]]
    treedef: Any


def _call_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> _JaxCall:
    module, numpy = backend.jax(), import_module("jax.numpy")
    leaves, treedef = module.tree_util.tree_flatten((args, kwargs))
    numbers = (module.Array, np.ndarray, np.generic, bool, int, float, complex)
    statics, operands = [], []
    for leaf in leaves:
        if isinstance(leaf, numbers):
            operands.append(numpy.asarray(leaf))
            leaf = _OPERAND
        statics.append(leaf)
    types = tuple(array_type(x.shape, x.dtype) for x in operands)
    call = _JaxCall(treedef, tuple(statics), operands, types)
    try:
        hash(call.key)
    except TypeError:
        raise ArgumentTypeError(
            "A function of ad.interop.jax was called with an argument that is no array and cannot "
            "be hashed. Pass arrays and numbers, in containers that JAX knows."
        ) from None
    return call


def _signature(
    name: str, function: Callable[..., Any], call: _JaxCall, mode: str, result: Any
) -> _Bridged:
    def apply(target: Any, arrays: Sequence[Any]) -> tuple[Any, ...]:
        args, kwargs = call.join(arrays)
        leaves, structure = pytrees.flatten(target(*args, **kwargs))
        if not pytrees.alike(structure, treedef):
            raise ArgumentTypeError(
                f"{name} returned {pytrees.structure_text(structure)}; expected "
                f"{pytrees.structure_text(treedef)}, as before for arguments of these types."
            )
        return tuple(leaves)

    types, treedef = _results(name, function, call, result)
    known = backend.jax().dtypes.canonicalize_dtype
    outputs = [array_type(type_.shape, known(type_.dtype)) for type_ in types]
    whole = FlatFunction(name, entered(function), apply, call.types, outputs, bilinear=True)
    # Called by itself, it would be traced and compiled at every call.
    return _Bridged(backend.jax().jit(_BRIDGES[mode](whole)), treedef)


def _results(
    name: str, function: Callable[..., Any], call: _JaxCall, result: Any
) -> tuple[list[ArrayType], Any]:
    if result is not None:
        return results_declared(name, result, *call.join(call.types))

    def apply(target: Any, arrays: Any) -> Any:
        args, kwargs = call.join(arrays)
        return target(*args, **kwargs)

    try:
        return results_on_types(name, function, apply, call.types)
    except UnknownResultError:
        tracer = backend.jax().core.Tracer
        if any(isinstance(x, tracer) for x in call.operands):
            raise
    values = [np.asarray(x) for x in call.operands]
    return results_declared(name, apply(function, [x if x.ndim else x[()] for x in values]), (), {})


# --- on the host ----------------------------------------------------------------------------------


def _on_host(flat: FlatFunction) -> Callable[..., tuple[Any, ...]]:
    """The function itself, without derivatives, as JAX calls it."""
    module = backend.jax()
    empty = [packed(np.empty(type_.shape, type_.dtype)) for type_ in flat.outputs]
    structs = tuple(module.ShapeDtypeStruct(x.shape, x.dtype) for x in empty)
    # Older versions of JAX know no more than one row after another, which is their default.
    options = inspect.signature(module.pure_callback).parameters
    rows = {"vmap_method": "expand_dims"} if "vmap_method" in options else {}

    def apply(*operands: Any) -> tuple[Any, ...]:
        context = copy_context()  # the settings that are in force here hold in XLA's threads

        def call(*arrays: Any) -> tuple[Any, ...]:
            pairs = zip(arrays, flat.inputs, strict=True)
            values = [unpacked(x, type_.dtype) for x, type_ in pairs]
            return tuple(map(packed, context.copy().run(flat.run_rows, *values)))

        travelled = module.pure_callback(call, structs, *map(pack, operands), **rows)
        pairs = zip(travelled, flat.outputs, strict=True)
        return tuple(unpack(x, type_.dtype) for x, type_ in pairs)

    return apply


# --- derivatives ----------------------------------------------------------------------------------


@functools.lru_cache(maxsize=4 * _KEPT)
def _with_pullback(flat: FlatFunction) -> Callable[..., tuple[Any, ...]]:
    """By reverse mode."""
    apply: Callable[..., tuple[Any, ...]] = backend.jax().custom_vjp(_on_host(flat))

    def forward(*operands: Any) -> tuple[Any, Any]:
        return apply(*operands), operands

    def backward(operands: Any, cotangents: Any) -> tuple[Any, ...]:
        if not (flat.moving and flat.varying):
            return (None,) * len(operands)
        seeds = [cotangents[place] for place in flat.varying]
        slopes = _with_pullback(flat.pullback)(*operands, *seeds)
        slope_at = dict(zip(flat.moving, slopes, strict=True))
        return tuple(slope_at.get(place) for place in range(len(operands)))

    apply.defvjp(forward, backward)  # type: ignore[attr-defined]
    return apply


def _with_tangents(flat: FlatFunction, push: Callable[..., Sequence[Any]]) -> Any:
    """By a rule (operands, tangents that move) -> tangents that vary."""
    module = backend.jax()
    apply = module.custom_jvp(_on_host(flat))

    def rule(primals: Any, tangents: Any) -> tuple[Any, Any]:
        results = apply(*primals)
        slopes: Sequence[Any] = ()
        if flat.moving and flat.varying:
            slopes = push(*primals, *(tangents[place] for place in flat.moving))
        slope_at = dict(zip(flat.varying, slopes, strict=bool(slopes)))
        return results, tuple(
            slope_at[place] if place in slope_at else _no_tangent(module, type_)
            for place, type_ in enumerate(flat.outputs)
        )

    apply.defjvp(rule)
    return apply


def _no_tangent(module: Any, type_: ArrayType) -> Any:
    dtype = type_.dtype if type_.inexact else module.dtypes.float0
    return np.zeros(type_.shape, dtype)


@functools.lru_cache(maxsize=4 * _KEPT)
def _with_pushforward(flat: FlatFunction) -> Callable[..., tuple[Any, ...]]:
    """By forward mode."""

    def push(*operands: Any) -> Sequence[Any]:
        return _with_pushforward(flat.pushforward)(*operands)

    applied: Callable[..., tuple[Any, ...]] = _with_tangents(flat, push)
    return applied


@functools.lru_cache(maxsize=4 * _KEPT)
def _with_matrix(flat: FlatFunction) -> Callable[..., tuple[Any, ...]]:
    """By the Jacobian matrix, which JAX multiplies by tangents and by cotangents."""
    if any(type_.dtype.kind == "c" for type_ in (*flat.inputs, *flat.outputs)):
        raise ArgumentTypeError(
            f"ad.interop.jax(mode='matrix') was asked of {flat.name} with complex numbers, whose "
            "Jacobian is no matrix of such numbers. Use mode='reverse' or mode='forward'."
        )
    numpy = import_module("jax.numpy")
    count = len(flat.inputs)
    ends = np.cumsum([type_.size for type_ in flat.varying_types])[:-1]

    def push(*operands: Any) -> Sequence[Any]:
        (matrix,) = _with_matrix(flat.matrix)(*operands[:count])
        row = numpy.concatenate([numpy.reshape(x, -1) for x in operands[count:]])
        product = matrix @ row.astype(matrix.dtype)
        parts = zip(numpy.split(product, ends), flat.varying_types, strict=True)
        return [x.astype(type_.dtype).reshape(type_.shape) for x, type_ in parts]

    applied: Callable[..., tuple[Any, ...]] = _with_tangents(flat, push)
    return applied


_BRIDGES: Final[dict[str, Callable[[FlatFunction], Callable[..., tuple[Any, ...]]]]] = {
    "reverse": _with_pullback,
    "forward": _with_pushforward,
    "matrix": _with_matrix,
}
