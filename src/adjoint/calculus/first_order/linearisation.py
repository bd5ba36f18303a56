"""Functions linearised at a point, over rows too, with what is left to apply of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from adjoint.base import pytrees
from adjoint.base.arrays import ArrayType, type_of
from adjoint.base.errors import ArgumentError, ArgumentTypeError
from adjoint.base.settings import settings
from adjoint.calculus.inputs.arguments import Chosen
from adjoint.calculus.inputs.leaves import matching_leaves
from adjoint.calculus.jacobians.sparsity.compressed import with_entries
from adjoint.calculus.jacobians.sparsity.maps import sparse_matrix
from adjoint.calculus.jit.captures import captured_at
from adjoint.calculus.rows import Rows
from adjoint.calculus.rows.passes import over_rows, rows_like
from adjoint.calculus.rows.source import RowsMetError
from adjoint.capture import Captured, current, with_cells
from adjoint.executors.numpy import has_infinities
from adjoint.executors.xla.placement import Placement, placed
from adjoint.optimise import lengthened
from adjoint.pipeline import Compiled, compile_program, prepare, run, watch_all
from adjoint.program import Program, check_linear
from adjoint.spaces import Space
from adjoint.transforms import linearize as linearize_program
from adjoint.transforms import transpose as transpose_program
from adjoint.transforms import vmap as vmap_program


class LinearPrograms:
    """The linear half of a linearised program, compiled in each direction when first used.

    Inputs of both: the residuals, then the tangents of the arguments or the cotangents of the
        outputs. varying: for each output of the function, whether it depends on the arguments at
        all.
    """

    def __init__(self, linear: Program, residuals: int, varying: tuple[bool, ...]) -> None:
        self.linear = linear
        self.residuals = residuals
        self.varying = varying
        self._compiled: dict[Any, Compiled] = {}
        self._lock = threading.RLock()  # a signal handler may come by within
        if settings().debug:
            check_linear(linear, linear.inputs[residuals:])

    def lengthened(self, length: int) -> LinearPrograms:
        """The same after a program whose tapes of this length were too short."""
        return LinearPrograms(lengthened(self.linear, length), self.residuals, self.varying)

    def compiled(self, backwards: bool, batch: int | None = None) -> Compiled:
        """The map, or its transpose; over a batch of tangents at once if a size is given."""
        key = (backwards, batch)
        compiled = self._compiled.get(key)
        if compiled is None:
            program = transpose_program(self.linear, self.residuals) if backwards else self.linear
            if batch is not None:
                marks = [n >= self.residuals for n in range(len(program.inputs))]
                program = vmap_program(program, marks, batch)
            compiled = compile_program(program, tuple(range(len(program.outputs))))
            with self._lock:
                compiled = self._compiled.setdefault(key, compiled)
        return compiled


class Linearisation:
    """A function linearised at a point: its value, and its derivative ready to be applied.

    placement: where the arguments lie, of which those that are chosen are copies on the host.
    """

    def __init__(
        self,
        function: Any,
        chosen: Chosen,
        has_aux: bool = False,
        placement: Placement | None = None,
    ) -> None:
        self._placement = placement
        captured = captured_at(function, chosen, has_aux)
        count, arguments = len(chosen.leaves), chosen.leaves + captured.constants
        still = has_infinities(arguments)

        def derive(program: Program, _: Any) -> tuple[Program, tuple[int, ...], Any]:
            active = [n < count for n in range(len(program.inputs))]
            split = linearize_program(program, active, still=still)
            facts = LinearPrograms(split.linear, split.residuals, split.varying)
            # Of what is no derivative a NaN is no surprise.
            return split.primal, watch_all(split.primal), facts

        compiled = prepare(
            ("linearize", count, still), captured, derive, chosen.recapture, function
        )
        results = self._run(compiled, arguments)
        # After the run, which may have found its tapes too short.
        self.programs: LinearPrograms = compiled.facts
        outputs = len(captured.outputs)
        self.function, self.chosen, self.has_aux = function, chosen, has_aux
        self.point = chosen.point if placement is None else placement.placed(chosen.point)
        self.output_types = captured.output_types
        self.residuals = list(results[outputs:])
        self.output_tree, self.output_count, aux_tree = split_outputs(captured, has_aux)
        values = with_cells(results[:outputs], captured.cells)
        self.value = pytrees.unflatten(self.output_tree, values[: self.output_count])
        self.aux = pytrees.unflatten(aux_tree, values[self.output_count :]) if has_aux else None

    @property
    def is_placed(self) -> bool:
        """Whether it computes on a device."""
        return self._placement is not None

    def _run(self, compiled: Compiled, arguments: Sequence[Any]) -> Sequence[Any]:
        if self._placement is None:
            return run(compiled, arguments)
        return self._placement.run(compiled, arguments)

    def push(self, tangents: Sequence[Any], batch: int | None = None) -> list[Any]:
        """Tangents of the arguments -> tangents of the outputs; None where one does not vary."""
        compiled = self.programs.compiled(False, batch)
        results = iter(self._run(compiled, [*self.residuals, *tangents]))
        varying = self.programs.varying[: self.output_count]
        return [next(results) if mark else None for mark in varying]

    def pull(self, cotangents: Sequence[Any], batch: int | None = None) -> list[Any]:
        """Cotangents of the output leaves -> cotangents of the argument leaves."""
        marks = self.programs.varying
        zero = [zero_of(type_, batch) for type_ in self.output_types[self.output_count :]]
        seeds = [c for c, mark in zip([*cotangents, *zero], marks, strict=True) if mark]
        return list(self._run(self.programs.compiled(True, batch), [*self.residuals, *seeds]))

    def apply(self, tangent: Any) -> Any:
        """∂f(x)[u], in the structure of the value."""
        leaves = matching_leaves(self.point, tangent, "the tangent")
        return pytrees.unflatten(self.output_tree, self.fill(self.push(leaves)))

    def transpose(self, cotangent: Any) -> Any:
        """Components of a covector, pulled back, in the structure of the arguments."""
        return self.chosen.unflatten(self.pull(self.cotangents(cotangent)))

    def cotangents(self, cotangent: Any) -> list[Any]:
        """The leaves of a cotangent: of a sparse matrix, its numbers where there are entries."""
        name = "the cotangent"
        return matching_leaves(*with_entries(self.output_tree, self.value, cotangent, name), name)

    def __reduce__(self) -> Any:
        args = (
            self.chosen.args
            if self._placement is None
            else self._placement.placed(self.chosen.args)
        )
        return _again, (self.function, tuple(args), self.has_aux)

    def sparse_matrix(self, spaces: tuple[Space, Space]) -> Any:
        """The matrix in CSR format, between spaces whose coordinates are entries."""
        return sparse_matrix(
            self.programs.linear,
            self.residuals,
            self.output_types,
            self.programs.varying,
            lambda seeds, count: self.fill(self.push(seeds, count), count),
            self.pull,
            spaces,
        )

    def fill(self, tangents: Sequence[Any], batch: int | None = None) -> list[Any]:
        """Write out the tangents of outputs that do not vary."""
        types = self.output_types[: self.output_count]
        return [
            zero_of(type_, batch) if tangent is None else tangent
            for tangent, type_ in zip(tangents, types, strict=True)
        ]


def _again(function: Any, primals: tuple[Any, ...], has_aux: bool) -> Linearisation:
    """A linearisation that was pickled: the function is linearised again where it arrives."""
    primals, placement = placed(primals, False)
    return Linearisation(function, all_of(primals), has_aux, placement)


class RowsLinearisation:
    """The same of a function that uses rows, which are read anew for each product.

    What an applied derivative would need of each row is as large as they are. rows: those that it
    uses.
    """

    def __init__(self, function: Any, chosen: Chosen, has_aux: bool, rows: list[Rows]) -> None:
        results = over_rows(function, tuple(chosen.args), {}, rows)
        self.value: Any
        self.aux: Any
        self.value, self.aux = results if has_aux else (results, None)
        leaves, self.output_tree = pytrees.flatten(self.value)
        self.output_types, self.output_count = [*map(type_of, leaves)], len(leaves)
        self._function, self._chosen, self._has_aux, self._rows = function, chosen, has_aux, rows

    def _product(self, act: Callable[[Linearisation, Any], Any], operand: Any) -> Any:
        """What is done with the derivative, in passes over the rows."""

        def compute(function: Any, primals: tuple[Any, ...], operand: Any) -> Any:
            return act(Linearisation(function, all_of(primals), self._has_aux), operand)

        args = (tuple(self._chosen.args), operand)
        return over_rows(partial(compute, self._function), args, {}, self._rows)

    def apply(self, tangent: Any) -> Any:
        """∂f(x)[u], in the structure of the value."""
        matching_leaves(self._chosen.point, tangent, "the tangent")
        return self._product(Linearisation.apply, tangent)

    def pull(self, cotangents: Sequence[Any]) -> list[Any]:
        """Cotangents of the output leaves -> cotangents of the argument leaves."""
        return list(
            self._product(Linearisation.pull, [rows_like(x, self._rows) for x in cotangents])
        )

    def transpose(self, cotangent: Any) -> Any:
        """Components of a covector, pulled back, in the structure of the arguments."""
        return self._chosen.unflatten(self.pull(self.cotangents(cotangent)))

    def cotangents(self, cotangent: Any) -> list[Any]:
        """The leaves of a cotangent."""
        return matching_leaves(self.value, cotangent, "the cotangent")

    def __reduce__(self) -> Any:
        args = self._function, self._chosen, self._has_aux, self._rows
        return RowsLinearisation, args


def linearised(
    function: Any, chosen: Chosen, has_aux: bool = False, placement: Placement | None = None
) -> Linearisation | RowsLinearisation:
    """A function linearised at a point, whether it uses rows or not."""
    try:
        return Linearisation(function, chosen, has_aux, placement)
    except RowsMetError as error:
        if current() is not None:  # the capture around it knows what stands for them
            raise
        return RowsLinearisation(function, chosen, has_aux, [error.rows])


def zero_of(type: ArrayType, batch: int | None) -> Any:
    """Zeros of a type, as many as there are in a batch."""
    shape = type.shape if batch is None else (batch, *type.shape)
    return np.zeros(shape, type.dtype)[()]


def split_outputs(captured: Captured, has_aux: bool) -> tuple[Any, int, Any]:
    """The structure of the value, how many leaves it has, and the structure of the rest."""
    treedef = captured.treedef
    if not has_aux:
        return treedef, len(captured.outputs), None
    pair = treedef is not None and treedef.type is tuple
    children: Sequence[Any] = treedef.children() if pair else ()
    if len(children) != 2:
        raise ArgumentTypeError(
            "With has_aux=True the function must return a pair (value, auxiliary); it returned "
            f"{pytrees.structure_text(treedef)}."
        )
    value, aux = (None if child.is_leaf() else child for child in children)
    return value, children[0].num_leaves, aux


def all_of(primals: Sequence[Any]) -> Chosen:
    """All positional arguments, chosen."""
    if not primals:
        raise ArgumentError("At least one argument to differentiate at is needed.")
    return Chosen(0 if len(primals) == 1 else tuple(range(len(primals))), primals, {})
