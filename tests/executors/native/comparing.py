"""Machine code against the NumPy executor, on one program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.executors import Needs, NumpyExecutor
from adjoint.executors.native.lowering.lower import lowerable, native
from adjoint.optimise import bare
from adjoint.program import Literal, Program

TOLERANCE = {4: 3e-4, 8: 1e-11}  # of what is computed in this many bytes, relative to the largest

Runner = Callable[[Program, Sequence[Any]], Any]


def compiled(program: Program) -> Callable[..., tuple[Any, ...] | None]:
    """A program as machine code; memory that is handed in holds anything but zeros."""
    made = native(bare(program), Needs())

    def run(*arguments: Any) -> tuple[Any, ...] | None:
        extra: list[Any] = []
        if made.workspace_bytes:
            extra.append(np.full(made.workspace_bytes + 64, 0xA5, np.uint8))
        extra += [np.full(type_.shape, 77).astype(type_.dtype) for type_ in made.lent]
        found: tuple[Any, ...] | None = made.function(*arguments, *extra)
        return found

    return run


def run_native(program: Program, arguments: Sequence[Any]) -> tuple[Any, ...] | None:
    """The results of machine code, None where it gives up."""
    return compiled(program)(*arguments)


def is_lowerable(program: Program) -> bool:
    return all(lowerable(equation, False) for equation in bare(program).equations)


def magnitude(program: Program, arguments: Sequence[Any]) -> float:
    """The largest number that occurs anywhere in a program."""
    values: dict[Any, Any] = dict(zip(program.inputs, arguments, strict=True))
    found = [np.abs(np.asarray(x)).max(initial=0) for x in arguments]
    for equation in program.equations:
        operands = [a.value if isinstance(a, Literal) else values[a] for a in equation.inputs]
        with np.errstate(all="ignore"):
            results = equation.primitive.evaluate(*operands, **equation.params)
        results = results if equation.primitive.multiple else (results,)
        values.update(zip(equation.outputs, results, strict=True))
        found += [np.abs(np.asarray(x)).max(initial=0) for x in results]
    return float(max((x for x in map(float, found) if np.isfinite(x)), default=0.0))


def narrowest(program: Program) -> int:
    """The bytes of the narrowest real part of anything in a program."""
    atoms = [a for e in program.equations for a in (*e.inputs, *e.outputs)]
    types = [a.type for a in (*atoms, *program.inputs)]
    parts = [t.dtype.itemsize // (1 + (t.dtype.kind == "c")) for t in types if t.inexact]
    return min(8, *parts, 8)


def compare(
    program: Program, arguments: Sequence[Any], exact: bool, run: Runner = run_native
) -> None:
    """Raise an AssertionError unless machine code gives what NumPy gives."""
    copies = [np.array(x) for x in arguments]
    expected = NumpyExecutor().compile(program).run(*arguments)
    found = run(program, arguments)
    assert found is not None, f"machine code gave up\n{program}"
    for argument, copy in zip(arguments, copies, strict=True):
        assert np.asarray(argument).tobytes() == copy.tobytes(), f"an input changed\n{program}"
    arrays = [x for x in (*found, *arguments) if isinstance(x, np.ndarray) and x.ndim]
    for place, one in enumerate(arrays[: sum(x.ndim > 0 for x in found)]):
        assert not any(np.shares_memory(one, x) for x in arrays[place + 1 :]), "shared memory"
    scale = 0.0 if exact else magnitude(program, arguments)
    for place, (x, y, type_) in enumerate(zip(found, expected, program.output_types, strict=True)):
        assert isinstance(x, np.ndarray if type_.ndim else np.generic)
        assert (x.shape, x.dtype) == (type_.shape, type_.dtype)
        if exact or type_.dtype.kind in "biu":
            same = np.array_equal(x, y)
            assert same, f"output {place}: {x}, not {y}\n{program}"
            continue
        error = float(np.abs(x.astype(complex) - y).max(initial=0))
        bound = TOLERANCE[narrowest(program)] * scale
        assert error <= bound, f"output {place}: error {error:.1e} > {bound:.1e}\n{program}"
