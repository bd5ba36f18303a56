"""A NumPy function as one of PyTorch's; its derivatives are such functions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.base import pytrees
from adjoint.base.arrays import array_type
from adjoint.base.errors import ArgumentTypeError, MissingRuleError, ValueNeededError
from adjoint.calculus import vmap
from adjoint.interop.flat import FlatFunction
from adjoint.interop.torch_library import to_numpy, to_torch, torch_module


def bridged(function: Callable[..., Any]) -> Any:
    """The function of PyTorch's; see `front.torch`."""
    name = getattr(function, "__name__", type(function).__name__)
    call = _function_class()

    @functools.wraps(function)
    def apply(*args: Any, **kwargs: Any) -> Any:
        leaves, treedef = pytrees.flatten((args, kwargs))
        tensors = [leaf for leaf in leaves if isinstance(leaf, torch_module().Tensor)]
        structure: list[Any] = [None]

        def flat(*arrays: Any) -> tuple[Any, ...]:
            waiting = iter(arrays)
            whole = [
                next(waiting) if isinstance(leaf, torch_module().Tensor) else leaf
                for leaf in leaves
            ]
            own_args, own_kwargs = pytrees.unflatten(treedef, whole)
            results, structure[0] = pytrees.flatten(function(*own_args, **own_kwargs))
            return tuple(results)

        results = call.apply(_TorchWork(name, flat), *tensors)
        return pytrees.unflatten(structure[0], results)

    return apply


class _TorchWork:
    """A function of arrays whose signature is that of the tensors that it is given."""

    def __init__(self, name: str, function: Callable[..., tuple[Any, ...]]) -> None:
        self.name = name
        self.function = function

    def run(self, arrays: Sequence[Any]) -> list[Any]:
        """The results as arrays."""
        results = [np.asarray(x) for x in self.function(*(x if x.ndim else x[()] for x in arrays))]
        for result in results:
            if result.dtype.kind not in "biufc":
                raise ArgumentTypeError(
                    f"{self.name} returned an object of dtype {result.dtype}, and PyTorch is to "
                    "have arrays or numbers, in containers or alone."
                )
        return results

    def at(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> FlatFunction:
        """The function with its derivatives, at the types of arrays."""
        given = [array_type(x.shape, x.dtype) for x in inputs]
        types = [array_type(x.shape, x.dtype) for x in outputs]
        return FlatFunction(self.name, self.function, given, types, bilinear=False)


@functools.cache
def _function_class() -> Any:
    """The `torch.autograd.Function`, made when PyTorch is first used."""
    module = torch_module()

    class NumpyCall(module.autograd.Function):  # type: ignore[misc, name-defined]
        """A NumPy function of tensors."""

        @staticmethod
        def forward(work: _TorchWork, *tensors: Any) -> tuple[Any, ...]:
            device = tensors[0].device if tensors else None
            results = work.run([to_numpy(x) for x in tensors])
            return tuple(to_torch(x, device) for x in results)

        @staticmethod
        def setup_context(context: Any, inputs: Any, output: Any) -> None:
            work, *tensors = inputs
            context.work = work
            context.save_for_backward(*tensors)
            context.save_for_forward(*tensors)
            context.outputs = [_like(x) for x in output]
            context.mark_non_differentiable(*(x for x in output if not _is_inexact(x)))

        @staticmethod
        def backward(context: Any, *cotangents: Any) -> tuple[Any, ...]:
            tensors = context.saved_tensors
            flat = context.work.at([_like(x) for x in tensors], context.outputs)
            if not (flat.moving and flat.varying):
                return (None,) * (1 + len(tensors))
            seeds = [cotangents[place] for place in flat.varying]
            pull = _TorchWork(flat.pullback.name, flat.pullback.function)
            slopes = dict(zip(flat.moving, NumpyCall.apply(pull, *tensors, *seeds), strict=True))
            return None, *(slopes.get(place) for place in range(len(tensors)))

        @staticmethod
        def jvp(context: Any, _: Any, *tangents: Any) -> tuple[Any, ...]:
            tensors = context.saved_tensors
            flat = context.work.at([_like(x) for x in tensors], context.outputs)
            moving = [
                module.zeros_like(tensors[place]) if tangents[place] is None else tangents[place]
                for place in flat.moving
            ]
            push = _TorchWork(flat.pushforward.name, flat.pushforward.function)
            pushed = (
                NumpyCall.apply(push, *tensors, *moving) if flat.moving and flat.varying else ()
            )
            slopes = dict(zip(flat.varying, pushed, strict=bool(pushed)))
            return tuple(slopes.get(place) for place in range(len(flat.outputs)))

        @staticmethod
        def vmap(info: Any, axes: Any, work: _TorchWork, *tensors: Any) -> tuple[Any, Any]:
            rows = _TorchWork(work.name, _over(work, axes[1:], info.batch_size))
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


def _like(tensor: Any) -> Any:
    """An array of the shape and dtype of a tensor, of which nothing is read."""
    dtype = str(tensor.dtype).removeprefix("torch.")
    return np.broadcast_to(np.empty((), dtype), tuple(tensor.shape))


def _is_inexact(tensor: Any) -> bool:
    return bool(tensor.is_floating_point() or tensor.is_complex())
