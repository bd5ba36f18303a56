"""Functions on the meshes of scikit-fem, which is needed for this and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from typing import Any, Final, final

import numpy as np

from adjoint.base.errors import (
    ArgumentError,
    ArgumentTypeError,
    MissingPackageError,
    ShapeError,
)
from adjoint.spaces.elements.values import describe
from adjoint.spaces.euclidean import Euclidean, as_inexact_dtype
from adjoint.spaces.functions.discretisation import (
    Discretisation,
    as_values,
    rounded,
    sealed_sparse,
    separate,
)
from adjoint.spaces.inner_products.weights import SparseWeight


@final
class FiniteElements(Discretisation):
    """Functions given by their coefficients in a scikit-fem basis, less those held at zero."""

    def __init__(self, basis: Any, zero: Any, dtype: Any) -> None:
        skfem = _skfem()
        if not isinstance(basis, skfem.CellBasis):
            raise ArgumentTypeError(
                f"Functions.elements takes a scikit-fem basis. Got {describe(basis)}. "
                "skfem.Basis(mesh, element) makes one."
            )
        if len(basis.basis[0]) > 1:
            raise ArgumentTypeError(
                f"Functions.elements takes a basis of one field. Got {type(basis.elem).__name__}, "
                "which has several. A Product of the spaces of the fields is a space."
            )
        self.basis: Final = basis
        self._free: Final = np.arange(basis.N) if zero is None else _others(basis, zero)
        self.base = Euclidean(len(self._free), as_inexact_dtype(dtype))
        self.coordinates = tuple(basis.doflocs[:, self._free])

    def _key(self) -> tuple[Any, ...]:
        return self.base, self.basis, self._free.tobytes()

    def __repr__(self) -> str:
        return f"{self.base.size} finite elements"

    @cached_property
    def integrals(self) -> Any:
        """The integrals of the basis functions, which must be scalar."""

        def value(v: Any, _: Any) -> Any:
            if np.ndim(v) != 2:
                raise self._missing(
                    "The integral", "It is no number where the values of the functions are vectors."
                )
            return v

        return _skfem().LinearForm(value).assemble(self.basis)[self._free]

    def _bilinear(self, form: Callable[[Any, Any, Any], Any]) -> Any:
        whole = _skfem().BilinearForm(form).assemble(self.basis).tocsc()
        return sealed_sparse(whole[np.ix_(self._free, self._free)])

    @cached_property
    def mass(self) -> Any:
        """The integrals of products."""
        inner = _skfem().helpers.inner
        return self._bilinear(lambda u, v, _: inner(u, v))

    @cached_property
    def stiffness(self) -> Any:
        """The integrals of products of gradients."""
        inner = _skfem().helpers.inner
        if self.basis.basis[0][0].grad is None:
            raise self._missing("The stiffness matrix", "scikit-fem gives them no gradients.")
        return self._bilinear(lambda u, v, _: inner(u.grad, v.grad))

    @cached_property
    def _projection(self) -> SparseWeight:
        return SparseWeight(self.mass, np.dtype(float))

    def interpolate(self, function: Callable[..., Any]) -> Any:
        """The projection, orthogonal in L2. Vector functions return one array a component."""
        places = np.asarray(self.basis.global_coordinates())
        values, shape = function(*places), places.shape[1:]
        if self._components == ():
            values = as_values(values, shape, self.base.dtype)
        else:
            values = np.stack([as_values(part, shape, self.base.dtype) for part in values])
            self._require_components(len(values))
        form = _skfem().LinearForm(
            lambda v, _: _skfem().helpers.inner(values, v), dtype=np.result_type(values, float)
        )
        projected = self._projection.solve(form.assemble(self.basis)[self._free])
        return rounded(projected, self.base.dtype)

    @property
    def _components(self) -> tuple[int, ...]:
        """The shape of a value: () or the number of components."""
        return tuple(np.shape(self.basis.basis[0][0])[:-2])

    def _require_components(self, count: int) -> None:
        if (count,) != self._components:
            raise ShapeError(
                f"The function must return one array for each of the {self._components[0]} "
                f"components. Got {count}. np.stack([first, second]) makes one of two."
            )

    def evaluate(self, element: Any, points: Any) -> Any:
        """The values at points of the mesh, linear in the element."""
        coordinates = separate(points, len(self.coordinates))
        shape = np.shape(coordinates[0])
        places = np.asarray(np.stack(coordinates), float)
        probes = self._probes(np.reshape(places, (len(places), -1)))
        entries, columns = _by_row(probes.tocsr()[:, self._free])
        held = np.where(entries != 0, element[columns], 0)  # zero times infinity is none of it
        return np.reshape(np.sum(entries * held, axis=-1), (*self._components, *shape))

    def _probes(self, places: Any) -> Any:
        """The sparse matrix from coefficients to values at places, shape (variables, count)."""
        try:
            return self.basis.probes(places)
        except NotImplementedError:
            raise self._missing(
                "The value at a point", "scikit-fem does not find points in cells of this kind."
            ) from None
        except (ValueError, IndexError) as error:
            raise ArgumentError(
                f"points must lie in the mesh, with their coordinates along the first axis. "
                f"Got {describe(places)}, of which scikit-fem said: {error}"
            ) from None


def _others(basis: Any, zero: Any) -> Any:
    """The coefficients that are not held at zero."""
    try:
        places = np.concatenate([zero])
        within = places.dtype.kind in "iu" and bool(np.all((places >= 0) & (places < basis.N)))
    except (TypeError, ValueError):
        within = isinstance(zero, dict)  # of such, which scikit-fem flattens
    if within:
        return basis.complement_dofs(zero)
    raise ArgumentError(
        f"zero takes the numbers of coefficients, from 0 to {basis.N - 1}. Got {describe(zero)}. "
        "basis.get_dofs() has those of the boundary, np.flatnonzero(mask) those of a mask."
    )


def _by_row(matrix: Any) -> tuple[Any, Any]:
    """The entries of a CSR matrix and their columns, row by row, filled up with zeros."""
    counts = np.diff(matrix.indptr)
    width = max(int(np.max(counts, initial=0)), 1)
    rows = np.repeat(np.arange(len(counts)), counts)
    places = np.arange(matrix.nnz) - np.repeat(matrix.indptr[:-1], counts)
    entries = np.zeros((len(counts), width))
    columns = np.zeros((len(counts), width), np.intp)
    entries[rows, places], columns[rows, places] = matrix.data, matrix.indices
    return entries, columns


def _skfem() -> Any:
    try:
        import_module("skfem.helpers")
        return import_module("skfem")  # lazy: an extra, and without types
    except ImportError:
        raise MissingPackageError(
            "Functions.elements was asked for. It needs scikit-fem, which is not installed. "
            "pip install 'adjoint[fem]' brings it."
        ) from None
