"""A NumPy function as one of PyTorch's; its derivatives are such functions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from adjoint.base import pytrees
from adjoint.base.arrays import ArrayType, array_type
from adjoint.base.errors import ArgumentTypeError, MissingRuleError, ValueNeededError
from adjoint.calculus import jit, vmap
from adjoint.interop.flat import FlatFunction, results_on_types
from adjoint.interop.torch_library import torch_module
from adjoint.interop.torch_operator import call_operator, new_key

_KEPT: Final = 64  # signatures of a function, and types at each that have derivatives
_TENSOR: Final = object()  # where a tensor stands among the leaves of arguments


def bridged(function: Callable[..., Any]) -> Any:
    """The function of PyTorch's; see `front.torch`."""
    module, call = torch_module(), _function_class()
    kept: dict[Any, _TensorSignature] = {}

    def run(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        leaves, treedef = pytrees.flatten((args, kwargs))
        tensors = [leaf for leaf in leaves if isinstance(leaf, module.Tensor)]
        statics = [_TENSOR if isinstance(leaf, module.Tensor) else leaf for leaf in leaves]
        work = _TensorCall(_signature(function, treedef, statics, kept))
        results = call.apply(work, *tensors)
        return pytrees.unflatten(work.structure, results)

    @functools.wraps(function)
    def apply(*args: Any, **kwargs: Any) -> Any:
        # What compiles bytecode would enter adjoint, and knows nothing of it: it goes around.
        if module.compiler.is_compiling():
            return module.compiler.disable(run)(args, kwargs)
        return run(args, kwargs)

    return apply


# --- functions of arrays --------------------------------------------------------------------------


class _TorchWork:
    """A function of arrays whose signature is that of the tensors that it is given.

    count: how many results there are; None where only a call tells. known: their types; None where
    these are to be found out. key: what the operators find it by.
    """

    def __init__(
        self,
        name: str,
        function: Callable[..., tuple[Any, ...]],
        count: int | None,
        known: Sequence[ArrayType] | None = None,
    ) -> None:
        self.name = name
        self.function = function
        self.count = count
        self.known = known
        self.key = new_key()
        self._derived: dict[Any, _TensorDerivatives] = {}

    def run(self, arrays: Sequence[Any]) -> list[Any]:
        """The results as arrays."""
        results = [np.asarray(x) for x in self.function(*map(_plain, arrays))]
        for result in results:
            if result.dtype.kind not in "biufc":
                raise ArgumentTypeError(
                    f"{self.name} returned an object of dtype {result.dtype}, and PyTorch is to "
                    "have arrays or numbers, in containers or alone."
                )
        return results

    def types(self, tensors: Sequence[Any]) -> Sequence[ArrayType]:
        """The types of the results at tensors that may hold no numbers."""
        if self.known is not None:
            return self.known
        types = [_type_of(x) for x in tensors]
        return results_on_types(self.name, self.function, lambda f, x: f(*x), types)[0]

    def derivatives(
        self, inputs: Sequence[Any], outputs: Sequence[ArrayType]
    ) -> _TensorDerivatives:
        """Those at the types of tensors."""
        types = tuple(map(_type_of, inputs))
        key = (types, tuple(outputs))
        derivatives = self._derived.get(key)
        if derivatives is None:
            if len(self._derived) >= _KEPT:
                self._derived.clear()
            flat = FlatFunction(self.name, self.function, types, outputs, bilinear=False)
            derivatives = self._derived[key] = _TensorDerivatives(flat)
        return derivatives


class _TensorDerivatives:
    """The derivatives of a function at one signature, which are kept with it."""

    def __init__(self, flat: FlatFunction) -> None:
        self.moving, self.varying = flat.moving, flat.varying
        self.outputs = len(flat.outputs)
        self._flat = flat

    @functools.cached_property
    def pull(self) -> _TorchWork:
        """(operands, cotangents of results that vary) -> cotangents of the operands that move."""
        return _work_of(self._flat.pullback)

    @functools.cached_property
    def push(self) -> _TorchWork:
        """(operands, tangents of those that move) -> tangents of the results that vary."""
        return _work_of(self._flat.pushforward)


def _work_of(flat: FlatFunction) -> _TorchWork:
    # Its own derivative is found at every call, which `jit` replays.
    return _TorchWork(flat.name, jit(flat.function), len(flat.outputs), flat.outputs)


# --- calls of the user's function -----------------------------------------------------------------


class _TensorSignature:
    """The user's function as one of the tensors among its arguments."""

    def __init__(self, function: Callable[..., Any], treedef: Any, statics: list[Any]) -> None:
        self.function = function
        self._treedef, self._statics = treedef, statics
        name = getattr(function, "__name__", type(function).__name__)
        self.work = _TorchWork(name, self._flat, None)

    def arguments(self, arrays: Sequence[Any]) -> Any:
        """(args, kwargs) with these in the places of the tensors."""
        waiting = iter(arrays)
        whole = [next(waiting) if leaf is _TENSOR else leaf for leaf in self._statics]
        return pytrees.unflatten(self._treedef, whole)

    def _flat(self, *arrays: Any) -> tuple[Any, ...]:
        args, kwargs = self.arguments(arrays)
        return tuple(pytrees.flatten(self.function(*args, **kwargs))[0])


class _TensorCall(_TorchWork):
    """One call, which notes the structure of its result; the derivatives are its signature's."""

    def __init__(self, signature: _TensorSignature) -> None:
        super().__init__(signature.work.name, self._noting, None)
        self.structure: Any = None
        self._signature = signature

    def _noting(self, *arrays: Any) -> tuple[Any, ...]:
        args, kwargs = self._signature.arguments(arrays)
        leaves, self.structure = pytrees.flatten(self._signature.function(*args, **kwargs))
        return tuple(leaves)

    def types(self, tensors: Sequence[Any]) -> Sequence[ArrayType]:
        """The types of the results at tensors that may hold no numbers."""
        signature = self._signature

        def apply(function: Any, arrays: Sequence[Any]) -> Any:
            args, kwargs = signature.arguments(arrays)
            return function(*args, **kwargs)

        types, self.structure = results_on_types(
            self.name, signature.function, apply, [_type_of(x) for x in tensors]
        )
        return types

    def derivatives(
        self, inputs: Sequence[Any], outputs: Sequence[ArrayType]
    ) -> _TensorDerivatives:
        """Those at the types of tensors."""
        return self._signature.work.derivatives(inputs, outputs)


def _signature(
    function: Callable[..., Any],
    treedef: Any,
    statics: list[Any],
    kept: dict[Any, _TensorSignature],
) -> _TensorSignature:
    """The one that is kept for these arguments: with its derivatives, which are not found again."""
    if not all(leaf is _TENSOR or type(leaf) in _PLAIN for leaf in statics):
        return _TensorSignature(
            function, treedef, statics
        )  # who knows what makes two of these alike
    # The text tells -0.0 from 0.0, and one NaN from none.
    key = (treedef, *(leaf if leaf is _TENSOR else (type(leaf), repr(leaf)) for leaf in statics))
    signature = kept.get(key)
    if signature is None:
        if len(kept) >= _KEPT:
            kept.clear()
        signature = kept[key] = _TensorSignature(function, treedef, statics)
    return signature


_PLAIN: Final = frozenset({bool, int, float, complex, str, bytes})


# --- PyTorch's side -------------------------------------------------------------------------------


@functools.cache
def _function_class() -> Any:
    """The `torch.autograd.Function`, made when PyTorch is first used."""
    module = torch_module()

    class NumpyCall(module.autograd.Function):  # type: ignore[misc, name-defined]
        """A NumPy function of tensors."""

        @staticmethod
        def forward(work: _TorchWork, *tensors: Any) -> tuple[Any, ...]:
            return call_operator(work, tensors)

        @staticmethod
        def setup_context(context: Any, inputs: Any, output: Any) -> None:
            work, *tensors = inputs
            context.work = work
            context.save_for_backward(*tensors)
            context.save_for_forward(*tensors)
            context.outputs = [_type_of(x) for x in output]
            context.mark_non_differentiable(*(x for x in output if not _is_inexact(x)))

        @staticmethod
        def backward(context: Any, *cotangents: Any) -> tuple[Any, ...]:
            tensors = context.saved_tensors
            slopes = context.work.derivatives(tensors, context.outputs)
            if not (slopes.moving and slopes.varying):
                return (None,) * (1 + len(tensors))
            seeds = [cotangents[place] for place in slopes.varying]
            pulled = NumpyCall.apply(slopes.pull, *tensors, *seeds)
            slope_at = dict(zip(slopes.moving, pulled, strict=True))
            return None, *(slope_at.get(place) for place in range(len(tensors)))

        @staticmethod
        def jvp(context: Any, _: Any, *tangents: Any) -> tuple[Any, ...]:
            tensors = context.saved_tensors
            slopes = context.work.derivatives(tensors, context.outputs)
            moving = [
                module.zeros_like(tensors[place]) if tangents[place] is None else tangents[place]
                for place in slopes.moving
            ]
            pushed: Sequence[Any] = ()
            if slopes.moving and slopes.varying:
                pushed = NumpyCall.apply(slopes.push, *tensors, *moving)
            slope_at = dict(zip(slopes.varying, pushed, strict=bool(pushed)))
            return tuple(slope_at.get(place) for place in range(slopes.outputs))

        @staticmethod
        def vmap(info: Any, axes: Any, work: _TorchWork, *tensors: Any) -> tuple[Any, Any]:
            rows = _TorchWork(work.name, _over(work, axes[1:], info.batch_size), work.count)
            results = NumpyCall.apply(rows, *tensors)
            return results, (0,) * len(results)

    return NumpyCall


def _over(work: _TorchWork, axes: tuple[int | None, ...], size: int) -> Callable[..., Any]:
    """The function over a batch, as one program; row by row where it asks for values."""

    def rows(*arrays: Any) -> tuple[Any, ...]:
        try:
            results: tuple[Any, ...] = vmap(work.function, axes)(*arrays)
        except (ValueNeededError, MissingRuleError):
            results_by_row = [
                work.function(
                    *(
                        x if axis is None else np.moveaxis(x, axis, 0)[n]
                        for x, axis in zip(arrays, axes, strict=True)
                    )
                )
                for n in range(size)
            ]
            results = tuple(np.stack(column) for column in zip(*results_by_row, strict=True))
        return results

    return rows


def _plain(array: Any) -> Any:
    """An array; a NumPy scalar where there are no axes, as NumPy itself would have it."""
    return array if array.ndim else array[()]


def _type_of(tensor: Any) -> ArrayType:
    """The type of the array of a tensor, of which nothing is read."""
    return array_type(tuple(map(int, tensor.shape)), str(tensor.dtype).removeprefix("torch."))


def _is_inexact(tensor: Any) -> bool:
    return bool(tensor.is_floating_point() or tensor.is_complex())
