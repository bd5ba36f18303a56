"""Functions on the meshes of scikit-fem, which is needed for this and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from typing import Any, Final, final

import numpy as np

from adjoint.base.errors import ArgumentError, ArgumentTypeError, MissingPackageError
from adjoint.spaces.discretisation import Discretisation, sealed_sparse
from adjoint.spaces.euclidean import Euclidean, as_inexact_dtype
from adjoint.spaces.values import describe
from adjoint.spaces.weights import SparseWeight


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
        self.basis: Final = basis
        self._free: Final = np.arange(basis.N) if zero is None else basis.complement_dofs(zero)
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
        return self._bilinear(lambda u, v, _: inner(u.grad, v.grad))

    @cached_property
    def _projection(self) -> SparseWeight:
        return SparseWeight(self.mass, np.dtype(float))

    def interpolate(self, function: Callable[..., Any]) -> Any:
        """The projection, orthogonal in L2. Vector functions return one array a component."""
        skfem, places = _skfem(), np.asarray(self.basis.global_coordinates())
        values = np.asarray(function(*places))
        form = skfem.LinearForm(
            lambda v, _: skfem.helpers.inner(values + np.zeros(np.shape(v)), v),
            dtype=np.result_type(values, float),
        )
        return self._projection.solve(form.assemble(self.basis)[self._free])

    def evaluate(self, element: Any, points: Any) -> Any:
        """The values at points of the mesh, shape (variables, ...); linear in the element."""
        places = np.asarray(points, float)
        if len(self.coordinates) == 1 and (places.ndim == 0 or places.shape[0] != 1):
            places = places[None]
        shape = places.shape[1:]
        try:
            probes = self.basis.probes(np.reshape(places, (places.shape[0], -1)))
        except ValueError as error:
            raise ArgumentError(
                f"points must lie in the mesh, with their coordinates along the first axis. "
                f"scikit-fem said: {error} Got {describe(points)}."
            ) from None
        entries, columns = _by_row(probes.tocsr()[:, self._free])
        held = np.where(entries != 0, element[columns], 0)  # zero times infinity is none of it
        values = np.sum(entries * held, axis=-1)
        components = len(values) // max(int(np.prod(shape)), 1) if len(values) else 1
        return np.reshape(values, shape if components == 1 else (components, *shape))


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
