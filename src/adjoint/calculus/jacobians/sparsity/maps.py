"""Sparse matrices of derivatives as linear maps, by few products with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType
from adjoint.calculus.custom.missing_rules import is_applicable, is_transposable
from adjoint.calculus.jacobians.sparsity.colourings.greedy import Colouring, places_of
from adjoint.calculus.jacobians.sparsity.compressed import BlockLayout, seeds_of
from adjoint.calculus.jacobians.sparsity.detection import PatternReport, pattern_of, whole_pattern
from adjoint.calculus.jacobians.sparsity.products import products_of
from adjoint.capture.recording.tracing.applying import concrete
from adjoint.capture.scipy.sparse_patterns import numbered
from adjoint.program import Program
from adjoint.spaces import Euclidean, Product, Space, Weighted

Batched = Callable[[Sequence[Any], int], list[Any]]


def has_entries(space: Any) -> bool:
    """Whether the coordinates of an element are the entries of its arrays, in order."""
    if isinstance(space, Product):
        return all(map(has_entries, space.spaces))
    if isinstance(space, Weighted):
        return has_entries(space.base)
    return isinstance(space, Euclidean) and not space._complex


def sparse_matrix(
    linear: Program,
    residuals: Sequence[Any],
    outputs: Sequence[ArrayType],
    varying: Sequence[bool],
    push: Batched,
    pull: Batched,
    spaces: tuple[Space, Space],
) -> Any:
    """The matrix of a linear program at known residuals, in CSR format.

    outputs: the types of all results of the map, of which the program gives those that vary. push,
    pull: a batch of so many tangents or cotangents through the map. spaces: domain and codomain.
    """
    inputs = [variable.type for variable in linear.inputs[len(residuals) :]]
    sources = [partial(concrete, value) for value in residuals]
    sets = pattern_of(linear, sources, False, PatternReport())
    pattern = whole_pattern(sets, varying, outputs, sum(x.size for x in inputs))
    forward = all(map(is_applicable, linear.equations))
    reverse = all(map(is_transposable, linear.equations))
    products = products_of(pattern, forward or not reverse, reverse)
    rows, columns = places_of(pattern)
    entries = np.zeros(pattern.nnz, np.result_type(*(space._real_dtype for space in spaces)))
    ways = ((products.columns, inputs, push, True), (products.rows, outputs, pull, False))
    for colouring, types, apply, by_column in ways:
        if colouring is not None and colouring.count:
            ones = zip(seeds_of(colouring, types), types, strict=True)
            seeds = [seed.astype(of.dtype) for seed, of in ones]
            lines = _lines(apply(seeds, colouring.count), colouring)
            chosen = products.by_column == by_column
            own, other = columns[chosen], rows[chosen]
            if not by_column:
                own, other = other, own
            values = lines[colouring.colours[own], other]
            entries = values if chosen.all() else entries + _placed(values, chosen)
    return BlockLayout(numbered(pattern)).filled(entries)


def _lines(products: Sequence[Any], colouring: Colouring) -> Any:
    flat = [np.reshape(product, (colouring.count, -1)) for product in products]
    return flat[0] if len(flat) == 1 else np.concatenate(flat, axis=1)


def _placed(values: Any, chosen: Any) -> Any:
    """Values where they belong, and zeros elsewhere."""
    padded = np.concatenate([np.zeros(1), values])
    return padded[np.where(chosen, np.cumsum(chosen), 0)]
