"""The kinds of weight that define an inner product: each multiplies, and solves.

A weight acts on flat vectors, except that an elementwise one acts on arrays of its own shape, and a
map on elements of its space.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any, Final, final

import numpy as np

from adjoint.base.arrays import real_dtype
from adjoint.base.errors import ArgumentTypeError, NotPositiveDefiniteError

# Asymmetry of a weight that rounding can explain, relative to its largest entry.
_ROUNDINGS: Final = 256
# An eigenvalue that rounding can explain, where the diagonal is 1. Singular matrices, as computed,
# come out below one rounding, whatever their size.
_SINGULAR: Final = 4


class Weight(ABC):
    """A symmetric positive definite operator W."""

    given: Any  # what the user may look at: read-only

    @abstractmethod
    def multiply(self, x: Any) -> Any:
        """W x."""

    @abstractmethod
    def solve(self, components: Any) -> Any:
        """The x with W x = components."""

    @abstractmethod
    def describe(self) -> str:
        """A word or two, for the repr of the space."""


@final
class DiagonalWeight(Weight):
    """Positive numbers: a scalar or an array, multiplied elementwise."""

    def __init__(self, given: Any, dtype: np.dtype[Any]) -> None:
        self.given = _read_only(given, dtype)
        bad = self.given[~((self.given > 0) & (self.given < np.inf))]
        if bad.size:
            raise NotPositiveDefiniteError(
                "Diagonal weights must be positive and finite to define an inner product. "
                f"Got {bad[0]} among them. Leave coordinates without weight out of the space."
            )

    def multiply(self, x: Any) -> Any:
        """W x, elementwise."""
        return self.given * x

    def solve(self, components: Any) -> Any:
        """W^-1 components, elementwise."""
        return components / self.given

    def describe(self) -> str:
        """Its shape."""
        return f"diagonal {self.given.shape}" if self.given.shape else f"{self.given}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DiagonalWeight) and _same_array(self.given, other.given)

    def __hash__(self) -> int:
        return _array_hash(self.given, self.given.ravel()[:8])


@final
class DenseWeight(Weight):
    """A symmetric (Hermitian) positive definite matrix."""

    def __init__(self, given: Any, dtype: np.dtype[Any]) -> None:
        matrix = _read_only(given, dtype)
        with np.errstate(invalid="ignore"):  # infinities are reported just below
            _require_symmetric(float(np.max(np.abs(matrix - matrix.conj().T), initial=0)), matrix)
        # Exactly symmetric, so that <x, y> and <y, x> use the same numbers.
        self.given = _read_only((matrix + matrix.conj().T) / 2, dtype)
        try:
            self._factor = np.linalg.cholesky(self.given)
        except np.linalg.LinAlgError:
            smallest = np.min(np.linalg.eigvalsh(self.given))
            raise _not_positive(f"its smallest eigenvalue is {smallest:.3g}") from None
        _require_regular(self.solve, np.diagonal(self.given))

    def multiply(self, x: Any) -> Any:
        """W x."""
        return np.matmul(self.given, x)

    def solve(self, components: Any) -> Any:
        """W^-1 components, from the Cholesky factor."""
        if not isinstance(components, np.ndarray):
            return np.linalg.solve(self.given, components)  # which a traced array can record
        from scipy.linalg import cho_solve  # lazy: importing scipy.linalg takes longer than adjoint

        return cho_solve((self._factor, True), components, check_finite=False)

    def describe(self) -> str:
        """Its shape."""
        return "dense {}x{}".format(*self.given.shape)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DenseWeight) and _same_array(self.given, other.given)

    def __hash__(self) -> int:
        return _array_hash(self.given, np.diagonal(self.given)[:8])


@final
class SparseWeight(Weight):
    """A symmetric (Hermitian) positive definite SciPy sparse matrix.

    Symmetry is checked at once; positive definiteness when the matrix is factorised, which happens
    once, when a Riesz representative is first asked for. (Inner products alone never pay for a
    factorisation.)
    """

    def __init__(self, given: Any, dtype: np.dtype[Any]) -> None:
        matrix = given.tocsc(copy=True).astype(dtype)
        transposed = matrix.conj().T.tocsc()
        _require_symmetric(float(np.max(abs(matrix - transposed).data, initial=0)), matrix.data)
        diagonal = matrix.diagonal()
        if not np.all(np.real(diagonal) > 0):
            raise _not_positive(f"its diagonal holds {np.min(np.real(diagonal)):.3g}")
        self.given = ((matrix + transposed) / 2).astype(dtype).tocsc()
        self.given.sort_indices()
        for array in (self.given.data, self.given.indices, self.given.indptr):
            array.setflags(write=False)

    def multiply(self, x: Any) -> Any:
        """W x."""
        return self.given @ x

    @cached_property
    def _factors(self) -> Any:
        from scipy.sparse.linalg import splu  # lazy: takes longer to import than all of adjoint

        # Diagonal pivots keep the factorisation symmetric, P W P' = L D L': W is positive definite
        # exactly if no other pivot is taken and all pivots are positive.
        try:
            factors = splu(
                self.given,
                permc_spec="MMD_AT_PLUS_A",
                diag_pivot_thresh=0.0,
                options={"SymmetricMode": True},
            )
        except RuntimeError:
            raise _not_positive("it is singular") from None
        pivots = np.real(factors.U.diagonal())
        if not np.array_equal(factors.perm_r, factors.perm_c) or not np.all(pivots > 0):
            raise _not_positive(f"its smallest pivot is {np.min(pivots):.3g}")
        _require_regular(factors.solve, self.given.diagonal())
        return factors

    def solve(self, components: Any) -> Any:
        """W^-1 components, from the sparse LU factors."""
        if not self.given.shape[0]:
            return components
        # SuperLU solves in the dtype of its factors, so complex right-hand sides go in two parts.
        if np.iscomplexobj(components) and not np.iscomplexobj(self.given.data):
            return self.solve(np.real(components)) + 1j * self.solve(np.imag(components))
        return self._factors.solve(np.ascontiguousarray(components, self.given.dtype))

    def describe(self) -> str:
        """Its shape."""
        return "sparse {}x{}".format(*self.given.shape)

    def __getstate__(self) -> dict[str, Any]:
        return {"given": self.given}  # the factors, which cannot be copied, are found again

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SparseWeight) or self.given.shape != other.given.shape:
            return False
        mine, yours = self.given, other.given
        names = ("data", "indices", "indptr")
        return all(_same_array(getattr(mine, name), getattr(yours, name)) for name in names)

    def __hash__(self) -> int:
        return _array_hash(self.given, self.given.diagonal()[:8])


@final
class MapWeight(Weight):
    """A linear map on the elements, with its `.inverse`: symmetry is tried on random elements."""

    def __init__(self, given: Any) -> None:
        if not callable(given) or not callable(getattr(given, "inverse", None)):
            raise ArgumentTypeError(
                "A weight given as a map must be callable, and so must its `inverse`. "
                f"Got an object of type {type(given).__qualname__}. "
                "LinearMap(space, space, apply, transpose, inverse) makes one, and "
                "ConjugateGradient(space, operator) one that needs no inverse."
            )
        self.given = given

    def multiply(self, x: Any) -> Any:
        """W x."""
        return self.given(x)

    def solve(self, components: Any) -> Any:
        """W^-1 components."""
        return self.given.inverse(components)

    def describe(self) -> str:
        """Its own repr."""
        return repr(self.given)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MapWeight):
            return False
        return self.given is other.given or bool(self.given == other.given)

    def __hash__(self) -> int:
        return hash(type(self.given))  # whatever its own idea of equality is


def _read_only(given: Any, dtype: np.dtype[Any]) -> Any:
    """A read-only copy, real or complex as given, at the precision of the space."""
    is_complex = np.iscomplexobj(given)
    copy = np.array(given, np.result_type(dtype, np.complex64) if is_complex else dtype, order="C")
    copy.setflags(write=False)
    return copy


def _require_symmetric(asymmetry: float, entries: Any) -> None:
    if not np.all(np.isfinite(entries)):
        raise _not_positive("it holds NaN or infinity")
    largest = np.max(np.abs(entries), initial=0)
    if asymmetry > _ROUNDINGS * np.finfo(real_dtype(entries.dtype)).eps * largest:
        raise _not_positive(
            f"it is not symmetric: entries differ from the transposed ones by up to {asymmetry:.3g}"
        )


def _require_regular(solve: Callable[[Any], Any], diagonal: Any) -> None:
    """Raise where the matrix, scaled to the diagonal 1, has an eigenvalue that may be rounding.

    Factorisations of singular matrices pass half of the time. Inverse iteration finds the smallest
    eigenvalue in two steps where it is so small.
    """
    if not diagonal.size:
        return
    scale = np.sqrt(np.real(diagonal)).astype(diagonal.dtype)
    x = np.random.default_rng(0).standard_normal(diagonal.size).astype(diagonal.dtype)
    for _ in range(2):
        x = scale * solve(scale * (x / np.linalg.norm(x)))
    # Written so that NaN does not pass.
    if not _SINGULAR * np.finfo(diagonal.dtype).eps * np.linalg.norm(x) < 1:
        raise _not_positive("it is singular, to rounding")


def _not_positive(reason: str) -> NotPositiveDefiniteError:
    return NotPositiveDefiniteError(
        "A weight must be a symmetric (Hermitian) positive definite matrix to define an inner "
        f"product. This one is not: {reason}. (W + W.T)/2 is symmetric; adding a multiple of the "
        "identity makes it positive."
    )


def _same_array(mine: Any, yours: Any) -> bool:
    return mine is yours or (mine.dtype == yours.dtype and np.array_equal(mine, yours))


def _array_hash(array: Any, sample: Any) -> int:
    # A few entries tell most weights apart; equality looks at all of them. (-0.0 hashes as 0.0.)
    return hash((array.shape, array.dtype.str, tuple(complex(entry) for entry in sample)))
