"""Functions captured as bodies: programs whose inputs stand for every round, or every run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from adjoint.base import pytrees
from adjoint.base.arrays import ArrayType, array_type, is_numeric
from adjoint.base.errors import ArgumentTypeError, DTypeError, ShapeError
from adjoint.capture import (
    Captured,
    Traced,
    apply,
    capture,
    current,
    is_known,
    stood_for,
    traced_type,
    wrap,
)
from adjoint.pipeline import prepare, run, watch_all
from adjoint.primitives.elementwise.conversion import cast
from adjoint.primitives.expression import Expression
from adjoint.primitives.typing_rules import promoted
from adjoint.program import Builder, Operation, Program, Variable

_MEANING: Final = (
    "stands for its value in every round of a loop, or every run of a branch: what it will be is "
    "not known yet. Choose with ad.cond or np.where, loop with ad.while_loop or ad.fori_loop, and "
    "let values leave a body by being returned, not by writes into arrays made elsewhere."
)


class TakenApart(NamedTuple):
    """A pytree of arrays, taken apart: its leaves, and its structure.

    names: where the leaves stand, for errors, if not as the structure has it.
    """

    leaves: list[Any]
    treedef: Any
    names: list[str] | None = None

    @property
    def paths(self) -> list[str]:
        """Where the leaves stand in the structure."""
        return self.names or pytrees.paths(pytrees.unflatten(self.treedef, self.leaves))

    @property
    def types(self) -> list[ArrayType]:
        """The types of the leaves."""
        return [traced_type(leaf) for leaf in self.leaves]


def take_apart(tree: Any, name: str) -> TakenApart:
    """The leaves and the structure of what the user gave; ArgumentTypeError if it is not arrays."""
    leaves, treedef = pytrees.flatten(tree)
    leaves = [stood_for(leaf) for leaf in leaves]
    for leaf, path in zip(leaves, pytrees.paths(tree), strict=True):
        if type(leaf) is not Traced and not is_numeric(leaf):
            raise ArgumentTypeError(
                f"{name}{path} is a {type(leaf).__name__}; expected an array or a number."
            )
    return TakenApart(leaves, treedef)


class Body(NamedTuple):
    """A captured function: its program, the constants that are its first inputs, its structure."""

    program: Program
    constants: list[Any]
    treedef: Any
    types: list[ArrayType]

    @property
    def fixed(self) -> int:
        """How many inputs are constants."""
        return len(self.constants)


def capture_body(
    function: Callable[..., Any],
    call: Callable[[Any, list[Traced]], Any],
    types: Sequence[ArrayType],
) -> Body:
    """A function as a program (constants, inputs) -> outputs.

    Nothing is known of the inputs but their types.
    """
    captured: Captured = capture(function, call, types, {}, (True,) * len(types), meaning=_MEANING)
    program = captured.program()
    count = len(types)
    ordered = Program(
        (*program.inputs[count:], *program.inputs[:count]), program.equations, program.outputs
    )
    return Body(ordered, captured.constants, captured.treedef, captured.output_types)


def strong(type: ArrayType) -> ArrayType:
    """The type of an array, also where it is a Python number that is given."""
    return array_type(type.shape, type.dtype)


def with_types(program: Program, types: Sequence[ArrayType]) -> Program:
    """The program with its outputs in these dtypes."""
    if program.output_types == tuple(types):
        return program
    builder = Builder()
    inputs = [builder.input(variable.type) for variable in program.inputs]
    outputs = [Expression(builder, atom) for atom in builder.inline(program, inputs)]
    converted = [cast(output, type_.dtype) for output, type_ in zip(outputs, types, strict=True)]
    return builder.build([expression.atom for expression in converted])


def among(body: Body, before: Sequence[Body], after: Sequence[Body]) -> Program:
    """The body's program, with the constants of others as inputs that it does not use."""
    count = body.fixed
    inputs = body.program.inputs
    unused = [
        [
            Variable(variable.type)
            for other in others
            for variable in other.program.inputs[: other.fixed]
        ]
        for others in (before, after)
    ]
    whole = (*unused[0], *inputs[:count], *unused[1], *inputs[count:])
    return Program(whole, body.program.equations, body.program.outputs)


def check_same_structure(treedef: Any, expected: Any, what: str, reference: str) -> None:
    """ArgumentTypeError unless two structures are the same."""
    if not pytrees.alike(treedef, expected):
        raise ArgumentTypeError(
            f"{what} has the structure {pytrees.structure_text(treedef)}, and {reference} "
            f"{pytrees.structure_text(expected)}. Both must be the same."
        )


def common_type(one: ArrayType, other: ArrayType, what: str, reference: str) -> ArrayType:
    """The type that holds both, of one shape; ShapeError if there is none."""
    if one.shape != other.shape:
        raise ShapeError(f"{what} is {one}, and {reference} {other}. The shapes must be the same.")
    dtype = promoted(one, other)
    return array_type(one.shape, dtype, one.weak and other.weak)


def check_not_narrower(returned: ArrayType, carried: ArrayType, what: str) -> None:
    """DTypeError if a body returns something narrower than it is to carry on."""
    if not returned.weak and returned.dtype != carried.dtype:
        raise DTypeError(
            f"{what} is {returned} after a round, and {carried} before it. What is carried keeps "
            f"its type: convert it with .astype(np.{carried.dtype.name})."
        )


class _SingleOperation:
    """One operation, as the pipeline takes a captured function."""

    __slots__ = ("key", "op", "types")
    said: frozenset[str] = frozenset()  # no capture has warned of anything, or called anything
    ran: tuple[Any, ...] = ()

    def __init__(self, op: Operation, types: tuple[ArrayType, ...]) -> None:
        self.op = op
        self.types = types
        self.key = (op, types)

    def program(self) -> Program:
        """The program of the operation alone."""
        builder = Builder()
        inputs = [builder.input(type_) for type_ in self.types]
        return builder.build(builder.emit(self.op, inputs))


def perform(op: Operation, operands: Sequence[Any]) -> list[Any]:
    """Record an operation where an operand is traced; else compile and run it.

    Within a capture, what it gives then can be written into.
    """
    if not all(map(is_known, operands)):
        return list(apply(op, list(operands)))
    equation: Any = _SingleOperation(op, tuple(map(traced_type, operands)))

    def derive(program: Program, _: Any) -> tuple[Program, tuple[int, ...], Any]:
        return program, watch_all(program), None

    results = run(prepare(("control flow",), equation, derive), operands)
    return list(results) if current() is None else [wrap(result) for result in results]
