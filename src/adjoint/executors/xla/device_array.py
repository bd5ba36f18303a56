"""Arrays that stay on a device between calls."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from importlib import import_module
from typing import Any, ClassVar, Final

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from adjoint.base import pytrees
from adjoint.base.errors import ArgumentError, ArgumentTypeError
from adjoint.base.signatures.calling import named
from adjoint.executors.xla.backend import device_of, in_double_precision, jax


class DeviceArray(NDArrayOperatorsMixin):
    """An array in the memory of a device, made by `device_put` and by what runs there.

    A jitted or replayed function takes it where it lies, and gives such arrays back; numbers
    without axes come back as NumPy's. NumPy's operators and functions of it run on the device too.
    `np.asarray(x)` copies it to the host, and `np.from_dlpack(x)`, `torch.from_dlpack(x)` share its
    memory where they can. It cannot be written into.

    Args:
        array: the array of JAX.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> x = ad.device_put(np.ones(3), "cpu")  # doctest: +SKIP
        >>> np.asarray(x + 1)  # doctest: +SKIP
        array([2., 2., 2.])
    """

    __slots__ = ("array",)

    # Whether there has ever been one: until then nobody looks for them.
    exist: ClassVar[bool] = False
    # What applies a function of NumPy's to arrays that lie on a device; a floor above says how.
    _apply: ClassVar[Callable[[Callable[..., Any], Any, Any], Any]]

    def __init__(self, array: Any) -> None:
        self.array = array
        DeviceArray.exist = True

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of its axes."""
        shape: tuple[int, ...] = self.array.shape
        return shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of its entries."""
        dtype: np.dtype[Any] = self.array.dtype
        return dtype

    @property
    def ndim(self) -> int:
        """The number of its axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of its entries."""
        return int(np.prod(self.shape))

    @property
    def nbytes(self) -> int:
        """The bytes of its entries."""
        return self.size * self.dtype.itemsize

    @property
    def devices(self) -> tuple[str, ...]:
        """Where it lies: one device, or several that have a part each."""
        return tuple(sorted(f"{device.platform}:{device.id}" for device in self.array.devices()))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if copy is False:
            raise ValueError("An array on a device is copied to the host: write np.asarray(x).")
        if self.array.is_fully_addressable or self.array.is_fully_replicated:
            whole = np.array(self.array)
        else:  # parts lie with other processes, each of which asks for the whole as well
            gather = import_module("jax.experimental.multihost_utils").process_allgather
            whole = np.array(gather(self.array, tiled=True))
        return whole if dtype is None else whole.astype(dtype, copy=False)

    def __dlpack__(self, **kwargs: Any) -> Any:
        return self.array.__dlpack__(**kwargs)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()

    def __bool__(self) -> bool:
        return bool(np.asarray(self))

    def __float__(self) -> float:
        return float(np.asarray(self))

    def __complex__(self) -> complex:
        return complex(np.asarray(self))

    def __int__(self) -> int:
        return int(np.asarray(self))

    def __index__(self) -> int:
        return operator.index(np.asarray(self)[()])

    def __reduce__(self) -> tuple[Any, ...]:
        return device_put, (np.asarray(self), self.devices[0])

    @property
    def T(self) -> Any:  # as NumPy calls it
        """With its axes in the opposite order."""
        return np.transpose(self)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if kwargs.get("out") is not None or method == "at":
            raise _writing(ufunc.__name__)
        function = ufunc if method == "__call__" else getattr(ufunc, method)
        return DeviceArray._apply(function, inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if (
            function.__name__ in _WRITERS
            or kwargs.get("copy") is False
            or _has_out(function, args, kwargs)
        ):
            raise _writing(function.__name__)
        return DeviceArray._apply(function, args, kwargs)

    def __getitem__(self, index: Any) -> Any:
        return DeviceArray._apply(_item, (self, index), {})

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an array without axes")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"DeviceArray({np.asarray(self)!r}, {', '.join(self.devices)})"


_WRITERS: Final = frozenset(
    {"copyto", "put", "place", "putmask", "fill_diagonal", "put_along_axis"}
)


def _has_out(function: Any, args: Any, kwargs: Any) -> bool:
    """Whether a function is to write its result into an array."""
    try:
        given = inspect.signature(function).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):  # one that does not say its parameters
        return kwargs.get("out") is not None
    return given.get("out") is not None


def _writing(name: str) -> ArgumentTypeError:
    return ArgumentTypeError(
        f"{name} writes into an array, which is not done beside arrays on a device: assign its "
        "result, or convert them by np.asarray."
    )


def _item(x: Any, index: Any) -> Any:
    return x[index]


@named
def device_put(x: Any, device: str | None = None, *, shard: int | None = None) -> Any:
    """The arrays of a tree on a device, where they stay between calls.

    Args:
        x: an array, a JAX array, or a tree (lists, tuples, dicts) of them; other leaves are left.
        device: `cpu`, `gpu`, `tpu`, or with a number, as `gpu:1`; None for the first one.
        shard: an axis that is divided among all devices of that kind; its length must be a multiple
            of their number. What is computed from such arrays runs on all of them: a gradient with
            respect to weights that all have is summed over the devices once.

    Returns:
        The same tree, with a `DeviceArray` in the place of each array.

    Raises:
        XlaUnavailableError: JAX or the device is not there.
        ArgumentError: there is no such device or axis, or its length cannot be divided.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> slope = ad.grad(lambda x: np.sum(x**2))
        >>> x = ad.device_put(np.ones(2), "cpu")  # doctest: +SKIP
        >>> ad.jit(slope, device="cpu")(x)  # doctest: +SKIP
        DeviceArray(array([2., 2.]), cpu:0)
    """
    place = device_of(device)

    def put(leaf: Any) -> Any:
        if isinstance(leaf, DeviceArray):
            leaf = leaf.array
        elif not isinstance(leaf, (np.ndarray, jax().Array)):
            return leaf
        where = place if shard is None else _divided(leaf.shape, shard, place)
        if isinstance(leaf, np.ndarray):
            leaf = leaf.copy()  # whose memory JAX may take as it is
        with in_double_precision():
            return DeviceArray(jax().device_put(leaf, where))

    return pytrees.tree_map(put, x)


def _divided(shape: tuple[int, ...], axis: int, place: Any) -> Any:
    """How an axis lies on all devices of the kind of one."""
    module = jax()
    devices = module.devices(place.platform)
    if isinstance(axis, bool) or not isinstance(axis, int):
        raise ArgumentTypeError(f"shard must be the number of an axis, got {axis!r}.")
    if not -len(shape) <= axis < len(shape):
        raise ArgumentError(f"shard={axis} is no axis of an array of shape {shape}.")
    axis %= len(shape)
    if shape[axis] % len(devices):
        raise ArgumentError(
            f"An axis of length {shape[axis]} cannot be divided among {len(devices)} devices: "
            "leave some rows for a call of their own, or fill up with rows of weight 0."
        )
    mesh = module.sharding.Mesh(np.array(devices), ("shard",))
    parts = [None] * len(shape)
    parts[axis] = "shard"  # type: ignore[call-overload]
    return module.sharding.NamedSharding(mesh, module.sharding.PartitionSpec(*parts))


def has_device_arrays(tree: Any) -> bool:
    """Whether there are arrays on devices among the leaves of a tree."""
    return DeviceArray.exist and any(isinstance(x, DeviceArray) for x in pytrees.leaves(tree))


def to_host(tree: Any) -> Any:
    """A tree with NumPy's arrays in the place of those on devices."""
    return pytrees.tree_map(lambda x: np.asarray(x) if isinstance(x, DeviceArray) else x, tree)


def device_in(tree: Any) -> str:
    """The name of the first device of this process that arrays of a tree lie on."""
    first = next(x for x in pytrees.leaves(tree) if isinstance(x, DeviceArray))
    own = first.array.sharding.addressable_devices
    platform = next(iter(own)).platform
    local = jax().local_devices(backend=platform)
    return f"{platform}:{min(map(local.index, own))}"
