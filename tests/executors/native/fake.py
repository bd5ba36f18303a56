"""A lowering without LLVM: its machine code is NumPy, as strict about arguments as the real one.

So everything around machine code can be tried by itself, and a miss can be had when one is wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from adjoint.base.arrays import ArrayType
from adjoint.base.errors import NativeUnavailableError
from adjoint.executors import Needs, NumpyExecutor
from adjoint.executors.native.lowering import lower
from adjoint.executors.native.running import executable
from adjoint.program import Equation, Program

_PYTHON = {"f": float, "c": complex, "i": int}


@dataclass(frozen=True)
class Region:
    name: str
    equations: int
    flops: float
    bytes: int


class FakeFunction:
    """A program as `lower.native` would give it, with counts of what happened to it."""

    def __init__(self, program: Program, needs: Needs, lent: bool, misses: bool) -> None:
        self.program = program
        self.needs = needs
        self.workspace_bytes = 1000 if lent else 0
        self.lent: tuple[ArrayType, ...] = ()
        if lent:
            self.lent = tuple(each for each in program.output_types if each.ndim)
        self.stack_bytes = 0
        self.regions: tuple[Any, ...] = (Region("loop", len(program), 10.0, 80),)
        self.always_misses = misses
        self.runs = 0
        self.hits = 0
        self._numpy = NumpyExecutor().compile(program)
        self.function = self.call

    def call(self, *arguments: Any) -> Any:
        self.runs += 1
        count = len(self.program.inputs)
        inputs, rest = arguments[:count], arguments[count:]
        expected = bool(self.workspace_bytes) + len(self.lent)
        if len(inputs) != count or len(rest) != expected or self.always_misses:
            return None
        if not all(map(_fits, self.program.input_types, inputs)):
            return None
        if self.workspace_bytes:
            assert rest[0].dtype == np.uint8
            assert rest[0].nbytes >= self.workspace_bytes + 64
        try:
            with np.errstate(divide="raise", over="raise", invalid="raise"):
                results = self._numpy.run(*inputs)
        except Exception:  # the caller's executor says what is wrong
            return None
        if any(np.isnan(results[number]).any() for number in self.needs.watched):
            return None
        self.hits += 1
        return self._in_lent(results, rest[1:])

    def _in_lent(self, results: tuple[Any, ...], lent: Iterable[Any]) -> tuple[Any, ...]:
        waiting = iter(lent)
        found = []
        for result in results:
            if self.lent and isinstance(result, np.ndarray) and result.ndim:
                memory = next(waiting)
                memory[...] = result
                result = memory
            found.append(result)
        return tuple(found)

    def ir(self) -> str:
        return f"define @program {len(self.program)}\n"

    def assembly(self) -> str:
        return "ret\n"

    def cycles(self) -> list[int]:
        assert self.needs.timed
        return [self.hits]


def _fits(type_: ArrayType, argument: Any) -> bool:
    """What machine code sees: the very type, dtype, shape and flags."""
    if type_.weak:
        return type(argument) is _PYTHON[type_.dtype.kind]
    if not type_.ndim and not isinstance(argument, np.ndarray):
        return type(argument) is type_.dtype.type
    return (
        type(argument) is np.ndarray
        and argument.dtype is np.dtype(type_.dtype.str)
        and argument.shape == type_.shape
        and argument.flags.c_contiguous
        and argument.flags.aligned
    )


@dataclass
class FakeLowering:
    """Stands in for the module `lower`.

    cannot: the primitives that it does not know. lends: whether its functions take memory. misses:
    whether they always miss. fails: whether LLVM does. made: the functions, in order.
    """

    cannot: frozenset[str] = frozenset({"custom_call", "custom_linear", "constant"})
    lends: bool = False
    misses: bool = False
    fails: bool = False
    refuses: bool = False
    made: list[FakeFunction] = field(default_factory=list)

    def programs_within(self, equation: Equation) -> tuple[Program, ...]:
        return lower.programs_within(equation)

    def hindrance(self, equation: Equation, precise: bool) -> Equation | None:
        return lower.hindrance(equation, precise)

    def lowerable(self, equation: Equation, precise: bool) -> bool:
        return equation.primitive.name not in self.cannot

    def native(self, program: Program, needs: Needs) -> FakeFunction | None:
        if self.fails:
            raise NativeUnavailableError("there is no LLVM here.")
        if self.refuses:
            return None
        self.made.append(FakeFunction(program, needs, self.lends, self.misses))
        return self.made[-1]

    @property
    def hits(self) -> int:
        return sum(each.hits for each in self.made)

    @property
    def runs(self) -> int:
        return sum(each.runs for each in self.made)


def fake_bind(function: Callable[..., Any], constants: Iterable[Any]) -> Callable[..., Any]:
    """As `callable.bind`, with the constants before workspace and lent arrays."""
    home: FakeFunction = function.__self__  # type: ignore[attr-defined]
    bound = list(constants)
    extra = bool(home.workspace_bytes) + len(home.lent)

    def call(*arguments: Any) -> Any:
        given = len(arguments) - extra
        return function(*arguments[:given], *bound, *arguments[given:])

    return call


def install(monkeypatch: pytest.MonkeyPatch) -> FakeLowering:
    """Let the native executor use a fake lowering, which is returned."""
    lowering = FakeLowering()
    monkeypatch.setattr(executable, "lowering", lambda: lowering)
    monkeypatch.setattr(executable, "bind", fake_bind)
    return lowering
