"""Classes of the user's own as containers: taken apart and put together by functions of theirs."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from numbers import Number
from typing import Any, Final, TypeVar

import numpy as np
import optree

from adjoint.base.arrays import conversion_of
from adjoint.base.errors import ArgumentError, ArgumentTypeError
from adjoint.base.pytrees import NAMESPACE
from adjoint.base.signatures.calling import named

T = TypeVar("T")
_MADE_IN_PYTHON: Final = 1 << 9  # Py_TPFLAGS_HEAPTYPE
# Who registered a class, as a message says it.
_REGISTERED_BY: dict[type, str] = {}


class _PartEntry(optree.PyTreeEntry):
    """The place of a part: `.samples` where it is an attribute, `[part 0]` where it is not."""

    def codify(self, /, node: str = "") -> str:
        """The expression that reads the part."""
        named = isinstance(self.entry, str)
        return f"{node}.{self.entry}" if named else f"{node}[part {self.entry}]"


@named
def register_container(
    cls: type[T],
    split: Callable[[T], tuple[Sequence[Any], Hashable]],
    join: Callable[[Any, tuple[Any, ...]], T],
) -> type[T]:
    """Make a class a container, as lists, dicts and dataclasses are: a pytree of adjoint's own.

    Its objects are then taken and returned by `grad`, `jvp`, `vjp`, `jit`, `vmap`, `derivative`,
    `hessian` and the rest, and a function that is differentiated meets real objects with their
    methods. Dataclasses whose fields are all arrays, or containers, need no registration.

    Args:
        cls: the class. Objects of its subclasses are registered by themselves.
        split: object -> (parts, rest). The parts are what a derivative is taken of: a tuple or list
            of arrays and containers. The rest is what tells objects of different spaces apart (a
            rate, a name): anything hashable, None if there is none.
        join: (rest, parts) -> object, the inverse. It must put the parts in as they come, without
            conversion or check, since a part may be a traced array, a space or a placeholder;
            where `__init__` does more than that, `object.__new__(cls)` makes an object without it.

    Returns:
        The class.

    Raises:
        ArgumentTypeError: cls is no class, or split or join no function. Later, when an object is
            met: split returns something else, or join an object of another class.
        ArgumentError: cls is a container already; the message says by whom. When an object is
            met: join does not put in what split took out.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> class Signal:
        ...     def __init__(self, samples, rate):
        ...         self.samples, self.rate = samples, rate
        ...
        ...     def energy(self):
        ...         return np.sum(self.samples**2) / self.rate
        >>> _ = ad.register_container(
        ...     Signal,
        ...     split=lambda signal: ((signal.samples,), signal.rate),
        ...     join=lambda rate, parts: Signal(parts[0], rate),
        ... )
        >>> gradient = ad.grad(Signal.energy)(Signal(np.array([1.0, 2.0]), rate=4))
        >>> type(gradient).__name__, gradient.samples, gradient.rate
        ('Signal', array([0.5, 1. ]), 4)
    """
    _require_class(cls)
    for name, function in (("split", split), ("join", join)):
        if not callable(function):
            raise ArgumentTypeError(
                f"register_container takes two functions, split and join. Got "
                f"{type(function).__name__} for {name}. split(object) is (parts, rest), and "
                "join(rest, parts) the object."
            )
    known = _Container(cls, split, join)
    try:
        # optree's annotations ask for entries that are hashable and parts that are a Collection.
        optree.register_pytree_node(
            cls,  # type: ignore[arg-type]
            known.take_apart,
            known.put_together,
            path_entry_type=_PartEntry,
            namespace=NAMESPACE,
        )
    except ValueError:
        raise _registered_already(cls) from None
    _REGISTERED_BY[cls] = f"by register_container, with {code_place(split)}"
    return cls


def container_advice(value: Any) -> str:
    """For an object of a class that could be made a container, how; nothing for others."""
    kind = type(value)
    own = bool(kind.__flags__ & _MADE_IN_PYTHON) and kind.__module__ != "builtins"
    if not own or hasattr(value, "dtype") or conversion_of(value) is not None:
        return ""
    return (
        f" adjoint.register_container({kind.__qualname__}, split, join) makes {kind.__qualname__} "
        "a container of the arrays in it."
    )


class _Container:
    """How objects of a class are taken apart and put together, with what the user gave checked."""

    def __init__(self, cls: type, split: Any, join: Any) -> None:
        self.cls = cls
        self.split = split
        self.join = join
        self.names: tuple[str | int, ...] | None = None  # of the parts; known from the first object

    def take_apart(self, instance: Any) -> tuple[tuple[Any, ...], Hashable, tuple[Any, ...]]:
        """The parts, the rest, and names for the parts, as optree asks for them."""
        parts, rest = self._split(instance)
        if self.names is None or len(self.names) != len(parts):
            self._try_join(parts, rest)
            self.names = tuple(_names(instance, parts))
        return parts, rest, self.names

    def put_together(self, rest: Any, parts: Any) -> Any:
        """The object with these parts."""
        joined = self.join(rest, tuple(parts))
        if type(joined) is not self.cls:
            raise ArgumentTypeError(
                f"join of {self._name} must return a {self._name}. It returned "
                f"{type(joined).__name__} ({code_place(self.join)}). A subclass is registered by "
                "itself."
            )
        return joined

    def _split(self, instance: Any) -> tuple[tuple[Any, ...], Hashable]:
        answer = self.split(instance)
        if not (isinstance(answer, tuple) and len(answer) == 2):
            length = f" of length {len(answer)}" if isinstance(answer, tuple) else ""
            raise ArgumentTypeError(
                f"split of {self._name} must return a pair (parts, rest). It returned "
                f"{type(answer).__name__}{length} ({code_place(self.split)}). Write (parts, None) "
                "where there is no rest."
            )
        parts, rest = answer
        if not isinstance(parts, (tuple, list)):
            raise ArgumentTypeError(
                f"split of {self._name} must return its parts in a tuple or a list. Got "
                f"{type(parts).__name__} ({code_place(self.split)}). One part is (part,)."
            )
        try:
            hash(rest)
        except TypeError:
            raise ArgumentTypeError(
                f"split of {self._name} must return a rest that is hashable, for it tells objects "
                f"of different spaces apart. Got {type(rest).__name__} ({code_place(self.split)}). "
                "Make it a tuple, or make arrays in it parts."
            ) from None
        return tuple(parts), rest

    def _try_join(self, parts: tuple[Any, ...], rest: Hashable) -> None:
        """Raise unless join puts in what it is given, and split takes it out again."""
        placeholders = tuple(object() for _ in parts)
        try:
            again, rest_again = self._split(self.put_together(rest, placeholders))
        except (ArgumentError, ArgumentTypeError):
            raise
        except Exception as error:
            raise self._untrue(f"raised {type(error).__name__}: {error}") from error
        if len(again) != len(parts) or any(
            one is not other for one, other in zip(again, placeholders, strict=True)
        ):
            raise self._untrue("put in something else, or in another order")
        if rest_again != rest:
            raise self._untrue(f"made the rest {rest!r} to {rest_again!r}")

    def _untrue(self, what: str) -> ArgumentError:
        return ArgumentError(
            f"join of {self._name} must put the parts in as they come. Tried with placeholders, it "
            f"{what} ({code_place(self.join)}). Parts may be traced arrays, spaces or "
            f"placeholders: object.__new__({self._name}) makes an object without __init__, where "
            "that converts or checks."
        )

    @property
    def _name(self) -> str:
        return self.cls.__qualname__


def _require_class(cls: Any) -> None:
    if not isinstance(cls, type):
        raise ArgumentTypeError(
            f"register_container takes a class. Got an object of type {type(cls).__qualname__}. "
            "Give the class itself: type(object)."
        )
    if issubclass(cls, (np.ndarray, np.generic, Number, str, bytes, type)):
        raise ArgumentError(
            f"register_container takes a class of your own. Got {cls.__qualname__}, whose objects "
            "are no containers: arrays and numbers are what containers hold."
        )
    if optree.register_pytree_node.get(cls, namespace=NAMESPACE) is not None:
        raise _registered_already(cls)


def _registered_already(cls: type) -> ArgumentError:
    if cls in _REGISTERED_BY:
        by = _REGISTERED_BY[cls]
    elif "__dataclass_fields__" in vars(cls):
        by = "as a dataclass, which needs no registration, when an object of it was first met"
    else:
        by = "by optree, adjoint or a package that registers its classes with optree"
    return ArgumentError(
        f"{cls.__qualname__} is a container already, registered {by}. A class is registered once, "
        "before its objects are met."
    )


def _names(instance: Any, parts: tuple[Any, ...]) -> list[str | int]:
    """For each part, the attribute that holds it, or its number."""
    held = {id(value): name for name, value in getattr(instance, "__dict__", {}).items()}
    return [held.get(id(part), number) for number, part in enumerate(parts)]


def code_place(function: Any) -> str:
    """Where a function stands: file and line."""
    code = getattr(function, "__code__", None)
    if code is None:
        return repr(function)
    return f"{code.co_filename}:{code.co_firstlineno}"
