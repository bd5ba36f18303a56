"""From a program to a native function: which equations can be lowered, and how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from adjoint.base.arrays import ArrayType
from adjoint.base.process.collection import collector_at_rest
from adjoint.executors.interface import Needs
from adjoint.executors.native.elements import held_in_registers, supports
from adjoint.executors.native.emission.calls import emit_calls, place_values, placed
from adjoint.executors.native.emission.kernel import emit_kernel
from adjoint.executors.native.emission.writer import Find, in_tables
from adjoint.executors.native.entry.function import STACK_LIMIT, EntrySpec, emit_entry
from adjoint.executors.native.graph.nodes import (
    CONTROL,
    JOINS,
    MOST_JOINED,
    OTHERS,
    REDUCTIONS,
    SCATTERS,
    STRUCTURE,
    WRITES,
)
from adjoint.executors.native.lowering import kept
from adjoint.executors.native.lowering.lowered import Calling, Lowered, LoweredFunction
from adjoint.executors.native.lowering.tables import (
    add_table,
    is_table,
    range_of,
    with_tables_as_inputs,
)
from adjoint.executors.native.machine.llvm import machine
from adjoint.executors.native.machine.module import Module
from adjoint.executors.native.machine.ufuncs import is_of_scipy
from adjoint.executors.native.preparation.algorithms import (
    SOLVING,
    has_algorithm,
    with_algorithms,
)
from adjoint.executors.native.preparation.blocks import in_blocks
from adjoint.executors.native.preparation.segments import Cut, cut
from adjoint.executors.native.rows import equations as rows
from adjoint.executors.native.rows import matrices
from adjoint.executors.native.schedule.planning import Planner
from adjoint.executors.native.schedule.regions import Region
from adjoint.executors.native.systems import equations as systems
from adjoint.primitives.calls.custom import CONSTANT, CUSTOM_CALL
from adjoint.primitives.calls.linear import LINEAR_CALL
from adjoint.primitives.special.declaring import SPECIAL
from adjoint.primitives.structure.reductions import MAX, MIN
from adjoint.program import Equation, Program, all_equations, held_programs

_OF_SCIPY: Final = frozenset(SPECIAL.values())
LENT: Final = 1 << 15  # bytes from which results are lent by the caller
RELEASED: Final = 50_000.0  # additions from which other threads of Python run meanwhile


def lowerable(equation: Equation, precise: bool) -> bool:
    """Whether an equation can be made machine code of."""
    primitive = equation.primitive
    types = [atom.type for atom in (*equation.inputs, *equation.outputs)]
    if not _has_known_numbers(types):
        return False
    if primitive is CONSTANT:
        return is_table(equation)
    if primitive in CONTROL:
        return all(_wholly_lowerable(body, precise) for body in programs_within(equation))
    if primitive in JOINS and len(equation.inputs) > MOST_JOINED:
        return False
    if primitive in systems.ROUTINES:
        return not precise and systems.is_supported(equation)
    if primitive in rows.ALL:
        return rows.is_callable(equation)
    if primitive in matrices.ALL:
        return matrices.is_callable(equation)
    if primitive in (CUSTOM_CALL, LINEAR_CALL):
        return False
    if primitive in REDUCTIONS | STRUCTURE | WRITES | SCATTERS:
        return primitive not in (MAX, MIN) or types[0].dtype.kind != "c"
    if primitive in SOLVING and (precise or not systems.is_there(equation)):
        return False
    return primitive in OTHERS or has_algorithm(equation) or supports(equation, precise)


def _has_known_numbers(types: Sequence[ArrayType]) -> bool:
    return all(type_.size and held_in_registers(type_.dtype) for type_ in types)


def programs_within(equation: Equation) -> tuple[Program, ...]:
    """The bodies, tests and branches of an equation."""
    return held_programs(equation.operation)


def hindrance(equation: Equation, precise: bool) -> Equation | None:
    """The first equation within a loop or branch, however deep, that cannot be machine code."""
    for program in programs_within(equation):
        for inner in program.equations:
            hindering = hindrance(inner, precise)
            if hindering is None and not lowerable_within(inner, precise):
                hindering = inner
            if hindering is not None:
                return hindering
    return None


def lowerable_within(equation: Equation, precise: bool) -> bool:
    """Whether an equation can be machine code where NumPy cannot be called, as within a loop."""
    primitive = equation.primitive
    types = [atom.type for atom in (*equation.inputs, *equation.outputs)]
    if primitive in systems.ROUTINES and _has_known_numbers(types):
        return not precise and systems.is_callable(equation)
    return not primitive.opaque and primitive is not CONSTANT and lowerable(equation, precise)


@lru_cache(maxsize=256)  # branches of branches hold the same programs again
def _wholly_lowerable(program: Program, precise: bool) -> bool:
    types = (*program.input_types, *program.output_types)
    return _has_known_numbers(types) and all(
        lowerable_within(equation, precise) for equation in program.equations
    )


@dataclass
class _Kernel:
    """What came of a kernel: its needs, its regions, the outputs that it looks at for NaN."""

    workspace_bytes: int
    stack_bytes: int
    regions: list[Region]
    watched: frozenset[int]


def native(program: Program, needs: Needs) -> LoweredFunction | None:
    """A program all of whose equations are lowerable as machine code, if `lowered` has a text.

    It is only loaded where an earlier process has kept it on disk.
    """
    function = kept.find(program, needs, lowered)
    if function is None:
        text = lowered(program, needs)
        if text is None:
            return None
        code = machine().compile(text.text)
        function = LoweredFunction(program, code, text.calling, lambda: text)
        kept.keep(program, needs, function)
    return function


def lowered(program: Program, needs: Needs) -> Lowered | None:
    """A program all of whose equations are lowerable as a text for LLVM.

    None where an input that only its shape is asked of, or that is returned as it is, has numbers
    that machine code does not know.
    """
    if not all(held_in_registers(type_.dtype) for type_ in _outside(program)):
        return None
    with collector_at_rest():  # a collection of all that there is holds up the caller beside
        return _lowered(program, needs)


@dataclass
class Kernels:
    """The function `@program(inputs, outputs, workspace, state) -> status` of a module.

    tables: arrays of the program's own, which are its last inputs. kernel: what came of it.
    """

    module: Module
    program: Program
    tables: list[str]
    kernel: _Kernel


def kernels(program: Program, needs: Needs) -> Kernels:
    """The code of a program, without an entry."""
    module = Module()
    given = program.input_types
    program = with_algorithms(program)
    if not needs.precise:  # sums of blocks are rounded otherwise
        program = in_blocks(program)
    program, tables = with_tables_as_inputs(program)
    known = zip(program.inputs[len(given) :], map(range_of, tables), strict=True)
    ranges = {table: within for table, within in known if within is not None}
    planner = Planner(module, needs.precise, needs.threads, ranges)
    pieces = cut(program)
    if pieces is None:
        built = _kernel(planner, program, "program", needs, 0)
    else:
        built = _kernels(planner, program, pieces, needs)
    return Kernels(module, program, [add_table(module, array) for array in tables], built)


def _lowered(program: Program, needs: Needs) -> Lowered:
    given = program.input_types
    # Also those of SciPy's functions that are formulas here report errors as SciPy has them.
    special = any(equation.primitive in _OF_SCIPY for equation in all_equations(program))
    without_entry = kernels(program, needs)
    module, program, built = without_entry.module, without_entry.program, without_entry.kernel
    lent = tuple(
        number
        for number, atom in enumerate(program.outputs)
        if atom.type.ndim and atom.type.size * atom.type.dtype.itemsize >= LENT
    )
    spec = EntrySpec(
        inputs=given,
        outputs=program.output_types,
        tables=tuple(without_entry.tables),
        workspace_bytes=built.workspace_bytes,
        workspace_given=built.workspace_bytes > STACK_LIMIT,
        lent=lent,
        release=sum(region.flops for region in built.regions) > RELEASED,
        errors=not needs.hard,
        watched=tuple(number for number in needs.watched if number not in built.watched),
        special=special or any(map(is_of_scipy, module.declarations)),
    )
    if needs.timed:
        module.functions.append(f"@times = global [{len(built.regions)} x i64] zeroinitializer")
    emit_entry(module, spec)
    calling = Calling(
        built.workspace_bytes if spec.workspace_given else 0,
        built.stack_bytes + built.workspace_bytes * (not spec.workspace_given),
        lent,
    )
    return Lowered(module.text(), calling, tuple(built.regions))


def _kernels(planner: Planner, program: Program, pieces: Cut, needs: Needs) -> _Kernel:
    """Add the kernels of a program in segments, and the one that calls them."""
    rows, workspace_bytes = place_values(program, pieces)
    module = planner.module
    names = [module.fresh("segment") for _ in pieces.templates]
    unwatched = needs._replace(watched=())
    regions: list[Region] = []
    spaces, stacks = [0], [0]
    single = pieces.single()
    row_of = {segment.template: row for segment, row in zip(pieces.segments, rows, strict=True)}
    for number, (template, name) in enumerate(zip(pieces.templates, names, strict=True)):
        find: Find = in_tables
        if number in single:
            find = placed(row_of[number], len(template.inputs), workspace_bytes)
        built = _kernel(planner, template, name, unwatched, len(regions), find)
        regions += built.regions
        spaces.append(built.workspace_bytes)
        stacks.append(built.stack_bytes)
    emit_calls(module, names, pieces, rows, workspace_bytes)
    return _Kernel(workspace_bytes + max(spaces), max(stacks), regions, frozenset())


def _outside(program: Program) -> tuple[ArrayType, ...]:
    return (*program.input_types, *program.output_types)


def _kernel(
    planner: Planner,
    program: Program,
    name: str,
    needs: Needs,
    first_region: int,
    find: Find = in_tables,
) -> _Kernel:
    """Add the kernel of a program. find: where its inputs and outputs are."""
    timed = first_region if needs.timed else None
    layout, regions = planner.kernel(program, needs.watched, timed)
    emit_kernel(planner.module, layout, name, find)
    outputs = layout.scheduler.graph.outputs
    return _Kernel(
        layout.storage.workspace_bytes,
        layout.storage.stack_bytes + planner.module.stack_bytes,
        regions,
        frozenset(number for number in needs.watched if outputs[number] in layout.watched),
    )
