"""Spaces of polynomials: under the L2 inner product of an interval, and of coefficients."""

from __future__ import annotations

import operator
from typing import Any, Final, final

import numpy as np
from numpy.polynomial import Legendre
from numpy.polynomial.legendre import leggauss
from numpy.polynomial.polyutils import mapdomain

from adjoint.base.errors import (
    ArgumentError,
    ArgumentTypeError,
    MembershipError,
    NotPositiveDefiniteError,
)
from adjoint.base.pytrees import flatten, unflatten
from adjoint.base.signatures.checked import check_whole
from adjoint.spaces.elements.members import Mismatch
from adjoint.spaces.elements.values import describe
from adjoint.spaces.polynomials.bases import KINDS, VANDERMONDE
from adjoint.spaces.space import Space

_WORST_CONDITION: Final = 1e12  # about three digits are left


class _PolynomialSpace(Space):
    """What both spaces share: elements, coordinates and the pairing of coefficients."""

    def __init__(self, degree: Any, basis: Any, domain: Any, window: Any) -> None:
        basis = getattr(basis, "_kind", basis)  # under capture a class of ours stands for NumPy's
        if basis not in KINDS:
            raise ArgumentTypeError(
                "basis is one of numpy.polynomial's classes Polynomial, Legendre and Chebyshev. "
                f"Got {basis!r}. Give the class itself: basis=np.polynomial.Legendre."
            )
        self.degree: Final = _as_degree(degree)
        self.basis_class: Final = basis
        self.domain: Final = _as_interval(domain, "domain")
        self.window: Final = _as_interval(basis.window if window is None else window, "window")

    @property
    def dimension(self) -> int:
        """The number of coefficients, degree + 1."""
        return self.degree + 1

    @property
    def ambient(self) -> Space:
        """The same polynomials under the Euclidean inner product of their coefficients."""
        return PolynomialCoefficients(self.degree, self.basis_class, self.domain, self.window)

    @property
    def _real_dtype(self) -> np.dtype[Any]:
        return np.dtype(float)

    @property
    def _full(self) -> bool:
        return True

    def _why_not(self, x: Any, deep: bool) -> Mismatch | None:
        name = self.basis_class.__name__
        if not isinstance(x, self.basis_class):
            advice = f"Its elements are {name} objects of degree {self.degree}."
        elif self._frame(x) != (self.domain, self.window):
            advice = (
                f"Its domain is {self._frame(x)[0]} and its window {self._frame(x)[1]}; they must "
                f"be {self.domain} and {self.window}: p.convert(domain, {name}, window)."
            )
        elif tuple(np.shape(x.coef)) != (self.dimension,):
            advice = (
                f"It has {np.shape(x.coef)} coefficients, and must have {self.dimension}: fill up "
                "with zeros, or project it."
            )
        elif np.can_cast(x.coef.dtype, float, "safe"):
            return None
        else:
            advice = "Its coefficients must be real numbers of double precision."
        return Mismatch(MembershipError, self, x, advice)

    def _frame(self, x: Any) -> tuple[Any, Any]:
        return tuple(x.domain.tolist()), tuple(x.window.tolist())

    def _polynomial(self, coef: Any) -> Any:
        """The polynomial with these coefficients, which may be under capture: it is a tree."""
        frame = self.basis_class([0.0], self.domain, self.window)
        _, structure = flatten(frame)
        assert structure is not None  # capture has said that NumPy's polynomials are trees
        return unflatten(structure, [coef])

    def _zero(self) -> Any:
        return self._polynomial(np.zeros(self.dimension))

    def _pair(self, components: Any, x: Any) -> Any:
        return np.sum(components.coef * x.coef)

    def _restrict(self, components: Any) -> Any:
        return components

    def _coordinates(self, x: Any) -> Any:
        return x.coef

    def _from_coordinates(self, coordinates: Any) -> Any:
        return self._polynomial(coordinates)


@final
class PolynomialCoefficients(_PolynomialSpace):
    """Polynomials under the Euclidean inner product of their coefficients, which the basis decides.

    It is what `infer` gives for a polynomial, so what `ad.grad` uses unless told a space: the
    gradient then holds the partial derivatives with respect to the coefficients.

    Args:
        degree: at most which the polynomials are.
        basis: `np.polynomial.Polynomial`, `Legendre` or `Chebyshev`.
        domain: of the polynomials; what their class has unless told.
        window: likewise.

    Raises:
        ArgumentError, ArgumentTypeError: an argument makes no sense.

    Example:
        >>> import numpy as np
        >>> from adjoint.spaces import infer
        >>> infer(np.polynomial.Chebyshev([1.0, 2.0]))
        PolynomialCoefficients(1, Chebyshev, (-1.0, 1.0), (-1.0, 1.0))
    """

    def __init__(
        self, degree: int, basis: Any = Legendre, domain: Any = None, window: Any = None
    ) -> None:
        given = getattr(basis, "domain", None) if domain is None else domain
        super().__init__(degree, basis, given, window)

    @property
    def _orthonormal(self) -> bool:
        return True

    def _key(self) -> tuple[Any, ...]:
        return self.degree, self.basis_class, self.domain, self.window

    def __repr__(self) -> str:
        name = self.basis_class.__name__
        return f"PolynomialCoefficients({self.degree}, {name}, {self.domain}, {self.window})"

    def _riesz(self, x: Any) -> Any:
        return x

    def _represent(self, components: Any) -> Any:
        return components


