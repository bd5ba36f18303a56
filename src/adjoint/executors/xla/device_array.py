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
from adjoint.base.arrays import class_name, conversion_of
from adjoint.base.dlpack import from_dlpack, is_in_memory, speaks_dlpack
from adjoint.base.errors import ArgumentTypeError, DTypeError
from adjoint.base.signatures.calling import named
from adjoint.executors.xla.backend import device_of, in_double_precision, jax
from adjoint.executors.xla.sharding import check_axis, mesh_of, sharding_along


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
        if not DeviceArray.exist:  # an assignment would empty the caches of the class each time
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
        x: an array, a JAX array, one that speaks DLPack (of PyTorch or CuPy, on a GPU too), or a
            tree (lists, tuples, dicts) of them; other leaves are left.
        device: `cpu`, `gpu`, `tpu`, or with a number, as `gpu:1`; None for the first one.
        shard: an axis that is divided among all devices of that kind; its length must be a multiple
            of their number. What is computed from such arrays runs on all of them: a gradient with
            respect to weights that all have is summed over the devices once.

    Returns:
        The same tree, with a `DeviceArray` in the place of each array.

    Raises:
        XlaUnavailableError: JAX or the device is not there.
        ArgumentError: there is no such device or axis, or its length cannot be divided.
        DTypeError: an array has rules of its own, as a masked one, or a dtype that a device has no
            numbers of: text, objects, times, more than double precision.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> slope = ad.grad(lambda x: np.sum(x**2))
        >>> x = ad.device_put(np.ones(2), "cpu")  # doctest: +SKIP
        >>> ad.jit(slope, device="cpu")(x)  # doctest: +SKIP
        DeviceArray(array([2., 2.]), cpu:0)
    """
    place = device_of(device)
    if shard is not None:
        check_axis(shard)
        mesh = mesh_of(place.platform)

    def put(leaf: Any) -> Any:
        if not is_put(leaf):
            return leaf
        where = place if shard is None else sharding_along(shard, leaf.shape, mesh, "an array")
        return put_array(leaf, where)

    return pytrees.tree_map(put, x)


def is_put(leaf: Any) -> bool:
    """Whether a leaf of a tree is an array that can be put on a device."""
    return isinstance(leaf, (DeviceArray, np.ndarray, jax().Array)) or speaks_dlpack(leaf)


def put_array(leaf: Any, where: Any) -> DeviceArray:
    """An array on a device, or divided among several. where: a device or a sharding of JAX's."""
    if isinstance(leaf, DeviceArray):
        if leaf.array.sharding == where:
            return leaf
        leaf = leaf.array
    with in_double_precision():
        if isinstance(leaf, np.ndarray):
            leaf = _own_copy(leaf)
        elif not isinstance(leaf, jax().Array):
            leaf = _copied(leaf)
        try:
            return DeviceArray(jax().device_put(leaf, where))
        except TypeError:
            raise DTypeError(
                f"a device has no numbers of dtype {leaf.dtype}. Convert them by .astype."
            ) from None


def _own_copy(leaf: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A copy of a NumPy array, whose memory JAX may take as it is."""
    if isinstance(leaf, (np.ma.MaskedArray, np.matrix)):
        raise DTypeError(
            f"{class_name(type(leaf))} has rules of its own, which arrays on a device do not "
            f"follow. Put its numbers there, {conversion_of(leaf)}."
        )
    return leaf.astype(leaf.dtype.newbyteorder("="))


def _copied(leaf: Any) -> Any:
    """A copy of an array that speaks DLPack, on the device that it lies on."""
    if is_in_memory(leaf):
        return from_dlpack(leaf).copy()
    return import_module("jax.numpy").array(import_module("jax.dlpack").from_dlpack(leaf))


def has_device_arrays(tree: Any) -> bool:
    """Whether there are arrays on devices among the leaves of a tree."""
    return DeviceArray.exist and any(isinstance(x, DeviceArray) for x in pytrees.leaves(tree))


def is_any_divided(tree: Any) -> bool:
    """Whether an array of a tree lies on several devices."""
    arrays = [x.array for x in pytrees.leaves(tree) if isinstance(x, DeviceArray)]
    return any(len(x.sharding.device_set) > 1 for x in arrays)


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
