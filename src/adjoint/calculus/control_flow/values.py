"""What a loop gives that capture has found: by NumPy, or where it takes long, by machine code.

Machine code is only waited for where all that is captured is to be such at once. Whether it pays is
told by counts of rounds and equations alone: so the same run of a script gives the same values.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np

from adjoint.base.arrays import ArrayType, array_type, type_of
from adjoint.executors.effort import compiling_seconds, seconds_of_run
from adjoint.loops.declared import WHILE
from adjoint.pipeline import CLEARED_TOO, Compiled, compile_program
from adjoint.primitives import UFUNCS
from adjoint.program import Builder, Literal, Operation, Program, operation

_COUNT: Final = array_type((), np.dtype(np.int64))
_FEWEST: Final = 2  # rounds that NumPy makes in any case
_SHARE: Final = 2  # compiling takes so many times as long as the rounds that NumPy makes before


def loop_results(loop: Operation, values: Sequence[Any], longest: int) -> tuple[Any, ...]:
    """How many rounds a `while` makes, and what it carries then, by whichever means is faster.

    longest: the most rounds that a loop within it is likely to make.
    """
    types = tuple(map(type_of, values))
    of_round = seconds_of_run(loop.params["body"], longest)
    few = max(int(compiling_seconds(_alone(loop, types)) / _SHARE / of_round), _FEWEST)
    constants = loop.params["constants"]
    given = (*values[:constants], np.int64(few), *values[constants:], np.int64(0))
    limited = _limited(loop)
    rounds, *carried = limited.primitive.evaluate(*given, **limited.params)
    if rounds < few:
        return (rounds, *carried[:-1])
    more, *carried = _compiled(loop, types)((*values[:constants], *carried[:-1]))
    if any(np.isnan(x).any() for x in carried if np.asarray(x).dtype.kind in "fc"):
        results: tuple[Any, ...] = loop.primitive.evaluate(*values, **loop.params)
        return results  # in which a hard zero may win over what is not finite
    return (rounds + more, *carried)


def _alone(loop: Operation, types: tuple[ArrayType, ...]) -> Program:
    """The program that is a loop."""
    builder = Builder()
    inputs = [builder.input(type_) for type_ in types]
    return builder.build(builder.emit(loop, inputs))


@lru_cache(maxsize=64)
def _compiled(loop: Operation, types: tuple[ArrayType, ...]) -> Compiled:
    """A loop alone, which is machine code when it is run."""
    compiled = compile_program(_alone(loop, types))
    compiled.compile_at_once()
    return compiled


@lru_cache(maxsize=64)
def _limited(loop: Operation) -> Operation:
    """The loop with one more constant, so many rounds at most, and their count carried last."""
    params = loop.params
    test, body, constants = params["test"], params["body"], params["constants"]
    asking, going = Builder(), Builder()
    inputs = [asking.input(variable.type) for variable in test.inputs]
    most, count = asking.input(_COUNT), asking.input(_COUNT)
    asking.inputs = [*inputs[:constants], most, *inputs[constants:], count]
    (truth,) = asking.inline(test, inputs)
    asking.derived = True
    (left,) = asking.emit(operation(UFUNCS[np.less]), [count, most])
    (both,) = asking.emit(operation(UFUNCS[np.logical_and]), [left, truth])
    inputs = [going.input(variable.type) for variable in body.inputs]
    most, count = going.input(_COUNT), going.input(_COUNT)
    going.inputs = [*inputs[:constants], most, *inputs[constants:], count]
    carried = going.inline(body, inputs)
    going.derived = True
    (counted,) = going.emit(operation(UFUNCS[np.add]), [count, Literal(np.int64(1))])
    return operation(
        WHILE,
        test=asking.build([both]),
        body=going.build([*carried, counted]),
        constants=constants + 1,
        carried=params["carried"] + 1,
        length=None,
    )


CLEARED_TOO.extend([_compiled.cache_clear, _limited.cache_clear])