@final
class Polynomials(_PolynomialSpace):
    """Polynomials of at most a degree under <p, q> = integral of w p q over an interval (E.1.27).

    Args:
        degree: n; the dimension is n + 1.
        interval: (a, b), over which the inner product integrates.
        basis: the class of the elements: `np.polynomial.Polynomial` (monomials), `Legendre` or
            `Chebyshev`. Inner products and gradients are the same polynomials whichever it is.
        domain: of the elements, as NumPy has it; the interval unless told.
        window: of the elements; that of the class unless told.
        rule: `(nodes, weights)` of a quadrature rule in the interval, for an inner product with
            another weight function w than 1: n + 1 Gauss nodes or more make it exact.

    Elements are NumPy's polynomial objects with n + 1 coefficients and this domain and window. A
    covector has one component for each coefficient, held in an object of the same kind. The Riesz
    map is the Gram matrix of the basis, which the rule gives exactly.

    Raises:
        ArgumentError, ArgumentTypeError: an argument makes no sense.
        NotPositiveDefiniteError: the rule has a weight that is not positive, or too few nodes; or
            the basis polynomials are dependent on the interval up to rounding, as those of a high
            degree are whose domain is not the interval.

    Example:
        >>> import numpy as np
        >>> space = Polynomials(2, interval=(0.0, 1.0), basis=np.polynomial.Polynomial,
        ...                     domain=(-1.0, 1.0))
        >>> x = np.polynomial.Polynomial([0.0, 1.0, 0.0])
        >>> round(float(space.inner(x, x)), 12)
        0.333333333333
    """

    def __init__(
        self,
        degree: int,
        interval: tuple[float, float] = (-1.0, 1.0),
        basis: Any = Legendre,
        *,
        domain: Any = None,
        window: Any = None,
        rule: tuple[Any, Any] | None = None,
    ) -> None:
        self.interval: Final = _as_interval(interval, "interval")
        super().__init__(degree, basis, self.interval if domain is None else domain, window)
        self.rule: Final = None if rule is None else _as_rule(rule, self.interval, self.dimension)
        nodes, weights = self._nodes(self.dimension)
        # With sqrt(weights) V = Q R the Gram matrix is R'R; R has the root of its condition number.
        _, root = np.linalg.qr(np.sqrt(weights)[:, None] * self._columns(nodes))
        self._check_independent(root)
        self._root: Final = root
        self._root_inverse: Final = np.linalg.inv(root)

    def _check_independent(self, root: Any) -> None:
        """Gradients lose as many digits as the condition number of the normalised basis has."""
        lengths = np.linalg.norm(root, axis=0)
        known = np.all(np.isfinite(lengths)) and np.all(lengths > 0)
        condition = np.linalg.cond(root / lengths) if known else np.inf
        if not condition < _WORST_CONDITION:
            raise NotPositiveDefiniteError(
                f"The basis polynomials of {self!r} are so nearly dependent on the interval that "
                "gradients would be lost in rounding (their matrix has the condition number "
                f"{condition:.0e}; up to {_WORST_CONDITION:.0e} is accepted). The domain of the "
                f"elements is {self.domain}: leave it to be the interval, and take Legendre or "
                "Chebyshev polynomials for high degrees."
            )

    @property
    def _orthonormal(self) -> bool:
        return False

    def _key(self) -> tuple[Any, ...]:
        rule = None if self.rule is None else tuple(array.tobytes() for array in self.rule)
        return self.degree, self.interval, self.basis_class, self.domain, self.window, rule

    def __repr__(self) -> str:
        rule = "" if self.rule is None else f", rule of {len(self.rule[0])} nodes"
        return f"Polynomials({self.degree}, {self.interval}, {self.basis_class.__name__}{rule})"

    def _riesz(self, x: Any) -> Any:
        return self._polynomial(self._root.T @ (self._root @ x.coef))

    def _represent(self, components: Any) -> Any:
        return self._polynomial(self._root_inverse @ (self._root_inverse.T @ components.coef))

    def project(self, function: Any, nodes: int | None = None) -> Any:
        """The orthogonal projection of a polynomial or a function: the nearest element.

        Args:
            function: a `numpy.polynomial` object of any class, domain and degree, for which it is
                exact (to rounding), or a function of an array of points.
            nodes: how many Gauss nodes the integrals take; for functions 2n + 50 unless told. A
                `rule` of the space is used as it is.

        Returns:
            A polynomial of the class of the basis and of the degree of the space.

        Raises:
            ArgumentTypeError: the argument is neither.
            ArgumentError: the values are not real numbers, one for each point, or `nodes` is too
                small.

        Example:
            >>> import numpy as np
            >>> line = Polynomials(1).project(np.polynomial.Polynomial([0.0, 0.0, 1.0]))
            >>> bool(np.allclose(line.coef, [1 / 3, 0]))
            True
        """
        if not callable(function):
            raise ArgumentTypeError(
                f"project takes a polynomial or a function of points. Got {describe(function)}. "
                "lambda x: np.interp(x, points, values) is a function of sampled values."
            )
        if nodes is not None:
            check_whole(nodes, "nodes")
        polynomial = hasattr(function, "mapparms")
        enough = self.degree + 50 + (function.degree() if polynomial else self.degree)
        count = enough if nodes is None else operator.index(nodes)
        if count < self.dimension:
            raise ArgumentError(
                f"project takes at least {self.dimension} nodes for degree {self.degree}. "
                f"Got {count}. Leave the argument out to have enough."
            )
        points, weights = self._nodes(count)
        values = function(points)
        values = values if hasattr(values, "dtype") else np.asarray(values)
        if values.shape != points.shape or values.dtype.kind not in "iuf":
            raise ArgumentError(
                f"The function must give one real number for each of {len(points)} points. "
                f"Got {describe(values)}. NumPy's functions work on arrays of points."
            )
        scale = np.sqrt(weights)
        directions, root = np.linalg.qr(scale[:, None] * self._columns(points))
        return self._polynomial(np.linalg.solve(root, directions.T @ (scale * values)))

    def _nodes(self, count: int) -> tuple[Any, Any]:
        """The rule of the space, or that of Gauss on the interval."""
        if self.rule is not None:
            return self.rule
        a, b = self.interval
        nodes, weights = leggauss(count)
        return mapdomain(nodes, (-1, 1), (a, b)), weights * (b - a) / 2

    def _columns(self, points: Any) -> Any:
        """The values of the basis polynomials at points, shape (points, degree + 1)."""
        mapped = mapdomain(points, self.domain, self.window)
        return VANDERMONDE[self.basis_class](mapped, self.degree)


