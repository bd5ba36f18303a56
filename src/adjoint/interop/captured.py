"""A function as one program for all arguments of these types, for files that hold nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from adjoint.base import pytrees
from adjoint.base.arrays import is_numeric
from adjoint.base.errors import ArgumentTypeError
from adjoint.capture import traced_type
from adjoint.capture.capture import capture
from adjoint.optimise import bare, simplify
from adjoint.optimise.simplify import eliminate_dead_code
from adjoint.pipeline import roll_if_it_pays
from adjoint.program import Program, all_equations
from adjoint.transforms.hard_zeros.hardness import hardened, starts_masks

_MEANING: Final = (
    "stands for all arguments to come: a file has one program for them. Choose with np.where, "
    "ad.cond, ad.switch or ad.while_loop."
)


class CapturedProgram(NamedTuple):
    """A program whose last inputs are constants; the structures of arguments and of results."""

    program: Program
    constants: list[Any]
    treedef: Any
    structure: Any


def captured_program(function: Callable[..., Any], args: tuple[Any, ...]) -> CapturedProgram:
    """The program of a function on types alone.

    Raises:
        ArgumentTypeError: there are other things than arrays and numbers among the arguments.
        ValueNeededError: the function asks for a value.
    """
    leaves, treedef = pytrees.flatten(args)
    for leaf in leaves:
        if not is_numeric(leaf):
            raise ArgumentTypeError(
                f"export was given a {type(leaf).__name__} among the arguments. A file takes "
                "arrays and numbers, in tuples, lists and dicts; bind the rest with "
                "functools.partial."
            )

    def call(target: Any, traced: Any) -> Any:
        return target(*pytrees.unflatten(treedef, traced))

    types = [traced_type(leaf) for leaf in leaves]
    active = [type_.inexact for type_ in types]
    captured = capture(function, call, types, {}, active, frozen=True, meaning=_MEANING)
    program = simplify(roll_if_it_pays(captured.program()))
    # Without NumPy beside it, a NaN cannot be looked into later: hard zeros win from the start.
    if any(map(starts_masks, all_equations(program))):
        program = eliminate_dead_code(hardened(program))
    return CapturedProgram(bare(program), captured.constants, treedef, captured.treedef)
