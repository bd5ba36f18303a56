"""The second derivative as a bilinear map (D.1.11, E.1.76 - E.1.79)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from adjoint.base import pytrees
from adjoint.base.errors import ArgumentError, NotDifferentiableError
from adjoint.base.settings import settings
from adjoint.base.signatures.calling import named
from adjoint.calculus.custom.missing_rules import possible
from adjoint.calculus.inputs.arguments import Chosen, check_callable
from adjoint.calculus.inputs.leaves import matching_leaves
from adjoint.calculus.inputs.representation import space_of
from adjoint.calculus.jacobians.basis import dimension, from_coordinates, standard_basis
from adjoint.calculus.jacobians.sparsity.compressed import with_entries
from adjoint.calculus.jit.captures import captured_at
from adjoint.calculus.second_order.composition import (
    Composition,
    CompositionName,
    Twice,
    as_composition,
    paired,
)
from adjoint.calculus.second_order.products import check_flat
from adjoint.maps import BilinearMap
from adjoint.optimise import simplify
from adjoint.pipeline import Compiled, compile_program, prepare, run
from adjoint.primitives.expression import Expression
from adjoint.program import Builder, Program, check_linear, check_program
from adjoint.spaces import Space
from adjoint.transforms import stage, vmap


class CurvaturePrograms:
    """What is left of a second derivative at a point, compiled in each direction when first used.

    late: (residuals, u, u', w) -> (B(u).T w, B(u, u')). residuals, arguments: how many there are.
    """

    def __init__(self, late: Program, residuals: int, arguments: int) -> None:
        self.late = late
        self.residuals = residuals
        self.arguments = arguments
        self._compiled: dict[bool, Compiled] = {}
        self._lock = threading.RLock()  # a signal handler may come by within
        if settings().debug:
            late_inputs = late.inputs[residuals:]
            left, right = late_inputs[:arguments], late_inputs[arguments : 2 * arguments]
            for group in (left, right, late_inputs[2 * arguments :]):
                check_linear(late, group)

    def compiled(self, backwards: bool) -> Compiled:
        """(residuals, u, w) -> B(u).T w, or (residuals, u, u') -> B(u, u')."""
        compiled = self._compiled.get(backwards)
        if compiled is None:
            inputs, outputs, count = self.late.inputs, self.late.outputs, self.arguments
            second = self.residuals + count
            if backwards:
                inputs = (*inputs[:second], *inputs[second + count :])
                outputs = outputs[:count]
            else:
                inputs, outputs = inputs[: second + count], outputs[count:]
            program = Program(inputs, _needed(self.late, outputs), outputs)
            compiled = compile_program(program, tuple(range(len(outputs))))
            with self._lock:
                compiled = self._compiled.setdefault(backwards, compiled)
        return compiled


def _needed(program: Program, outputs: tuple[Any, ...]) -> list[Any]:
    """The equations that these outputs need."""
    live = set(outputs)
    kept = []
    for equation in reversed(program.equations):
        if not live.isdisjoint(equation.outputs):
            live.update(equation.inputs)
            kept.append(equation)
    return kept[::-1]


def _derive(program: Program, kind: Any) -> tuple[Program, tuple[int, ...], Any]:
    """What depends on the point alone: arguments, constants -> (value, residuals)."""
    _, count, composition = kind
    twice = Twice(program, count, [True] * len(program.outputs))
    pull = twice.pull(composition)
    push = None
    if composition is Composition.AUTO:
        push = possible(twice.push)
    elif composition is Composition.FORWARD_ON_FORWARD:
        push = twice.push()
    if push is None:
        push = _push_by_pulling(twice, pull)
    builder = Builder()
    known = [builder.input(variable.type) for variable in program.inputs]
    left = [builder.input(type_) for type_ in twice.argument_types]
    right = [builder.input(type_) for type_ in twice.argument_types]
    weights = [builder.input(type_) for type_ in twice.output_types]
    values = builder.inline(program, known)
    pulled = builder.inline(pull, [*known, *left, *weights])
    pushed = builder.inline(push, [*known, *left, *right])
    whole = builder.build([*values, *pulled, *pushed])
    # First shorter, so that nothing is kept that is not needed.
    short = simplify(whole, check_program if settings().debug else None)
    staged = stage(short, len(known), len(values))
    return staged.early, (), CurvaturePrograms(staged.late, staged.residuals, count)


def _push_by_pulling(twice: Twice, pull: Program) -> Program:
    """(arguments, constants, u, u') -> B(u, u'): the number (B(u).T w)(u') for each unit w."""
    builder = Builder()
    known = [builder.input(variable.type) for variable in twice.program.inputs]
    left = [builder.input(type_) for type_ in twice.argument_types]
    right = [Expression(builder, builder.input(type_)) for type_ in twice.argument_types]
    units = [unit.atom for unit in standard_basis(builder, twice.output_types)]
    first = len(known) + len(left)
    marks = [number >= first for number in range(len(pull.inputs))]
    count = dimension(twice.output_types)
    many = vmap(pull, marks, count)
    rows = [Expression(builder, atom) for atom in builder.inline(many, [*known, *left, *units])]
    pushed = from_coordinates(paired(builder, right, rows, count), twice.output_types)
    return builder.build([part.atom for part in pushed])


@named
def second_derivative(
    function: Callable[..., Any],
    *primals: Any,
    domain: Space | None = None,
    codomain: Space | None = None,
    composition: Composition | CompositionName = Composition.AUTO,
) -> BilinearMap:
    """The second derivative at a point: the symmetric bilinear map ∂²f(x)[u, u'] (D.1.11).

    `B(u, u')` is an element of the codomain, `B(u)` the linear map u' -> B(u, u') with its `.T` and
    `.H`, `B.array()` the three-dimensional array of B in the bases of the spaces (E.1.78), and for
    a real function `B.operator()` the Hessian as a self-adjoint linear map, u -> ∇²f(x)[u]
    (E.1.79). Applying any of them runs none of the function again.

    Args:
        function: plain NumPy code.
        primals: the point. With several, the domain is the product of a tuple, and `B(u, u')` takes
            two tuples.
        domain: the space of the point; Euclidean of its shape if not given.
        codomain: the space of the value, likewise.
        composition: which mode is applied to which; the map is the same. See `Composition`. With
            AUTO, B(u, u') is computed by forward mode on forward mode, and the transpose of B(u) by
            forward mode on reverse mode.

    Returns:
        A symmetric `BilinearMap` from the domain to the codomain.

    Raises:
        MembershipError: the point or the value is not in the space named.
        NotDifferentiableError: arguments or results that are integers or booleans.
        ArgumentTypeError: what is given is no function, or what is given as a space is none.
        ArgumentError: there are no primals.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> B = ad.second_derivative(lambda X: X @ X, np.eye(2))
        >>> U = np.array([[0.0, 1.0], [0.0, 0.0]])
        >>> B(U, U.T)  # UU' + U'U
        array([[1., 0.],
               [0., 1.]])
    """
    check_callable(function, "second_derivative")
    composition = as_composition(composition)
    if not primals:
        raise ArgumentError("At least one argument to differentiate at is needed.")
    chosen = Chosen(0 if len(primals) == 1 else tuple(range(len(primals))), primals, {})
    check_flat(domain, "domain")
    check_flat(codomain, "codomain")
    source = space_of(chosen.point, domain, "primals")
    captured = captured_at(function, chosen)
    for type_ in captured.output_types:
        if not type_.inexact:
            raise NotDifferentiableError(
                f"A second derivative was asked of a function whose value is {type_}; integers "
                "and booleans carry no derivative."
            )
    kind = ("second derivative", len(chosen.leaves), composition)
    compiled = prepare(kind, captured, _derive, chosen.recapture, function)
    results = run(compiled, [*chosen.leaves, *captured.constants])
    count = len(captured.outputs)
    value = pytrees.unflatten(captured.treedef, results[:count])
    target = space_of(value, codomain, "the function's value")
    name = f"∂²{getattr(function, '__name__', 'f')}"
    structure = captured.treedef
    return _as_map(chosen, value, structure, results[count:], compiled.facts, source, target, name)


def _as_map(
    chosen: Chosen,
    value: Any,
    structure: Any,
    residuals: Any,
    programs: CurvaturePrograms,
    domain: Space,
    codomain: Space,
    name: str,
) -> BilinearMap:
    def apply(left: Any, right: Any) -> Any:
        one = matching_leaves(chosen.point, left, "u")
        two = matching_leaves(chosen.point, right, "u'")
        curved = run(programs.compiled(False), [*residuals, *one, *two])
        return pytrees.unflatten(structure, curved)

    def transpose(left: Any, covector: Any) -> Any:
        direction = matching_leaves(chosen.point, left, "u")
        weights = matching_leaves(
            *with_entries(structure, value, covector, "the covector"), "the covector"
        )
        pulled = run(programs.compiled(True), [*residuals, *direction, *weights])
        return chosen.unflatten(pulled)

    return BilinearMap(domain, domain, codomain, apply, transpose, name=name, symmetric=True)