def space_of_polynomial(x: Any) -> Space:
    """The Euclidean space of the coefficients of a polynomial.

    Raises:
        ArgumentTypeError: they are not one row of real numbers.
    """
    if len(np.shape(x.coef)) != 1 or x.coef.dtype.kind != "f":
        raise ArgumentTypeError(
            "The space of a polynomial was asked for. Its coefficients are "
            f"{describe(x.coef)}, and must be one row of real floating numbers. "
            "Differentiate with respect to an array of coefficients instead."
        )
    kind = next(kind for kind in KINDS if isinstance(x, kind))
    domain, window = tuple(x.domain.tolist()), tuple(x.window.tolist())
    return PolynomialCoefficients(len(x.coef) - 1, kind, domain, window)


def _as_degree(degree: Any) -> int:
    try:
        whole_degree = operator.index(degree)
    except TypeError:
        raise ArgumentTypeError(
            f"degree must be an integer. Got {describe(degree)}. "
            "Polynomials of degree 0 are the constants."
        ) from None
    if whole_degree < 0:
        raise ArgumentError(
            f"degree must not be negative. Got {whole_degree}. 0 gives the constants."
        )
    return whole_degree


def _as_interval(interval: Any, argument: str) -> tuple[float, float]:
    ends = np.asarray(interval)
    if ends.shape != (2,) or ends.dtype.kind not in "iuf":
        raise ArgumentTypeError(
            f"{argument} must be a pair (a, b) of real numbers. Got {describe(interval)}. "
            "(-1.0, 1.0) is the usual one."
        )
    a, b = (float(end) for end in ends)
    if not (np.isfinite(a) and np.isfinite(b) and a < b):
        raise ArgumentError(
            f"{argument} must be a pair (a, b) with a < b, both finite. Got ({a}, {b}). "
            "Map an unbounded interval to a bounded one first."
        )
    return a, b


def _as_rule(rule: Any, interval: tuple[float, float], dimension: int) -> tuple[Any, Any]:
    try:
        nodes, weights = (np.array(part, float) for part in rule)
    except (TypeError, ValueError):
        nodes = weights = np.zeros(0)
    if nodes.ndim != 1 or nodes.shape != weights.shape or not nodes.size:
        raise ArgumentTypeError(
            f"rule must be a pair of equally long rows, nodes and weights. Got {describe(rule)}. "
            "np.polynomial.chebyshev.chebgauss(n + 1) is one for the interval (-1, 1)."
        )
    if not np.all((nodes >= interval[0]) & (nodes <= interval[1])):
        raise ArgumentError(
            f"The nodes of a rule must lie in the interval {interval}. Got nodes from "
            f"{nodes.min()} to {nodes.max()}. Map them: a + (b - a) (node + 1) / 2."
        )
    if not np.all(weights > 0) or len(np.unique(nodes)) < dimension:
        raise NotPositiveDefiniteError(
            f"A rule for {dimension} coefficients needs as many nodes, with positive weights. "
            f"Got {len(np.unique(nodes))} nodes and a least weight of {weights.min()}. "
            "Gauss rules have positive weights."
        )
    for array in (nodes, weights):
        array.setflags(write=False)
    return nodes, weights
