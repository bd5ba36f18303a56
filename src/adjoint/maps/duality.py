"""Riesz maps, the natural pairing, and the four corners E, F, E', F' of a linear map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from adjoint.base.errors import ArgumentTypeError
from adjoint.base.signatures.checked import Seed, checked
from adjoint.maps.bilinear_map import BilinearMap
from adjoint.maps.linear_map import LinearMap
from adjoint.spaces import Euclidean, Space
from adjoint.spaces.elements.values import describe


@checked
def riesz_map(space: Space) -> LinearMap:
    """The Riesz map R : X -> X', x -> <x, .>, with its inverse (E.1.30).

    It is symmetric, R.T = R, since <x, y> = <y, x>, and unitary, R.H = R.inverse, since the inner
    product of the dual is the one that R carries over. In bases it is the Gram matrix.

    Args:
        space: X, which may be a dual itself.

    Returns:
        A `LinearMap` from the space to `space.dual`, with its inverse.

    Raises:
        ArgumentTypeError: the argument is no space.

    Example:
        >>> import numpy as np
        >>> from adjoint.spaces import Euclidean, Weighted
        >>> R = riesz_map(Weighted(Euclidean(2), np.array([1.0, 4.0])))
        >>> R(np.array([1.0, 1.0])).components
        array([1., 4.])
        >>> R.matrix()
        array([[1., 0.],
               [0., 4.]])
    """
    _require_space(space)
    dual = space.dual
    # A covector on X' is an element of X; its components are that element, or where X is itself a
    # dual, the components of that covector.
    forward = LinearMap(
        space,
        dual,
        lambda x: space._as_covector(space._riesz(x)),
        lambda c: space._riesz(dual._as_covector(c)),
        name="R",
    )
    backward = LinearMap(
        dual,
        space,
        lambda w: space._represent(space._components_of(w)),
        lambda c: dual._components_of(space._represent(c)),
        name="R⁻¹",
    )
    forward._find_inverse = lambda _: backward
    backward._find_inverse = lambda _: riesz_map(space)
    return forward


@checked
def natural_pairing(space: Space) -> BilinearMap:
    """The pairing X' x X -> R, (w, u) -> w(u), which needs no inner product (E.1.30).

    Args:
        space: X.

    Returns:
        A real-valued `BilinearMap` on `space.dual` and the space.

    Raises:
        ArgumentTypeError: the argument is no space.

    Example:
        >>> import numpy as np
        >>> from adjoint.spaces import Euclidean
        >>> space = Euclidean(2)
        >>> w = space.covector(np.array([1.0, 10.0]))
        >>> float(natural_pairing(space)(w, np.array([3.0, 4.0])))
        43.0
    """
    _require_space(space)
    return BilinearMap(
        space.dual,
        space,
        Euclidean((), space._real_dtype),
        lambda w, u: space._pair(space._components_of(w), u),
        # The transpose of u -> w(u) takes the number c to the covector c w.
        lambda w, c: space._scale(c, space._components_of(w)),
        name="pairing",
    )


@dataclass(frozen=True)
class TranspositionDiagram:
    """A linear map D : E -> F with the maps between E, F and their duals E', F' (E.1.52).

    The square commutes, R_E D.H = D.T R_F, which says that <D u, v> = <u, D.H v> (E.1.52).

    Attributes:
        map: D : E -> F.
        transpose: D.T : F' -> E', without inner products.
        adjoint: D.H : F -> E.
        domain_riesz: R_E : E -> E'.
        codomain_riesz: R_F : F -> F'.
        dual_adjoint: (D.T).H = (D.H).T : E' -> F', the adjoint of the transpose under the dual
            inner products; it equals R_F D R_E^-1.

    Example:
        >>> import numpy as np
        >>> from adjoint.maps import from_matrix
        >>> from adjoint.spaces import Euclidean, Weighted
        >>> E, F = Weighted(Euclidean(2), np.array([1.0, 4.0])), Euclidean(1)
        >>> diagram = TranspositionDiagram.of(from_matrix(np.array([[1.0, 2.0]]), E, F))
        >>> diagram.adjoint(np.array([1.0]))
        array([1. , 0.5])
        >>> diagram.commutation_error() < 1e-15
        True
    """

    map: LinearMap
    transpose: LinearMap
    adjoint: LinearMap
    domain_riesz: LinearMap
    codomain_riesz: LinearMap
    dual_adjoint: LinearMap

    @staticmethod
    def of(linear_map: LinearMap) -> TranspositionDiagram:
        """The diagram of a map.

        Args:
            linear_map: D.

        Returns:
            The diagram with D, D.T, D.H and the two Riesz maps.

        Raises:
            ArgumentTypeError: the argument is no linear map.
            MissingTransposeError: the map was built without a transpose.
        """
        require_map(linear_map)
        return TranspositionDiagram(
            map=linear_map,
            transpose=linear_map.T,
            adjoint=linear_map.H,
            domain_riesz=riesz_map(linear_map.domain),
            codomain_riesz=riesz_map(linear_map.codomain),
            dual_adjoint=linear_map.T.H,
        )

    def commutation_error(self, seed: Seed = 0) -> float:
        """|R_E D.H v - D.T R_F v|, relative to the larger of the two, for a random v in F.

        Args:
            seed: a seed, or a generator of NumPy, for the random elements.

        Returns:
            A number, some units of rounding where the adjoint is right.

        Raises:
            ArgumentTypeError: the seed is nothing that `np.random.default_rng` takes.
        """
        v = self.map.codomain.random(seed)
        one = self.domain_riesz(self.adjoint(v))
        other = self.transpose(self.codomain_riesz(v))
        dual = self.map.domain.dual
        largest = max(float(dual._norm(one)), float(dual._norm(other)))
        apart = float(dual._norm(dual._add(one, dual._scale(-1, other))))
        return apart / largest if largest else 0.0


def require_map(linear_map: Any) -> None:
    """ArgumentTypeError unless it is a linear map."""
    if not isinstance(linear_map, LinearMap):
        raise ArgumentTypeError(
            f"A LinearMap was expected. Got {describe(linear_map)}. "
            "ad.derivative(f, x) and adjoint.maps.from_matrix make linear maps."
        )


def _require_space(space: Any) -> None:
    if not isinstance(space, Space):
        raise ArgumentTypeError(
            f"A space was expected. Got {describe(space)}. "
            "adjoint.spaces.infer(value) gives the space of an array or a tree of arrays."
        )
