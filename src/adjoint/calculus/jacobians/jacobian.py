"""Jacobians: the derivative in the standard bases (E.1.36), by columns, by rows, or as planned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.base import pytrees
from adjoint.base.signatures.calling import named
from adjoint.base.signatures.checked import check_flag
from adjoint.base.signatures.derived import Parameters, core, derived
from adjoint.calculus.first_order.linearisation import split_outputs
from adjoint.calculus.inputs.arguments import Argnums, Chosen, check_argnums, check_callable
from adjoint.calculus.inputs.leaves import refuse_covector_results
from adjoint.calculus.jacobians.planning import (
    Mode,
    ModeName,
    as_mode,
    check_real,
    jacobian_program,
)
from adjoint.calculus.jacobians.sparsity import (
    check_sparse_mode,
    dense_results,
    rows_of_blocks,
    settled,
    sparse_results,
)
from adjoint.calculus.jit.replay import replay, way_of
from adjoint.pipeline import prepare, run


@named
def jacobian(
    function: Callable[Parameters, Any],
    argnums: Argnums = 0,
    mode: Mode | ModeName = Mode.AUTO,
    has_aux: bool = False,
    sparse: bool = False,
) -> Callable[Parameters, Any]:
    """The Jacobian of a function, as arrays of shape `result.shape + argument.shape`.

    The function runs once, and its linear map in vectorised runs, in the order of products that
    `mode` names; `ad.plan` shows what each of them costs. With mode "auto", the products are the
    few of `sparse=True` where it is plain from the program that each number of the result is made
    of few of the arguments; the result is an array all the same.

    Args:
        function: plain NumPy code on real arrays; arguments and result may be pytrees.
        argnums: with respect to which arguments.
        mode: a member of `Mode`, or its value: "forward", "reverse", ...
        has_aux: whether the function returns a pair `(value, auxiliary)`.
        sparse: whether to find out which numbers depend on which (see `ad.sparsity`), and to
            compute these entries alone: many columns, or rows, by one product. With mode "auto",
            by columns, by rows or by both, whichever takes the fewest products.

    Returns:
        A function that returns, in the structure of the result, trees in the structure of the
        arguments. With `sparse`, each is a `scipy.sparse.csr_array` of shape
        `(result.size, argument.size)` with sorted indices, entries that happen to be zero included.

    Raises:
        NotDifferentiableError: an argument or the result is not of real floating-point numbers.
        ArgumentTypeError: `mode` is none of the modes; or, with `has_aux`, the function does not
            return a pair.
        ArgumentError: `argnums` names an argument that the call does not have; or, with `sparse`,
            a mode that is no direction.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> ad.jacobian(lambda x: x**2)(np.array([1.0, 2.0]))
        array([[2., 0.],
               [0., 4.]])
        >>> ad.jacobian(lambda x: x**2, sparse=True)(np.ones(1000)).nnz
        1000
    """
    check_callable(function, "jacobian")
    check_flag(has_aux, "has_aux")
    check_flag(sparse, "sparse")
    check_argnums(argnums)
    mode = as_mode(mode)
    if sparse:
        check_sparse_mode(mode)
    way = way_of("jacobian", argnums, has_aux, mode, sparse)

    def compute(function: Any, *args: Any, **kwargs: Any) -> Any:
        chosen = Chosen(argnums, args, kwargs)
        captured = chosen.capture(function, has_aux=has_aux)
        output_tree, kept, aux_tree = split_outputs(captured, has_aux)
        refuse_covector_results(output_tree, "jacobian")
        check_real(chosen.types, captured.output_types[:kept])
        count = len(chosen.leaves)
        if sparse:
            rest, flat = sparse_results(chosen, captured, kept, mode, None, function)
            lines = [chosen.unflatten(line) for line in rows_of_blocks(flat, count)]
            result = pytrees.unflatten(output_tree, lines)
            return (result, pytrees.unflatten(aux_tree, rest)) if has_aux else result
        results: Any = None
        if mode is Mode.AUTO:
            results = dense_results(chosen, captured, kept, function)
        if results is None:
            kind = ("jacobian", count, kept, mode)
            compiled = prepare(kind, captured, jacobian_program, chosen.recapture, function)
            results = run(compiled, [*chosen.leaves, *captured.constants])
        aux = len(captured.outputs) - kept
        rows = [results[aux + n * count : aux + (n + 1) * count] for n in range(kept)]
        result = pytrees.unflatten(output_tree, [chosen.unflatten(row) for row in rows])
        return (result, pytrees.unflatten(aux_tree, results[:aux])) if has_aux else result

    origin, function = function, core(function)

    def jacobian_of(*args: Any, **kwargs: Any) -> Any:
        result = replay(way, function, compute, args, kwargs)
        return settled(result) if sparse else result

    options = {"argnums": argnums, "mode": mode, "has_aux": has_aux, "sparse": sparse}
    return derived(jacobian_of, jacobian, origin, options)
