"""A NumPy function as one of JAX's, which calls it on the host; so are its derivatives."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from contextvars import copy_context
from importlib import import_module
from typing import Any, Final, Literal, NamedTuple, get_args

import numpy as np

from adjoint.base import pytrees
from adjoint.base.arrays import ArrayType, array_type
from adjoint.base.errors import ArgumentError, ArgumentTypeError, UnknownResultError
from adjoint.calculus.arguments import check_callable
from adjoint.executors.xla import backend
from adjoint.executors.xla.words import pack, packed, unpack, unpacked
from adjoint.interop.flat import FlatFunction, results_declared, results_on_types

JaxMode = Literal["reverse", "forward", "matrix"]
_OPERAND: Final = object()
_KEPT: Final = 256  # signatures of a function


def jax(function: Callable[..., Any], *, mode: JaxMode = "reverse", result: Any = None) -> Any:
    """A NumPy function as a function of JAX's, with its derivatives.

    It can be called within JAX code, under `jax.jit` and `jax.vmap` too; it runs on the host
    (`jax.pure_callback`). Its derivatives are those of adjoint. In a batch it runs as one program,
    or row by row where it asks for values.

    Arguments and results may be trees. Arrays and numbers in them are operands, by the types that
    JAX gives them: without JAX's double precision all is in single precision. Other leaves are
    passed on as they are.

    Args:
        function: plain NumPy code without side effects.
        mode: which derivatives JAX may ask for. "reverse": `jax.grad`, `vjp`, `jacrev`, nested to
            any order. "forward": `jax.jvp`, `jacfwd`, nested. "matrix": all of them in any order,
            `jax.hessian` and `linearize` too, by the Jacobian matrix as a whole, which costs no
            more than a gradient where the result is one number; real numbers only.
        result: the type of the result, where it cannot be told without values: an array, a tree of
            arrays, or a function of the arguments that returns one. It is given objects with
            `shape` and `dtype`.

    Returns:
        The function of JAX's arrays.

    Raises:
        ArgumentError: there is no such mode.
        ArgumentTypeError: what is given is no function; or, in mode "matrix", numbers are complex.
        UnknownResultError: it asks for values, and was called under `jax.jit` or the like.
        XlaUnavailableError: JAX is not there, or is of a version that is wrong.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> import jax, jax.numpy as jnp  # doctest: +SKIP
        >>> energy = ad.interop.jax(lambda x: np.sum(x**3))  # doctest: +SKIP
        >>> jax.jit(jax.grad(lambda x: 2 * energy(x)))(jnp.array([1.0, 2.0]))  # doctest: +SKIP
        Array([ 6., 24.], dtype=float32)
    """
    check_callable(function, "interop.jax")
    if mode not in get_args(JaxMode):
        raise ArgumentError(f"mode must be one of {', '.join(get_args(JaxMode))}, got {mode!r}.")
    backend.jax()
    name = getattr(function, "__name__", type(function).__name__)
    kept: dict[Any, _Signature] = {}

    @functools.wraps(function)
    def bridged(*args: Any, **kwargs: Any) -> Any:
        call = _call_of(args, kwargs)
        signature = kept.get(call.key)
        if signature is None:
            signature = _signature(name, function, call, mode, result)
            if len(kept) >= _KEPT:
                kept.clear()
            kept[call.key] = signature
        results = signature.apply(*call.operands)
        return pytrees.unflatten(signature.treedef, results)

    return bridged


# --- calls ----------------------------------------------------------------------------------------


class _Call(NamedTuple):
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


class _Signature(NamedTuple):
    """A bridged function of arrays, and the structure of its result."""

    apply: Callable[..., tuple[Any, ...]]
    treedef: Any


def _call_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Call:
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
    call = _Call(treedef, tuple(statics), operands, types)
    try:
        hash(call.key)
    except TypeError:
        raise ArgumentTypeError(
            "A function of ad.interop.jax was called with an argument that is no array and cannot "
            "be hashed. Pass arrays and numbers, in containers that JAX knows."
        ) from None
    return call


def _signature(
    name: str, function: Callable[..., Any], call: _Call, mode: JaxMode, result: Any
) -> _Signature:
    def flat(*arrays: Any) -> tuple[Any, ...]:
        args, kwargs = call.join(arrays)
        leaves, structure = pytrees.flatten(function(*args, **kwargs))
        if not pytrees.alike(structure, treedef):
            raise ArgumentTypeError(
                f"{name} returned {pytrees.structure_text(structure)}; expected "
                f"{pytrees.structure_text(treedef)}, as before for arguments of these types."
            )
        return tuple(leaves)

    types, treedef = _results(name, function, call, result)
    known = backend.jax().dtypes.canonicalize_dtype
    outputs = [array_type(type_.shape, known(type_.dtype)) for type_ in types]
    whole = FlatFunction(name, flat, call.types, outputs, bilinear=True)
    return _Signature(_BRIDGES[mode](whole), treedef)


def _results(
    name: str, function: Callable[..., Any], call: _Call, result: Any
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
        found = dict(zip(flat.moving, slopes, strict=True))
        return tuple(found.get(place) for place in range(len(operands)))

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
        found = dict(zip(flat.varying, slopes, strict=bool(slopes)))
        return results, tuple(
            found[place] if place in found else _no_tangent(module, type_)
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
