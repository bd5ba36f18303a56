"""Sparse Jacobians and Hessians of captured functions: detected once, then computed by products."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from adjoint.base import pytrees
from adjoint.base.arrays import ArrayType
from adjoint.base.errors import ArgumentError
from adjoint.base.process.forking import hold_over_forks
from adjoint.calculus.custom.missing_rules import is_applicable, is_transposable
from adjoint.calculus.inputs.arguments import Chosen
from adjoint.calculus.jacobians.planning.cuts import CutSegment
from adjoint.calculus.jacobians.planning.jacobians import Differentiated
from adjoint.calculus.jacobians.planning.mode import Mode
from adjoint.calculus.jacobians.sparsity.compressed import (
    Compression,
    SparseBlock,
    compressed_program,
)
from adjoint.calculus.jacobians.sparsity.detection import (
    AskedValues,
    PatternReport,
    pattern_of,
    whole_pattern,
)
from adjoint.calculus.jacobians.sparsity.index_sets import canonical
from adjoint.calculus.jacobians.sparsity.products import products_of, symmetric_products
from adjoint.calculus.jacobians.sparsity.substitution import substituted_program
from adjoint.capture import Captured
from adjoint.capture.recording.tracing.applying import concrete
from adjoint.capture.recording.tracing.constants import same_memory
from adjoint.pipeline import prepare, run
from adjoint.primitives.calls.custom import CUSTOM_CALL
from adjoint.program import Builder, Program, all_equations

Gradient = Callable[[Program, int], Program]  # of a program with so many arguments

_KEPT = 8  # patterns of one program, for other values of what it asks
_lock = threading.RLock()
hold_over_forks(_lock)


class SparsityPattern(NamedTuple):
    """Which numbers of the results may depend on which of the arguments.

    matrix: Booleans in CSR format. report: what was taken as dense. used: the values of the
    program's inputs that it depends on, by their numbers.
    """

    matrix: Any
    report: PatternReport
    used: dict[int, Any]

    def holds(self, inputs: Callable[[int], Any]) -> bool:
        """Whether it is that of the program at these values of its inputs."""
        for number, value in self.used.items():
            given = np.asarray(inputs(number))
            # To the last bit: zeros of either sign may choose differently, and NaNs are the same.
            if given is not value and not same_memory(given, value):
                return False
        return True


class SparseDerivative:
    """A program linearised, with the patterns and the compressions found for it.

    symmetric: whether it is a Hessian's, by rules that are known to be right.
    """

    def __init__(
        self, differentiated: Differentiated, count: int, mode: Mode, symmetric: bool
    ) -> None:
        self.differentiated = differentiated
        self.count = count
        self.mode = mode
        self.symmetric = symmetric
        self.inputs: list[ArrayType] = [x.type for x in differentiated.primal.inputs[:count]]
        self._kept: list[tuple[SparsityPattern, Compression]] = []

    def pattern(self, inputs: Callable[[int], Any], local: bool = False) -> SparsityPattern:
        """The pattern; inputs: gives the value of an input of the program by its number."""
        linear, primal = self.differentiated.linear, self.differentiated.primal
        asked = AskedValues(primal, self.count, local, inputs)
        residuals = primal.outputs[self.differentiated.outputs :]
        report = PatternReport()
        sets = pattern_of(linear, [asked.source(x) for x in residuals], local, report)
        varying = [slope is not None for slope in self.differentiated.slopes]
        outputs, width = self.differentiated.output_types, sum(x.size for x in self.inputs)
        whole = whole_pattern(sets, varying, outputs, width)
        if self.symmetric:
            whole = canonical(whole + whole.T.tocsr())
        return SparsityPattern(whole, report, asked.used)

    def compression(self, inputs: Callable[[int], Any]) -> Compression:
        """How the matrix is computed, kept for when the program comes again."""
        for pattern, compression in self._kept:
            if pattern.holds(inputs):
                return compression
        pattern = self.pattern(inputs)
        compression = self._compression(pattern.matrix)
        with _lock:
            self._kept = [(pattern, compression), *self._kept[: _KEPT - 1]]
        return compression

    def _compression(self, matrix: Any) -> Compression:
        moving = self.differentiated.crossings.moving
        if self.symmetric:
            products = symmetric_products(matrix, self._operations_of_product())
        else:
            forward = all(map(is_applicable, moving)) and self.mode is not Mode.REVERSE
            reverse = all(map(is_transposable, moving)) and self.mode is not Mode.FORWARD
            forward = forward or not reverse
            products = products_of(matrix, forward, reverse)
        outputs = self.differentiated.output_types
        return Compression(matrix, products, self.inputs, outputs, self.symmetric)

    def _operations_of_product(self) -> float:
        crossings = self.differentiated.crossings
        if self.differentiated.is_empty:
            return 0.0
        segment: CutSegment = crossings.between(0, len(crossings.moving))
        return segment.push_operations


def sparse_results(
    chosen: Chosen,
    captured: Captured,
    kept: int,
    mode: Mode,
    gradient: Gradient | None,
    function: Any,
    outermost: bool = False,
) -> tuple[list[Any], list[Any]]:
    """The auxiliary outputs, and the blocks of a Jacobian or a Hessian.

    kept: how many outputs are differentiated. gradient: gives the program of the gradient, whose
    Jacobian is the Hessian. outermost: whether the result is what is asked for, and nothing that is
    differentiated in turn.
    """
    count = len(chosen.leaves)
    derivative = prepared(chosen, captured, kept, mode, gradient, function)
    compression = derivative.compression(partial(input_of, chosen, captured))
    entries = tuple(compression.entries)
    arrays, substitution = compression.arrays, compression.substitution
    if not outermost:
        substitution = None  # whose errors are bounded for the Hessian, not for what comes of it
    if substitution is not None:
        arrays = [*arrays, *substitution.arrays]
    facts = (compression.counts, entries, substitution and substitution.sizes)
    kind = ("sparse entries", count, kept, gradient, *facts)
    compiled = prepare(kind, captured, _derive_entries, chosen.recapture, function)
    results = run(compiled, [*chosen.leaves, *captured.constants, *arrays])
    aux = len(results) - len(compression.layouts)
    blocks = zip(results[aux:], compression.layouts, strict=True)
    return list(results[:aux]), [SparseBlock(entries, layout) for entries, layout in blocks]


def prepared(
    chosen: Chosen,
    captured: Captured,
    kept: int,
    mode: Mode,
    gradient: Gradient | None,
    function: Any,
) -> SparseDerivative:
    """What is kept of the derivative of a captured function; see `sparse_results`."""
    kind = ("sparse derivative", len(chosen.leaves), kept, mode, gradient)
    compiled = prepare(kind, captured, _derive, chosen.recapture, function)
    derivative: SparseDerivative = compiled.facts
    return derivative


def input_of(chosen: Chosen, captured: Captured, number: int) -> Any:
    """The value of an input of a captured program; what is asked of a trace is noted there."""
    count = len(chosen.leaves)
    value = chosen.leaves[number] if number < count else captured.constants[number - count]
    return concrete(value)


def _derive(program: Program, kind: Any) -> tuple[Program, tuple[int, ...], Any]:
    _, count, kept, mode, gradient = kind
    if gradient is None:
        derivative = SparseDerivative(Differentiated(program, count, kept), count, mode, False)
    else:
        first = Differentiated(gradient(program, count), count, count)
        derivative = SparseDerivative(first, count, mode, _is_symmetric(program))
    return Program(program.inputs, [], []), (), derivative


def _derive_entries(program: Program, kind: Any) -> tuple[Program, tuple[int, ...], Any]:
    _, count, kept, gradient, counts, entries, substitution = kind
    if gradient is None:
        differentiated = Differentiated(program, count, kept)
        whole = compressed_program(program, differentiated, kept, counts, entries, False)
    else:
        first = gradient(program, count)
        differentiated = Differentiated(first, count, count)
        if substitution is None:
            symmetric = _is_symmetric(program)
            bare = compressed_program(first, differentiated, count, counts, entries, symmetric)
        else:
            bare = substituted_program(first, differentiated, counts, entries, substitution)
        whole = _with_auxiliary(program, bare)
    aux = len(whole.outputs) - len(entries)
    return whole, tuple(range(aux, len(whole.outputs))), None


def _is_symmetric(program: Program) -> bool:
    """Whether the Hessian is sure to be symmetric: no gradient in it is by a rule of the user's.

    Such a rule may be that of another function than its own, as a straight-through estimator's is.
    """
    return all(equation.primitive is not CUSTOM_CALL for equation in all_equations(program))


def _with_auxiliary(program: Program, entries: Program) -> Program:
    """The entries of a Hessian behind what the function returns besides its value."""
    if len(program.outputs) == 1:
        return entries
    builder = Builder()
    inputs = [builder.input(variable.type) for variable in entries.inputs]
    aux = builder.inline(program, inputs[: len(program.inputs)])[1:]
    return builder.build([*aux, *builder.inline(entries, inputs)])


def settled(tree: Any) -> Any:
    """A result with its blocks as sparse matrices."""
    leaves, treedef = pytrees.flatten(tree)
    return pytrees.unflatten(treedef, leaves)


def check_sparse_mode(mode: Mode) -> None:
    """ArgumentError where a mode is not about products with single vectors."""
    if mode not in (Mode.AUTO, Mode.FORWARD, Mode.REVERSE):
        raise ArgumentError(
            f"With sparse=True, mode must be 'auto', 'forward' or 'reverse', got {mode.value!r}: "
            "compressed products go from one end to the other."
        )


def rows_of_blocks(blocks: Sequence[Any], width: int) -> list[list[Any]]:
    """Blocks in rows of so many."""
    return [list(blocks[n : n + width]) for n in range(0, len(blocks), width)]
