"""The four ways to compose forward and reverse mode, as programs of second derivatives.

All compute the covector B(u).T w = w(∂²f(x)[u, .]), which for a real function and w = 1 is the
differential of ∂f(x)[u]: in components, the Hessian times u. Each is one program,
(arguments, constants, u, w) -> components of the covector, made by composing transforms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from functools import partial
from typing import Any, Final
from typing import Literal as TextLiteral

import numpy as np

from adjoint.base.arrays import ArrayType, array_type
from adjoint.base.errors import ArgumentError
from adjoint.base.signatures.choices import member
from adjoint.calculus.custom.missing_rules import possible
from adjoint.calculus.jacobians.basis import dimension, from_coordinates, standard_basis
from adjoint.primitives.elementwise.conversion import conjugate, real
from adjoint.primitives.elementwise.declaring import scale
from adjoint.primitives.expression import Expression
from adjoint.primitives.structure.moving import sum_axes, zeros
from adjoint.program import Atom, Builder, Literal, Program
from adjoint.transforms import jvp, tangent_type, vjp, vmap


class Composition(Enum):
    """How a second derivative is computed: which mode is applied to which (after E.1.79).

    FORWARD_ON_FORWARD: one number ∂²f(x)[u, e_i] for each basis vector e_i.
    FORWARD_ON_REVERSE: the gradient, and its derivative in the direction u.
    REVERSE_ON_FORWARD: the derivative in the direction u, and its gradient.
    REVERSE_ON_REVERSE: the gradient, and the gradient of its product with u.
    AUTO: forward on reverse. Simplified, its program has the fewest operations, or nearly. Where
        a function of `ad.primitive` or `ad.linear` lacks the rule for it, one that has its rules.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> x, u = np.array([1.0, 2.0]), np.array([1.0, 0.0])
        >>> ad.hvp(
        ...     lambda x: np.prod(x), x, u, composition=ad.Composition.REVERSE_ON_REVERSE
        ... )
        array([0., 1.])
    """

    AUTO = "auto"
    FORWARD_ON_FORWARD = "forward-on-forward"
    FORWARD_ON_REVERSE = "forward-on-reverse"
    REVERSE_ON_FORWARD = "reverse-on-forward"
    REVERSE_ON_REVERSE = "reverse-on-reverse"


CompositionName = TextLiteral[
    "auto",
    "forward-on-forward",
    "forward-on-reverse",
    "reverse-on-forward",
    "reverse-on-reverse",
]


def as_composition(composition: Composition | CompositionName) -> Composition:
    """The composition that is meant; ArgumentTypeError where it is none."""
    return member(Composition, composition, "composition")


def is_sparse_composition(composition: Composition) -> bool:
    """Whether it is how a sparse Hessian is computed: by tangents of the gradient."""
    return composition in (Composition.AUTO, Composition.FORWARD_ON_REVERSE)


def check_sparse_composition(composition: Composition) -> None:
    """ArgumentError where it is another one."""
    if not is_sparse_composition(composition):
        raise ArgumentError(
            "With sparse=True, composition must be 'auto' or 'forward-on-reverse', got "
            f"{composition.value!r}: columns of the gradient's Jacobian are combined."
        )


class Twice:
    """A program to be differentiated twice.

    count: how many of its inputs are arguments. outputs: which of its outputs are differentiated.
    """

    def __init__(self, program: Program, count: int, outputs: Sequence[bool]) -> None:
        self.program = program
        self.count = count
        self.outputs = outputs
        self.active = [number < count for number in range(len(program.inputs))]
        self.argument_types = [tangent_type(variable.type) for variable in program.inputs[:count]]
        self.output_types = [
            tangent_type(atom.type)
            for atom, mark in zip(program.outputs, outputs, strict=True)
            if mark
        ]

    def pull(self, composition: Composition) -> Program:
        """(arguments, constants, u, w) -> B(u).T w.

        With AUTO, MissingRuleError only if no composition has its rules.
        """
        if composition is not Composition.AUTO:
            return _PULLS[composition](self)
        for pull in _PULLS.values():
            pulled = possible(partial(pull, self))
            if pulled is not None:
                return pulled
        return self._forward_on_reverse()

    def push(self) -> Program:
        """(arguments, constants, u, u') -> B(u, u'), by forward mode on forward mode."""
        forward = self._forward()
        return _keeping(jvp(forward, self._first(forward)), forward)

    def gradient(self) -> Program:
        """(arguments, constants, w) -> ∂f(x).T w."""
        return self._reverse()

    def _first(self, program: Program) -> list[bool]:
        """The arguments among the inputs of a derived program."""
        return [number < self.count for number in range(len(program.inputs))]

    def _forward(self) -> Program:
        """(arguments, constants, u) -> ∂f(x)[u]."""
        whole = jvp(self.program, self.active)
        slopes = iter(whole.outputs[len(self.program.outputs) :])
        marked = [
            (next(slopes) if atom.type.inexact else None, mark)
            for atom, mark in zip(self.program.outputs, self.outputs, strict=True)
        ]
        kept = [slope for slope, mark in marked if slope is not None and mark]
        return Program(whole.inputs, whole.equations, kept)

    def _reverse(self) -> Program:
        """(arguments, constants, w) -> ∂f(x).T w."""
        whole = vjp(self.program, self.active, list(self.outputs))
        return Program(whole.inputs, whole.equations, whole.outputs[len(self.program.outputs) :])

    def _forward_on_reverse(self) -> Program:
        reverse = self._reverse()
        return self._direction_first(_keeping(jvp(reverse, self._first(reverse)), reverse))

    def _reverse_on_forward(self) -> Program:
        forward = self._forward()
        return _keeping(vjp(forward, self._first(forward)), forward)

    def _reverse_on_reverse(self) -> Program:
        reverse = self._reverse()
        return self._direction_first(_keeping(vjp(reverse, self._first(reverse)), reverse))

    def _direction_first(self, program: Program) -> Program:
        """Inputs (arguments, constants, w, u) in the order (arguments, constants, u, w)."""
        start = len(self.program.inputs)
        stop = len(program.inputs) - self.count
        known, weights, moving = (
            program.inputs[:start],
            program.inputs[start:stop],
            program.inputs[stop:],
        )
        return Program((*known, *moving, *weights), program.equations, program.outputs)

    def _forward_on_forward(self) -> Program:
        """The numbers w(B(u, e_i)) for all i at once, put together."""
        push = self.push()
        size = dimension(self.argument_types)
        first = len(push.inputs) - self.count
        builder = Builder()
        known = [builder.input(variable.type) for variable in push.inputs[:first]]
        weights = [Expression(builder, builder.input(type_)) for type_ in self.output_types]
        basis = [unit.atom for unit in standard_basis(builder, self.argument_types)]
        many = vmap(push, [number >= first for number in range(len(push.inputs))], size)
        curved = [Expression(builder, atom) for atom in builder.inline(many, [*known, *basis])]
        total = paired(builder, weights, curved, size)
        covector = from_coordinates(total, self.argument_types)
        return builder.build([part.atom for part in covector])


def _keeping(derived: Program, base: Program) -> Program:
    """A derived program without the outputs of the one that it was derived from."""
    return Program(derived.inputs, derived.equations, derived.outputs[len(base.outputs) :])


def paired(
    builder: Builder, weights: Sequence[Expression], rows: Sequence[Expression], count: int
) -> Expression:
    """The real numbers Re sum conj(w) y, for each row y of `count`."""
    terms = [] if weights else [zeros(builder, array_type((count,), np.dtype(float)))]
    for weight, row in zip(weights, rows, strict=True):
        product = real(scale(conjugate(weight), row))
        terms.append(sum_axes(product, tuple(range(1, row.ndim))))
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


# In the order in which AUTO tries them.
_PULLS: Final[dict[Composition, Callable[[Twice], Program]]] = {
    Composition.FORWARD_ON_REVERSE: Twice._forward_on_reverse,
    Composition.REVERSE_ON_REVERSE: Twice._reverse_on_reverse,
    Composition.REVERSE_ON_FORWARD: Twice._reverse_on_forward,
    Composition.FORWARD_ON_FORWARD: Twice._forward_on_forward,
}


def with_unit_weight(program: Program) -> Program:
    """The program of a real function, with w = 1."""
    builder = Builder()
    inputs: list[Atom] = [builder.input(variable.type) for variable in program.inputs[:-1]]
    inputs.append(Literal(program.inputs[-1].type.dtype.type(1)))
    return builder.build(builder.inline(program, inputs))


def along_basis(program: Program, types: Sequence[ArrayType]) -> Program:
    """The program with the whole standard basis in the place of its last inputs."""
    builder = Builder()
    first = len(program.inputs) - len(types)
    known: list[Any] = [builder.input(variable.type) for variable in program.inputs[:first]]
    basis = [unit.atom for unit in standard_basis(builder, types)]
    marks = [number >= first for number in range(len(program.inputs))]
    return builder.build(builder.inline(vmap(program, marks, dimension(types)), [*known, *basis]))
