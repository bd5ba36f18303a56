"""Covectors: linear functionals on a space, a type of their own that never mixes with vectors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn, Protocol

import numpy as np
import optree

from adjoint.base.errors import ArgumentTypeError, SpaceMismatchError
from adjoint.base.pytrees import NAMESPACE, tree_map
from adjoint.spaces.elements.values import describe, is_real_scalar, weak_scalar


class _Paired(Protocol):
    """What a covector needs of its space (a protocol, so that this file stands below `space`)."""

    def check(self, x: Any, argument: str = ...) -> None: ...
    def _pair(self, components: Any, x: Any) -> Any: ...


class Covector:
    """A linear functional w : X -> R on a space X, an element of `X.dual` (E.1.30).

    `components` is an array (or a tree of arrays) of the shape of the elements of X; w(u) is the
    sum of components times entries, and Re sum conj(components) u for a complex space. No inner
    product is involved. Covectors add, subtract and take real factors; anything else that would
    treat one as an array raises `SpaceMismatchError`.

    Build one with `space.covector(components)` or `space.riesz(x)`, which check and copy;
    this constructor trusts its arguments.

    Args:
        space: X.
        components: as above; they are not copied.

    Example:
        >>> import numpy as np
        >>> from adjoint.spaces import Euclidean
        >>> w = Euclidean(2).covector(np.array([1.0, 10.0]))
        >>> float((2 * w)(np.array([3.0, 4.0])))
        86.0
    """

    __slots__ = ("components", "space")
    space: Any
    components: Any

    def __init__(self, space: _Paired, components: Any) -> None:
        object.__setattr__(self, "space", space)
        object.__setattr__(self, "components", components)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(
            f"a Covector is immutable: {name!r} cannot be set. "
            "Build another one with space.covector(components)."
        )

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a Covector is immutable: {name!r} cannot be deleted.")

    def __reduce__(self) -> tuple[Any, ...]:
        return Covector, (self.space, self.components)

    def __call__(self, u: Any) -> Any:
        """The natural pairing w(u), a real scalar (E.1.30).

        Raises:
            MembershipError, SpaceMismatchError: u is not an element of the space.
        """
        self.space.check(u, "u")
        return self.space._pair(self.components, u)

    def __repr__(self) -> str:
        return f"Covector({self.space!r}, {self.components!r})"

    def _summary(self) -> str:
        return f"a Covector on {self.space!r}"

    # --- the vector space of covectors ---

    def __add__(self, other: Any) -> Covector:
        self._require_same_space(other, "+")
        return Covector(self.space, tree_map(np.add, self.components, other.components))

    def __sub__(self, other: Any) -> Covector:
        self._require_same_space(other, "-")
        return Covector(self.space, tree_map(np.subtract, self.components, other.components))

    def __radd__(self, other: Any) -> NoReturn:
        raise _mixture(other, "+", self)

    def __rsub__(self, other: Any) -> NoReturn:
        raise _mixture(other, "-", self)

    def __neg__(self) -> Covector:
        return Covector(self.space, tree_map(np.negative, self.components))

    def __mul__(self, scalar: Any) -> Covector:
        factor = self._require_factor(scalar, "*")
        return Covector(self.space, tree_map(lambda leaf: leaf * factor, self.components))

    __rmul__ = __mul__

    def __truediv__(self, scalar: Any) -> Covector:
        factor = self._require_factor(scalar, "/")
        return Covector(self.space, tree_map(lambda leaf: leaf / factor, self.components))

    def _require_same_space(self, other: Any, sign: str) -> None:
        if not isinstance(other, Covector):
            raise _mixture(self, sign, other)
        if other.space is not self.space and other.space != self.space:
            raise SpaceMismatchError(
                f"A sum needs two covectors on the same space. Found {describe(self)} {sign} "
                f"{describe(other)}. Pull one of them back with map.T, where map joins the two "
                f"spaces."
            )

    def _require_factor(self, scalar: Any, sign: str) -> Any:
        if is_real_scalar(scalar):
            return weak_scalar(scalar)
        raise ArgumentTypeError(
            f"A covector takes real scalar factors only (a dual space is a real vector space). "
            f"Found {describe(self)} {sign} {describe(scalar)}. "
            "Use space.represent(covector) for the vector that stands for it."
        )

    # --- NumPy and Python are told that this is no array ---

    def __getitem__(self, index: Any) -> NoReturn:
        raise self._without_entries()

    def _without_entries(self) -> ArgumentTypeError:
        return ArgumentTypeError(
            f"{describe(self)} has no entries: it is a linear functional, and a number for each "
            f"basis belongs to it. {_ADVICE}"
        )

    def __iter__(self) -> NoReturn:
        raise self._without_entries()

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        # A NumPy scalar times a covector arrives here, because the scalar comes first.
        if ufunc is np.multiply and method == "__call__" and not options:
            left, right = inputs
            return right * left if isinstance(right, Covector) else left * right
        if ufunc in (np.add, np.subtract) and method == "__call__":
            raise _mixture(inputs[0], "+" if ufunc is np.add else "-", inputs[1])
        raise self._not_an_array(f"np.{ufunc.__name__}")

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> NoReturn:
        raise self._not_an_array(f"np.{function.__name__}")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        raise self._not_an_array("np.asarray")

    def _not_an_array(self, function: str) -> SpaceMismatchError:
        return SpaceMismatchError(
            f"{function} was applied to {describe(self)}. A covector is a linear functional and no "
            f"array. {_ADVICE}"
        )


_ADVICE = (
    "Use space.represent(covector) for the vector that stands for it under the inner product, or "
    "covector.components for its raw components."
)


def _mixture(left: Any, sign: str, right: Any) -> SpaceMismatchError:
    return SpaceMismatchError(
        "Tangents (vectors) and covectors do not add. "
        f"Found {describe(left)} {sign} {describe(right)}. {_ADVICE}"
    )


def _split(covector: Covector) -> tuple[tuple[Any], Any, None]:
    return (covector.components,), covector.space, None


def _join(space: Any, children: Iterable[Any]) -> Covector:
    (components,) = children
    return Covector(space, components)


# optree's annotations ask for a Collection, which a node with a custom split need not be.
optree.register_pytree_node(Covector, _split, _join, namespace=NAMESPACE)  # type: ignore[arg-type]
