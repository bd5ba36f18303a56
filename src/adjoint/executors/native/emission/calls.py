"""The kernel of a program in segments: a table of calls, and a loop that makes them.

Every value that leaves its segment has memory: that of an output of the program, or a place in the
workspace that is used again once nobody reads it any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from adjoint.executors.native.emission.writer import Find, in_tables
from adjoint.executors.native.machine.module import Block, Module
from adjoint.executors.native.preparation.segments import Cut
from adjoint.executors.native.schedule.storage import ALIGNMENT, Allocator
from adjoint.program import Program, Variable

_WORKSPACE, _INPUT, _OUTPUT = range(3)
_WORD: Final = 8  # bytes; complex numbers take two


def place_values(program: Program, cut: Cut) -> tuple[list[list[int]], int]:
    """For each call, where each input and output is (see `_entry`); and the bytes in all."""
    where: dict[Variable, int] = {v: _entry(n, _INPUT) for n, v in enumerate(program.inputs)}
    waiting = _output_places(program, cut)
    last: dict[Variable, int] = {}
    for number, segment in enumerate(cut.segments):
        last.update(dict.fromkeys(segment.inputs, number))
    ends: dict[int, list[Variable]] = {}
    slots: dict[Variable, int] = {}
    arrays, numbers = Allocator(), _NumberSlots()
    for number, segment in enumerate(cut.segments):
        for variable in segment.outputs:
            if variable in waiting:
                where[variable] = _entry(waiting[variable], _OUTPUT)
                continue
            type_ = variable.type
            taken = arrays.take(type_.size * type_.dtype.itemsize) if type_.ndim else None
            slots[variable] = numbers.take(type_.dtype.itemsize) if taken is None else taken
            ends.setdefault(last.get(variable, number), []).append(variable)
        for variable in ends.pop(number, []):
            if variable.type.ndim:
                arrays.free.append(slots[variable])
            else:
                numbers.free(slots[variable], variable.type.dtype.itemsize)
    for variable, slot in slots.items():
        offset = slot if not variable.type.ndim else numbers.bytes + arrays.slots[slot][0]
        where[variable] = _entry(offset, _WORKSPACE)
    rows = [[where[v] for v in (*segment.inputs, *segment.outputs)] for segment in cut.segments]
    return rows, numbers.bytes + arrays.size


class _NumberSlots:
    """Gives out memory for single numbers, side by side, so that a line of the cache has many."""

    def __init__(self) -> None:
        self._size = 0
        self._free: dict[int, list[int]] = {_WORD: [], 2 * _WORD: []}

    @property
    def bytes(self) -> int:
        """Those of all, as arrays behind them are aligned."""
        return -(-self._size // ALIGNMENT) * ALIGNMENT

    def take(self, size: int) -> int:
        """The offset of so many bytes, at most two words."""
        size = _WORD if size <= _WORD else 2 * _WORD
        if self._free[size]:
            return self._free[size].pop()
        self._size += size
        return self._size - size

    def free(self, offset: int, size: int) -> None:
        """Let others have what was taken for a number of so many bytes."""
        self._free[_WORD if size <= _WORD else 2 * _WORD].append(offset)


def placed(row: Sequence[int], inputs: int, workspace_offset: int) -> Find:
    """Where the function of a segment that is called once finds what its row tells.

    It is given the program's own tables. inputs: how many entries of the row are inputs.
    """

    def find(block: Block, kind: str, number: int) -> str:
        entry = row[number if kind == "input" else inputs + number]
        if entry % 4 == _WORKSPACE:
            offset = entry // 4 - workspace_offset
            return block.op(f"getelementptr i8, ptr %workspace, i64 {offset}")
        return in_tables(block, "input" if entry % 4 == _INPUT else "output", entry // 4)

    return find


def _entry(number: int, kind: int) -> int:
    """An offset in the workspace, or the number of an input or output, with what it is."""
    return 4 * number + kind


def _output_places(program: Program, cut: Cut) -> dict[Variable, int]:
    """Which output of the program a variable is written to directly."""
    own = {v for equation in program.equations for v in equation.outputs}
    copies = iter(cut.segments[-1].outputs)
    places: dict[Variable, int] = {}
    for number, atom in enumerate(program.outputs):
        if isinstance(atom, Variable) and atom in own and atom not in places:
            places[atom] = number
        else:
            places[next(copies)] = number
    return places


def emit_calls(
    module: Module,
    functions: Sequence[str],
    cut: Cut,
    rows: Sequence[Sequence[int]],
    workspace_offset: int,
) -> None:
    """Add `@program`: one call after the other, as the table says.

    functions: of the templates; those that are called once find the values themselves, as `placed`
    says. workspace_offset: where the workspace of the segments begins.
    """
    single = cut.single()
    rows = [
        [] if segment.template in single else row
        for segment, row in zip(cut.segments, rows, strict=True)
    ]
    width = max(1, *map(len, rows))
    flat = [entry for row in rows for entry in (*row, *[0] * (width - len(row)))]
    most = max(1, *(len(template.inputs) for template in cut.templates))
    results = max(1, *(len(template.outputs) for template in cut.templates))
    table, kinds = module.fresh("calls"), module.fresh("kinds")
    counts = [
        [-1 if number in single else count for number, count in enumerate(numbers)]
        for numbers in zip(*[(len(t.inputs), len(t.outputs)) for t in cut.templates], strict=True)
    ]
    module.functions += [
        _array(table, "i64", flat),
        _array(kinds, "i32", [segment.template for segment in cut.segments]),
        _array(f"{kinds}.inputs", "i64", counts[0]),
        _array(f"{kinds}.outputs", "i64", counts[1]),
        f"@{kinds}.functions = internal constant [{len(functions)} x ptr] "
        f"[{', '.join(f'ptr @{name}' for name in functions)}]",
        _FILL,
        _DRIVER.format(
            table=table,
            kinds=kinds,
            width=width,
            calls=len(rows),
            most=most,
            results=results,
            offset=workspace_offset,
        ),
    ]


def _array(name: str, type_text: str, numbers: Sequence[int]) -> str:
    body = ", ".join(f"{type_text} {number}" for number in numbers)
    return f"@{name} = internal constant [{len(numbers)} x {type_text}] [{body}]"


_FILL: Final = """
define internal void @fill(ptr %table, i64 %count, ptr %into, ptr %inputs, ptr %outputs, ptr %space)
{
entry:
  %some = icmp sgt i64 %count, 0
  br i1 %some, label %loop, label %done
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %at = getelementptr i64, ptr %table, i64 %i
  %entry.value = load i64, ptr %at
  %kind = and i64 %entry.value, 3
  %number = lshr i64 %entry.value, 2
  %local = getelementptr i8, ptr %space, i64 %number
  %is.input = icmp eq i64 %kind, 1
  %is.local = icmp eq i64 %kind, 0
  %array = select i1 %is.input, ptr %inputs, ptr %outputs
  %index = select i1 %is.local, i64 0, i64 %number
  %slot.at = getelementptr ptr, ptr %array, i64 %index
  %slot = select i1 %is.local, ptr %at, ptr %slot.at
  %given = load ptr, ptr %slot
  %pointer = select i1 %is.local, ptr %local, ptr %given
  %to = getelementptr ptr, ptr %into, i64 %i
  store ptr %pointer, ptr %to
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %loop, label %done
done:
  ret void
}
"""

_DRIVER: Final = """
define internal i32 @program(ptr noalias %inputs, ptr noalias %outputs, ptr noalias %workspace,
                             ptr %state) {{
entry:
  %given = alloca [{most} x ptr], align 64
  %made = alloca [{results} x ptr], align 64
  %space = getelementptr i8, ptr %workspace, i64 {offset}
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %on]
  %before = phi i32 [0, %entry], [%status, %on]
  %kind.at = getelementptr i32, ptr @{kinds}, i64 %i
  %kind = load i32, ptr %kind.at
  %inputs.at = getelementptr i64, ptr @{kinds}.inputs, i32 %kind
  %input.count = load i64, ptr %inputs.at
  %outputs.at = getelementptr i64, ptr @{kinds}.outputs, i32 %kind
  %output.count = load i64, ptr %outputs.at
  %row = mul i64 %i, {width}
  %first = getelementptr i64, ptr @{table}, i64 %row
  %second = getelementptr i64, ptr %first, i64 %input.count
  call void @fill(ptr %first, i64 %input.count, ptr %given, ptr %inputs, ptr %outputs,
                  ptr %workspace)
  call void @fill(ptr %second, i64 %output.count, ptr %made, ptr %inputs, ptr %outputs,
                  ptr %workspace)
  %function.at = getelementptr ptr, ptr @{kinds}.functions, i32 %kind
  %function = load ptr, ptr %function.at
  %single = icmp slt i64 %input.count, 0
  %from = select i1 %single, ptr %inputs, ptr %given
  %into = select i1 %single, ptr %outputs, ptr %made
  %one = call i32 %function(ptr %from, ptr %into, ptr %space, ptr %state)
  %status = or i32 %before, %one
  %stopped = icmp ugt i32 %one, 1
  br i1 %stopped, label %leave, label %on
leave:
  ret i32 %one
on:
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, {calls}
  br i1 %more, label %loop, label %done
done:
  ret i32 %status
}}
"""
