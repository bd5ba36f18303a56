"""Linear maps between inner-product spaces, their transposes and adjoints."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import Any, Final, final

import numpy as np

from adjoint.base.errors import (
    ArgumentTypeError,
    MembershipError,
    MissingInverseError,
    MissingTransposeError,
    SpaceMismatchError,
)
from adjoint.base.signatures.checked import check_flag, check_function
from adjoint.maps.functions import Function, added, composed, conjugate, scaling
from adjoint.maps.lines import column_of, row_of, stacked_lines
from adjoint.spaces.dual_basis import basis_matrix
from adjoint.spaces.elements.values import describe, is_complex_scalar, is_real_scalar, weak_scalar
from adjoint.spaces.space import Space


class MatrixBy(Enum):
    """How a matrix is found: from the map on a basis, or the transpose on a dual basis.

    Example:
        >>> from adjoint.maps import identity
        >>> from adjoint.spaces import Euclidean
        >>> identity(Euclidean(2)).matrix(by=MatrixBy.ROWS)
        array([[1., 0.],
               [0., 1.]])
    """

    COLUMNS = "apply the map to every basis vector of the domain"
    ROWS = "apply the transpose to every dual basis covector of the codomain"


@final
class LinearMap:
    """A linear map D : X -> Y between inner-product spaces (E.1.36).

    Args:
        domain: X.
        codomain: Y.
        apply: element of X -> element of Y, linear over the reals.
        transpose: raw components of a covector on Y -> raw components of a covector on X, with
            (transpose c)(u) = c(apply u); no inner product is involved. For arrays: the conjugate
            transposed array operation.
        inverse: the inverse map, as a LinearMap Y -> X (which can then be transposed too) or as a
            function on elements.
        name: for the repr.

    The functions are trusted to be linear and transposes of each other;
    `adjoint.maps.adjoint_error` and `linearity_error` measure whether they are.

    Algebra: `D(u)`, `A @ B`, `A + B`, `A - B`, `-A`, `2 * A`, `A / 2`.
    Duality: `D.T` on covectors, Y' -> X'; `D.H` on vectors, Y -> X; `D.inverse`.

    Raises:
        ArgumentTypeError: `domain` or `codomain` is no space.

    Example:
        >>> import numpy as np
        >>> from adjoint.spaces import Euclidean
        >>> double = LinearMap(
        ...     Euclidean(2), Euclidean(2), lambda u: 2 * u, lambda c: 2 * c
        ... )
        >>> double(np.array([1.0, 2.0])), double.H(np.array([1.0, 2.0]))
        (array([2., 4.]), array([2., 4.]))
    """

    __array_ufunc__ = None  # NumPy scalars and arrays leave the operators to this class

    def __init__(
        self,
        domain: Space,
        codomain: Space,
        apply: Function,
        transpose: Function | None = None,
        inverse: LinearMap | Function | None = None,
        name: str | None = None,
    ) -> None:
        for argument, space in (("domain", domain), ("codomain", codomain)):
            if not isinstance(space, Space):
                raise ArgumentTypeError(
                    f"A linear map needs a space as its {argument}. Got {describe(space)}. "
                    "adjoint.spaces.infer(value) gives the space of an array or a tree of arrays."
                )
        check_function(apply, "apply")
        if transpose is not None:
            check_function(transpose, "transpose")
        if inverse is not None and not isinstance(inverse, LinearMap):
            check_function(inverse, "inverse")
        self.domain: Final = domain
        self.codomain: Final = codomain
        self.name: Final = name
        self._apply: Final = apply
        self._transpose: Final = _restricted(transpose, domain)
        # These hold no reference back to this map: cycles would keep large arrays alive.
        self._find_inverse: Callable[[LinearMap], LinearMap] | None = None
        self._find_sparse: Callable[[], Any] | None = None  # a quicker way to the sparse matrix
        self._transpose_of: LinearMap | None = None
        self._adjoint_of: LinearMap | None = None
        if inverse is not None:
            self._find_inverse = lambda owner: _as_inverse(owner, inverse)

    def __repr__(self) -> str:
        name = "" if self.name is None else f"{self.name}: "
        return f"LinearMap({name}{self.domain!r} -> {self.codomain!r})"

    def __call__(self, u: Any) -> Any:
        """D u, an element of the codomain.

        Raises:
            MembershipError: u is not an element of the domain, or `apply` left the codomain.
            SpaceMismatchError: u is a covector where a vector should be, or the reverse.
        """
        self.domain.check(u, "u")
        result = self._apply(u)
        mismatch = self.codomain._mismatch(result, deep=False)
        if mismatch is not None:
            raise MembershipError(
                f"{mismatch.message('The result of ' + repr(self))} "
                "The function that was given as `apply` does not fit the codomain."
            )
        return result

    # --- duality ---------------------------------------------------------------------------------

    @property
    def T(self) -> LinearMap:  # the mathematical name
        """The transpose (pullback) Y' -> X' on covectors: (D.T w)(u) = w(D u). No inner product.

        Raises:
            MissingTransposeError: the map was built without one.
        """
        if self._transpose_of is not None:
            return self._transpose_of
        domain, codomain, name = self.domain, self.codomain, _suffixed(self.name, "T")
        domain_dual, codomain_dual = domain.dual, codomain.dual
        pull, push = self._require_transpose(), self._apply
        transpose = LinearMap(
            codomain_dual,
            domain_dual,
            lambda covector: domain._as_covector(pull(codomain._components_of(covector))),
            # A covector on X' is an element of X: its components are that element itself, or,
            # where X is a dual, the components of that element.
            lambda c: codomain_dual._components_of(push(domain_dual._as_covector(c))),
            name=name,
        )
        transpose._transpose_of = self
        if self._find_inverse is not None:
            transpose._find_inverse = lambda _: self.inverse.T
        return transpose

    @property
    def H(self) -> LinearMap:  # the mathematical name
        """The adjoint Y -> X: <D u, v>_Y = <u, D.H v>_X, so D.H = R_X^-1 D.T R_Y (E.1.52).

        Under weighted inner products V and W of X and Y, it is V^-1 A' W for a matrix A.

        Raises:
            MissingTransposeError: the map was built without a transpose.
        """
        if self._adjoint_of is not None:
            return self._adjoint_of
        pull, push = self._require_transpose(), self._apply
        domain, codomain = self.domain, self.codomain
        adjoint = LinearMap(
            codomain,
            domain,
            lambda v: domain._represent(pull(codomain._riesz(v))),
            lambda components: codomain._riesz(push(domain._represent(components))),
            name=_suffixed(self.name, "H"),
        )
        adjoint._adjoint_of = self
        if self._find_inverse is not None:
            adjoint._find_inverse = lambda _: self.inverse.H
        return adjoint

    @property
    def inverse(self) -> LinearMap:
        """The inverse Y -> X, where it is known.

        Raises:
            MissingInverseError: it is not known, or the map is singular.
        """
        if self._find_inverse is None:
            raise MissingInverseError(
                f"The inverse of {self!r} was asked for. It was built without one. Give it as "
                "LinearMap(..., inverse=...), or use map.materialised(), which inverts its matrix."
            )
        return self._find_inverse(self)

    def _require_transpose(self) -> Function:
        if self._transpose is None:
            raise MissingTransposeError(
                f"The transpose of {self!r} was asked for. It was built without one. Give it as "
                "LinearMap(..., transpose=...), a function from covector components on the "
                "codomain to "
                "covector components on the domain, or use map.materialised(), which has one."
            )
        return self._transpose

    # --- algebra ---------------------------------------------------------------------------------

    def __matmul__(self, other: Any) -> Any:
        """The composition with another map, self after other; or the value at an element."""
        if not isinstance(other, LinearMap):
            return self(other)
        return _composition(self, other)

    def __add__(self, other: Any) -> LinearMap:
        self._require_map(other, "+")
        if other.domain != self.domain or other.codomain != self.codomain:
            raise SpaceMismatchError(
                f"A sum needs two maps between the same spaces. Got {self!r} and {other!r}. "
                "Compose one of them with maps that join the spaces."
            )
        domain, codomain = self.domain, self.codomain
        one, two, pull_one, pull_two = self._apply, other._apply, self._transpose, other._transpose
        transpose = None
        if pull_one is not None and pull_two is not None:
            transpose = added(domain, pull_one, pull_two)
        name = _joined_names(self, other, " + ")
        return LinearMap(domain, codomain, added(codomain, one, two), transpose, name=name)

    def __sub__(self, other: Any) -> LinearMap:
        return self + -self._require_map(other, "-")

    def __radd__(self, other: Any) -> LinearMap:
        return self._require_map(other, "+")

    def __rsub__(self, other: Any) -> LinearMap:
        return self._require_map(other, "-")

    def __rmatmul__(self, other: Any) -> LinearMap:
        return self._require_map(other, "@")

    def _require_map(self, other: Any, sign: str) -> LinearMap:
        if isinstance(other, LinearMap):
            return other
        raise ArgumentTypeError(
            f"{sign} with a linear map needs another linear map. Got {describe(other)} and "
            f"{self!r}. "
            "adjoint.maps.identity(space) and from_matrix(matrix, domain, codomain) make maps."
        )

    def __neg__(self) -> LinearMap:
        return self * -1

    def __mul__(self, scalar: Any) -> LinearMap:
        self._require_scalar(scalar)
        factor, codomain, apply = weak_scalar(scalar), self.codomain, self._apply
        transpose = None
        if self._transpose is not None:
            # w(a D u) = Re conj(c) a D u: the components c of w meet the conjugate factor.
            transpose = composed(self._transpose, scaling(codomain, conjugate(factor)))
        name = None if self.name is None else f"{factor} * ({self.name})"
        scaled = composed(scaling(codomain, factor), apply)
        multiple = LinearMap(self.domain, codomain, scaled, transpose, name=name)
        if self._find_inverse is not None:
            multiple._find_inverse = lambda owner: _divided(self.inverse, factor, owner)
        return multiple

    __rmul__ = __mul__

    def __truediv__(self, scalar: Any) -> LinearMap:
        self._require_scalar(scalar)
        quotient: LinearMap = self * (1 / weak_scalar(scalar))
        return quotient

    def _require_scalar(self, scalar: Any) -> None:
        if is_real_scalar(scalar) or (is_complex_scalar(scalar) and self.codomain._complex):
            return
        raise ArgumentTypeError(
            f"A linear map into {self.codomain!r} takes scalar factors that its elements take. "
            f"Got {describe(scalar)}. Use a real number, or A @ B to compose maps."
        )

    # --- matrices --------------------------------------------------------------------------------

    def matrix(self, by: MatrixBy | None = None, sparse: bool = False) -> Any:
        """The matrix in the bases of the spaces: column j is D e_j (E.1.36).

        Args:
            by: whether to apply the map or its transpose; unless told, whichever takes fewer calls.
            sparse: whether in SciPy's sparse format, without a dense matrix on the way. That of a
                derivative takes few calls, if each entry of its result depends on few numbers.

        Returns:
            A real array of shape (codomain.dimension, domain.dimension), or a
            `scipy.sparse.csr_array`.

        Raises:
            MissingTransposeError: rows were asked for, and the map has no transpose.
            ArgumentTypeError: `by` is no `MatrixBy`, or `sparse` no truth value.

        Example:
            >>> from adjoint.spaces import Euclidean
            >>> import numpy as np
            >>> LinearMap(Euclidean(3), Euclidean(2), lambda u: u[:2] - u[1:]).matrix()
            array([[ 1., -1.,  0.],
                   [ 0.,  1., -1.]])
        """
        check_flag(sparse, "sparse")
        domain, codomain = self.domain, self.codomain
        if sparse and by is None and self._find_sparse is not None:
            return self._find_sparse()
        if by is None:
            rows = self._transpose is not None and codomain.dimension < domain.dimension
            by = MatrixBy.ROWS if rows else MatrixBy.COLUMNS
        if not isinstance(by, MatrixBy):
            raise ArgumentTypeError(
                f"by must be MatrixBy.COLUMNS or MatrixBy.ROWS. Got {by!r}. "
                "Leave it out to have the cheaper one chosen."
            )
        dtype = np.result_type(domain._real_dtype, codomain._real_dtype)
        count, length = domain.dimension, codomain.dimension
        if not sparse and not (count and length):
            return np.zeros((length, count), dtype)
        by_columns = by is MatrixBy.COLUMNS
        pull = None if by_columns else self._require_transpose()
        line = partial(column_of, self) if pull is None else partial(row_of, self, pull)
        if not by_columns:
            count, length = length, count
        if sparse:
            return stacked_lines(line, count, length, by_columns).astype(dtype)
        # np.stack, and no writes into an array: the lines may be traced.
        matrix = np.stack([line(index) for index in range(count)], axis=1 if by_columns else 0)
        return matrix if matrix.dtype == dtype else matrix.astype(dtype)

    def matrix_in(self, domain_basis: Any, codomain_basis: Any) -> Any:
        """The matrix M in other bases: D b_j = sum_i M_ij c_i.

        Args:
            domain_basis: elements b_1, ..., b_n of the domain, as many as its dimension.
            codomain_basis: elements c_1, ..., c_m of the codomain, as many as its dimension.

        Returns:
            A real array of shape (m, n).

        Raises:
            ArgumentError: one of them is no basis.
            MembershipError, SpaceMismatchError: an element of a basis is not one of its space.
        """
        basis_matrix(self.domain, domain_basis, "domain_basis")
        frame = basis_matrix(self.codomain, codomain_basis, "codomain_basis")  # (m, m)
        images = [self.codomain._coordinates(self._apply(u)) for u in domain_basis]
        columns = np.stack(images, axis=1) if images else np.zeros((self.codomain.dimension, 0))
        return np.linalg.solve(frame, columns)

    def materialised(self) -> LinearMap:
        """The same map, held as a matrix: it can be transposed, and inverted where that exists.

        Returns:
            A `LinearMap` between the same spaces, applied as a product with its matrix.
        """
        return matrix_map(self.matrix(), self.domain, self.codomain, self.name)

    def as_scipy(self) -> Any:
        """A `scipy.sparse.linalg.LinearOperator` on coordinates, shape (m, n), lazily.

        `matvec` is the matrix of the map and `rmatvec` its plain transpose, not the adjoint of
        weighted spaces; there is no `rmatvec` where the map has no transpose.

        Returns:
            A `LinearOperator` of the dtype of real coordinates, which calls the map at each
            product.

        Example:
            >>> import numpy as np
            >>> from adjoint.maps import from_matrix
            >>> from adjoint.spaces import Euclidean
            >>> D = from_matrix(np.array([[1.0, 2.0]]), Euclidean(2), Euclidean(1))
            >>> D.as_scipy().rmatvec(np.array([3.0]))
            array([3., 6.])
        """
        # Lazy: scipy.sparse.linalg takes longer to import than all of adjoint.
        from scipy.sparse.linalg import LinearOperator

        domain, codomain, apply, pull = self.domain, self.codomain, self._apply, self._transpose

        def multiply(vector: Any) -> Any:
            element = domain._from_coordinates(np.reshape(vector, (-1,)))
            return codomain._coordinates(apply(element))

        def multiply_transposed(vector: Any) -> Any:
            components = codomain._components_from_coordinates(np.reshape(vector, (-1,)))
            return domain._component_coordinates(self._require_transpose()(components))

        return LinearOperator(
            shape=(codomain.dimension, domain.dimension),
            matvec=multiply,
            rmatvec=None if pull is None else multiply_transposed,
            dtype=np.result_type(domain._real_dtype, codomain._real_dtype),
        )


def matrix_map(matrix: Any, domain: Space, codomain: Space, name: str | None = None) -> LinearMap:
    """The map that a real (m, n) matrix, dense or sparse, describes in coordinates."""
    transposed = matrix.T
    linear_map = LinearMap(
        domain,
        codomain,
        lambda u: codomain._from_coordinates(matrix @ domain._coordinates(u)),
        lambda components: domain._components_from_coordinates(
            transposed @ codomain._component_coordinates(components)
        ),
        name=name,
    )
    if matrix.shape[0] == matrix.shape[1] and isinstance(matrix, np.ndarray):
        linear_map._find_inverse = lambda owner: matrix_map(
            inverse_matrix(matrix, owner), codomain, domain, _suffixed(name, "inverse")
        )
    return linear_map


def inverse_matrix(matrix: Any, owner: LinearMap) -> Any:
    """The inverse of the matrix of a map.

    Raises:
        MissingInverseError: it is singular.
    """
    try:
        return np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        raise singular(owner, "its matrix is singular") from None


def singular(owner: LinearMap, reason: str) -> MissingInverseError:
    """The error for a map that has no inverse."""
    return MissingInverseError(
        f"The inverse of {owner!r} was asked for. It has none: {reason}. "
        "numpy.linalg.lstsq on map.matrix() gives least-squares solutions."
    )


def _restricted(transpose: Function | None, domain: Space) -> Function | None:
    # Where entries of an element are tied, a covector has many sets of ambient components; the one
    # that counts is the restricted one, so a transpose may return any.
    if transpose is None or domain._full:
        return transpose
    return composed(domain._restrict, transpose)


def _as_inverse(owner: LinearMap, inverse: Any) -> LinearMap:
    if not isinstance(inverse, LinearMap):
        name = _suffixed(owner.name, "inverse")
        return LinearMap(owner.codomain, owner.domain, inverse, inverse=owner, name=name)
    if inverse.domain != owner.codomain or inverse.codomain != owner.domain:
        raise SpaceMismatchError(
            f"The inverse of {owner!r} must map its codomain to its domain. Got {inverse!r}. "
            "Give LinearMap(..., inverse=...) a map between the same two spaces."
        )
    return inverse


def _composition(outer: LinearMap, inner: LinearMap) -> LinearMap:
    if inner.codomain != outer.domain:
        raise SpaceMismatchError(
            f"A @ B needs the codomain of B to be the domain of A. Got A = {outer!r} and "
            f"B = {inner!r}. Equal arrays with unequal inner products are unequal spaces."
        )
    transpose = None
    if outer._transpose is not None and inner._transpose is not None:
        transpose = composed(inner._transpose, outer._transpose)
    apply = composed(outer._apply, inner._apply)
    name = _joined_names(outer, inner, " @ ")
    composite = LinearMap(inner.domain, outer.codomain, apply, transpose, name=name)
    if outer._find_inverse is not None and inner._find_inverse is not None:
        composite._find_inverse = lambda _: _composition(inner.inverse, outer.inverse)
    return composite


def _divided(inverse: LinearMap, factor: Any, owner: LinearMap) -> LinearMap:
    """(a D)^-1 v = D^-1 (v / a): the factor acts in the codomain, which alone may be complex."""
    if factor == 0:
        raise singular(owner, "it is zero times a map")
    space = inverse.domain
    shrink = scaling(space, 1 / factor)
    shrinking = LinearMap(space, space, shrink, scaling(space, conjugate(1 / factor)))
    return _composition(inverse, shrinking)


def _suffixed(name: str | None, suffix: str) -> str | None:
    return None if name is None else f"({name}).{suffix}"


def _joined_names(one: LinearMap, two: LinearMap, sign: str) -> str | None:
    return None if one.name is None or two.name is None else f"({one.name}{sign}{two.name})"
