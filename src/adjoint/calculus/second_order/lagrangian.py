"""The Hessian of the Lagrangian of a constrained problem, as an operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.base import pytrees
from adjoint.base.errors import ArgumentTypeError, ShapeError
from adjoint.base.signatures.checked import checked
from adjoint.calculus.inputs.arguments import check_callable
from adjoint.calculus.second_order.composition import (
    Composition,
    CompositionName,
    as_composition,
    is_sparse_composition,
)
from adjoint.calculus.second_order.curvature import second_derivative
from adjoint.calculus.second_order.products import hessian
from adjoint.maps import LinearMap
from adjoint.spaces import Euclidean, Space


@checked
def lagrangian_hessian(
    objective: Callable[[Any], Any] | None,
    constraints: Callable[[Any], Any],
    x: Any,
    multipliers: Any,
    space: Space | None = None,
    composition: Composition | CompositionName = Composition.AUTO,
) -> LinearMap:
    """∇²ₓL(x, λ) = ∇²f(x) - Σ λᵢ ∇²gᵢ(x), for L(x, λ) = f(x) - Σ λᵢ gᵢ(x), as a linear map.

    It is self-adjoint, and no matrix is formed: one application costs a few evaluations of f and g.
    `.as_scipy()` makes a `scipy.sparse.linalg.LinearOperator`, `.matrix()` the matrix, and
    `.matrix(sparse=True)` a sparse one by few products.

    Args:
        objective: f, a real function of x; None for a Lagrangian of constraints alone.
        constraints: g, a function of x; its values an array or a pytree of arrays.
        x: the point, an array or a pytree.
        multipliers: λ, in the structure and shapes of the values of g.
        space: the inner-product space of x; Euclidean if not given.
        composition: see `Composition`.

    Returns:
        A `LinearMap` of the space to itself.

    Raises:
        ArgumentTypeError, ShapeError: the multipliers do not fit the constraints, or the objective
            is not a number.
        NotDifferentiableError: x holds integers, or a value is no real number.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> hessian = ad.lagrangian_hessian(
        ...     lambda x: x[0] * x[1], lambda x: np.sum(x**2) - 1, np.ones(2), 0.5
        ... )
        >>> hessian.matrix()
        array([[-1.,  1.],
               [ 1., -1.]])
    """
    if objective is not None:
        check_callable(objective, "lagrangian_hessian")
    check_callable(constraints, "lagrangian_hessian")
    weights, structure = pytrees.flatten(multipliers)

    def lagrangian(point: Any) -> Any:
        values, treedef = pytrees.flatten(constraints(point))
        if treedef != structure:
            raise ArgumentTypeError(
                f"multipliers has the structure {pytrees.structure_text(structure)}; expected "
                f"{pytrees.structure_text(treedef)}, as in the values of the constraints."
            )
        total = 0.0 if objective is None else objective(point)
        if np.shape(total):
            raise ShapeError(f"objective has values of shape {np.shape(total)}; expected a number.")
        for number, (weight, value) in enumerate(zip(weights, values, strict=True)):
            if np.shape(weight) != np.shape(value):
                path = pytrees.paths(multipliers)[number]
                raise ShapeError(
                    f"multipliers{path} has shape {np.shape(weight)}; expected {np.shape(value)}, "
                    "that of the values of the constraints."
                )
            total = total - np.sum(weight * value)
        return total

    second = second_derivative(lagrangian, x, domain=space, composition=composition)
    operator = second.operator()
    is_forward = is_sparse_composition(as_composition(composition))
    if isinstance(operator.domain, Euclidean) and space is None and is_forward:
        operator._find_sparse = lambda: hessian(lagrangian, sparse=True)(x)
    return operator
