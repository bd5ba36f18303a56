"""A NumPy function as one of PyTorch's; its derivatives are such functions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from adjoint.base import pytrees
from adjoint.base.arrays import ArrayType, array_type
from adjoint.base.errors import ArgumentTypeError, MissingRuleError, ValueNeededError
from adjoint.calculus import vmap
from adjoint.interop.flat import (
    Call,
    FlatFunction,
    apply_row,
    entered,
    in_row,
    results_on_types,
)
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

    function: the user's, or one of ours. call: (function, arrays) -> a tree of arrays. count: how
    many results there are; None where only a call tells. known: their types; None where these are
    to be found out. key: what the operators find it by. structure: of the latest results.
    """

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        call: Call,
        count: int | None,
        known: Sequence[ArrayType] | None = None,
    ) -> None:
        self.name = name
        self.function = function
        self.call = call
        self.count = count
        self.known = known
        self.key = new_key()
        self.structure: Any = None
        self._derived: dict[Any, _TensorDerivatives] = {}

    def run(self, arrays: Sequence[Any]) -> list[Any]:
        """The results as arrays."""
        tree = self.call(self.function, [_plain(x) for x in arrays])
        leaves, self.structure = pytrees.flatten(tree)
        results = [np.asarray(x) for x in leaves]
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
        types, self.structure = results_on_types(self.name, self.function, self.call, types)
        return types

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
            flat = FlatFunction(
                self.name, self.function, self._leaves, types, outputs, bilinear=False
            )
            derivatives = self._derived[key] = _TensorDerivatives(flat)
        return derivatives

    def _leaves(self, function: Callable[..., Any], arrays: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(pytrees.flatten(self.call(function, arrays))[0])


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
    return _TorchWork(flat.name, flat.function, apply_row, len(flat.outputs), flat.outputs)


# --- calls of the user's function -----------------------------------------------------------------


class _TensorSignature:
    """The user's function as one of the tensors among its arguments."""

    def __init__(self, function: Callable[..., Any], treedef: Any, statics: list[Any]) -> None:
        self._treedef, self._statics = treedef, statics
        name = getattr(function, "__name__", type(function).__name__)
        self.work = _TorchWork(name, entered(function), self._call, None)

    def _call(self, function: Callable[..., Any], arrays: Sequence[Any]) -> Any:
        """What the function returns with these in the places of the tensors."""
        waiting = iter(arrays)
        whole = [next(waiting) if leaf is _TENSOR else leaf for leaf in self._statics]
        args, kwargs = pytrees.unflatten(self._treedef, whole)
        return function(*args, **kwargs)


class _TensorCall(_TorchWork):
    """One call, with the structure of its results; the derivatives are its signature's."""

    def __init__(self, signature: _TensorSignature) -> None:
        work = signature.work
        super().__init__(work.name, work.function, work.call, None)
        self._signature = signature

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
            call = _over(work, axes[1:], info.batch_size)
            rows = _TorchWork(work.name, work.function, call, work.count)
            results = NumpyCall.apply(rows, *tensors)
            work.structure = rows.structure
            return results, (0,) * len(results)

    return NumpyCall


def _over(work: _TorchWork, axes: tuple[int | None, ...], size: int) -> Call:
    """The call over a batch, as one program; row by row where it asks for values."""

    def rows(function: Callable[..., Any], arrays: Sequence[Any]) -> Any:
        try:
            return vmap(in_row(function, work.call), axes)(*arrays)
        except (ValueNeededError, MissingRuleError):
            if not size:  # no row tells what the results are
                raise
            pairs = [
                (x, axis) if axis is None else (np.moveaxis(x, axis, 0), 0)
                for x, axis in zip(arrays, axes, strict=True)
            ]
            return _stacked(
                [
                    work.call(function, [x if axis is None else x[n] for x, axis in pairs])
                    for n in range(size)
                ],
                work.name,
            )

    return rows


def _stacked(trees: list[Any], name: str) -> Any:
    """Results of rows, one upon the other."""
    rows, structures = zip(*map(pytrees.flatten, trees), strict=True)
    for structure in structures[1:]:
        if not pytrees.alike(structure, structures[0]):
            raise ArgumentTypeError(
                f"{name} returned {pytrees.structure_text(structure)} for one row of a batch and "
                f"{pytrees.structure_text(structures[0])} for another. All rows must have results "
                "of one structure."
            )
    columns = zip(*rows, strict=True)
    return pytrees.unflatten(structures[0], [np.stack(column) for column in columns])


def _plain(array: Any) -> Any:
    """An array; a NumPy scalar where there are no axes, as NumPy itself would have it."""
    return array if array.ndim else array[()]


def _type_of(tensor: Any) -> ArrayType:
    """The type of the array of a tensor, of which nothing is read."""
    return array_type(tuple(map(int, tensor.shape)), str(tensor.dtype).removeprefix("torch."))


def _is_inexact(tensor: Any) -> bool:
    return bool(tensor.is_floating_point() or tensor.is_complex())
