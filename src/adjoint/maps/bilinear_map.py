"""Bilinear maps, such as second derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, final

import numpy as np

from adjoint.base.errors import (
    ArgumentTypeError,
    MembershipError,
    MissingTransposeError,
    SpaceMismatchError,
)
from adjoint.base.signatures.checked import check_function, checked_class
from adjoint.maps.linear_map import LinearMap
from adjoint.spaces.elements.basis import unit
from adjoint.spaces.elements.values import describe
from adjoint.spaces.euclidean import Euclidean
from adjoint.spaces.space import Space


@checked_class
@final
class BilinearMap:
    """A bilinear map B : X x X' -> Y between inner-product spaces (D.1.11, E.1.77).

    Args:
        domain_left: the space of u.
        domain_right: the space of u'.
        codomain: Y.
        apply: (u, u') -> element of Y, linear over the reals in each.
        transpose: (u, raw components of a covector on Y) -> raw components of a covector on the
            right domain: the transpose of u' -> B(u, u'). Without it, `B(u)` has no transpose.
        name: for the repr.
        symmetric: whether B(u, u') = B(u', u), as for second derivatives; then the two domains are
            the same. It is trusted: `swapped()` is then the map itself.

    Raises:
        ArgumentTypeError: one of the spaces is none.
        SpaceMismatchError: `symmetric`, and the domains differ.

    Example:
        >>> import numpy as np
        >>> from adjoint.spaces import Euclidean
        >>> space = Euclidean(2)
        >>> dot = BilinearMap(space, space, Euclidean(()), lambda u, v: (u * v).sum())
        >>> u = np.array([1.0, 2.0])
        >>> float(dot(u, u)), float(dot(u)(u))
        (5.0, 5.0)
    """

    def __init__(
        self,
        domain_left: Space,
        domain_right: Space,
        codomain: Space,
        apply: Callable[[Any, Any], Any],
        transpose: Callable[[Any, Any], Any] | None = None,
        name: str | None = None,
        symmetric: bool = False,
    ) -> None:
        check_function(apply, "apply")
        if transpose is not None:
            check_function(transpose, "transpose")
        for argument, space in (
            ("domain_left", domain_left),
            ("domain_right", domain_right),
            ("codomain", codomain),
        ):
            if not isinstance(space, Space):
                raise ArgumentTypeError(
                    f"A bilinear map needs a space as its {argument}. Got {describe(space)}. "
                    "adjoint.spaces.infer(value) gives the space of an array or a tree of arrays."
                )
        if symmetric and domain_left != domain_right:
            raise SpaceMismatchError(
                f"A symmetric bilinear map has one domain. Got {domain_left!r} and "
                f"{domain_right!r}. Leave out symmetric=True."
            )
        self.domain_left: Final = domain_left
        self.domain_right: Final = domain_right
        self.codomain: Final = codomain
        self.name: Final = name
        self.symmetric: Final = symmetric
        self._apply: Final = apply
        self._transpose: Final = transpose

    def __repr__(self) -> str:
        name = "" if self.name is None else f"{self.name}: "
        domains = f"{self.domain_left!r} x {self.domain_right!r}"
        return f"BilinearMap({name}{domains} -> {self.codomain!r})"

    def __call__(self, u: Any, *rest: Any) -> Any:
        """B(u, u'), an element of the codomain; or B(u), the linear map u' -> B(u, u').

        Raises:
            ArgumentTypeError: there are more than two arguments.
            MembershipError, SpaceMismatchError: an argument is not an element of its space.
        """
        if len(rest) > 1:
            raise ArgumentTypeError(
                f"A bilinear map takes one argument or two. Got {1 + len(rest)}. "
                "B(u) is the linear map u' -> B(u, u')."
            )
        self.domain_left.check(u, "u")
        if not rest:
            return self._partial(u)
        self.domain_right.check(rest[0], "u'")
        result = self._apply(u, rest[0])
        mismatch = self.codomain._mismatch(result, deep=False)
        if mismatch is not None:
            raise MembershipError(
                f"{mismatch.message('The result of ' + repr(self))} "
                "The function that was given as `apply` does not fit the codomain."
            )
        return result

    def _partial(self, u: Any) -> LinearMap:
        apply, transpose = self._apply, self._transpose
        pull = None if transpose is None else lambda components: transpose(u, components)
        return LinearMap(
            self.domain_right,
            self.codomain,
            lambda right: apply(u, right),
            pull,
            name=None if self.name is None else f"{self.name}(u)",
        )

    def swapped(self) -> BilinearMap:
        """The bilinear map (u', u) -> B(u, u'); for a second derivative, the same one.

        Where B is not symmetric it has no transpose, since that of B concerns the other argument.

        Returns:
            A `BilinearMap` with the two domains exchanged.
        """
        if self.symmetric:
            return self
        apply = self._apply
        return BilinearMap(
            self.domain_right,
            self.domain_left,
            self.codomain,
            lambda right, left: apply(left, right),
        )

    def operator(self) -> LinearMap:
        """The linear map u -> ∇²f(x)[u] with ⟨u', ∇²f(x)[u]⟩ = B(u, u'), of a real B (E.1.79).

        It sends u to the Riesz representative of the covector B(u, .). For a symmetric B it is
        self-adjoint: in a Euclidean space, the Hessian matrix.

        Returns:
            A `LinearMap` of the left domain into the right one.

        Raises:
            SpaceMismatchError: the codomain is not the real line.
            MissingTransposeError: B was built without a transpose.

        Example:
            >>> import numpy as np
            >>> from adjoint.spaces import Euclidean, Weighted
            >>> plane = Weighted(Euclidean(2), 4.0)
            >>> B = BilinearMap(
            ...     plane, plane, Euclidean(()), np.dot, lambda u, w: w * u, symmetric=True
            ... )
            >>> B.operator()(np.array([1.0, 2.0]))
            array([0.25, 0.5 ])
        """
        left, right, codomain = self.domain_left, self.domain_right, self.codomain
        if codomain != Euclidean((), codomain._real_dtype):
            raise SpaceMismatchError(
                f"The operator of {self!r} was asked for. Its values are not real numbers, so "
                "B(u, .) is no covector. Use B(u).T(w), or B(u).H(v)."
            )
        pull, one = self._require_transpose(), codomain._real_dtype.type(1)
        transpose = None
        if self.symmetric:
            # c(O u) = <r, O u> = B(u, r) = B(r, u) for the representative r of the covector c.
            def transpose(components: Any) -> Any:
                return pull(right._represent(components), one)

        name = None if self.name is None else f"operator of {self.name}"
        return LinearMap(
            left, right, lambda u: right._represent(pull(u, one)), transpose, name=name
        )

    def _require_transpose(self) -> Callable[[Any, Any], Any]:
        if self._transpose is None:
            raise MissingTransposeError(
                f"The transpose of {self!r} was asked for. It was built without one. Give it as "
                "BilinearMap(..., transpose=...), a function of u and covector components on the "
                "codomain."
            )
        return self._transpose

    def array(self) -> Any:
        """The array T with B(u, u')_k = sum_ij T_kij u_i u'_j, in the bases of the spaces (E.1.78).

        Returns:
            A real array of shape (codomain.dimension, domain_left.dimension,
            domain_right.dimension).
        """
        left, right, codomain = self.domain_left, self.domain_right, self.codomain
        if not left.dimension:
            dtype = np.result_type(left._real_dtype, right._real_dtype, codomain._real_dtype)
            return np.zeros((codomain.dimension, 0, right.dimension), dtype)
        slices = [
            self._partial(left._from_coordinates(unit(left, index))).matrix()
            for index in range(left.dimension)
        ]
        # np.stack, and no writes into an array: the slices may be traced.
        return np.stack(slices, axis=1)
