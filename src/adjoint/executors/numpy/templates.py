"""How each primitive is written in NumPy: one expression, or for writes a few statements."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from keyword import iskeyword
from typing import Any

import numpy as np

from adjoint.optimise import band
from adjoint.primitives import Primitive
from adjoint.primitives.elementwise.accuracy.formulas import Formula
from adjoint.primitives.elementwise.conversion import (
    CAST,
    IMAG,
    PYTHON_NUMBER,
    REAL,
    STOP_GRADIENT,
)
from adjoint.primitives.elementwise.declaring import SCALE
from adjoint.primitives.elementwise.selection import SELECT
from adjoint.primitives.structure.contraction import CONTRACT, lowering, split_spec
from adjoint.primitives.structure.gathering import GATHER, GATHER_ADD
from adjoint.primitives.structure.moving import FILL, RESHAPE, SUM, TRANSPOSE
from adjoint.primitives.structure.slicing import INCREMENT, SLICE, STACK, Index, numpy_index
from adjoint.primitives.typing_rules import resolve
from adjoint.program import Atom, Equation, Operation

_INFIX: dict[Any, str] = {
    np.add: "+",
    np.subtract: "-",
    np.multiply: "*",
    np.divide: "/",
    np.less: "<",
    np.less_equal: "<=",
    np.greater: ">",
    np.greater_equal: ">=",
    np.equal: "==",
    np.not_equal: "!=",
}


class Namespace:
    """The names that generated source uses, each bound to one object."""

    def __init__(self) -> None:
        self.objects: dict[str, Any] = {}
        self._names: dict[tuple[str, int], str] = {}  # of objects, which are held above
        self._numbers: dict[str, int] = {}  # how often a name was wanted for another object
        self._functions: dict[Operation, Any] = {}

    def name(self, wanted: str, value: Any) -> str:
        """A name for an object: the one wanted, or numbered where that is taken by another."""
        key = (wanted, id(value))
        known = self._names.get(key)
        if known is not None:
            return known
        candidate = wanted = f"{wanted}_" if iskeyword(wanted) else wanted
        number = self._numbers.get(wanted, 1)
        while candidate in self.objects:
            number += 1
            candidate = f"{wanted}_{number}"
        self._numbers[wanted] = number
        self.objects[candidate] = value
        self._names[key] = candidate
        return candidate

    def function(self, wanted: str, operation: Operation) -> str:
        """A name for what an operation means: one function for all equations of it."""
        if operation not in self._functions:
            self._functions[operation] = partial(operation.primitive.evaluate, **operation.params)
        return self.name(wanted, self._functions[operation])

    def number(self, value: Any) -> str:
        """How a number is written: as such, or by a name where Python has no notation for it."""
        if type(value) in (bool, int, float) and np.isfinite(value):
            return repr(value) if value >= 0 else f"({value!r})"
        return self.name("constant", value)


Template = Callable[[Equation, Sequence[str], Namespace], str]


def expression(
    equation: Equation, operands: Sequence[str], space: Namespace, out: str | None
) -> str:
    """The right-hand side of an equation; `out` names memory for an elementwise result."""
    primitive = equation.primitive
    if _ufunc(primitive) is not None:
        return _elementwise(equation, operands, space, out)
    if primitive is FILL and out is not None:
        return out
    template = TEMPLATES.get(primitive)
    numbers = primitive is not STACK and any(map(_may_be_number, equation.inputs))
    if template is not None and not numbers:
        text = template(equation, operands, space)
        return f"{text[:-1]}, out={out})" if out and takes_memory(equation) else text
    return f"{space.function(primitive.name, equation.operation)}({', '.join(operands)})"


def _ufunc(primitive: Primitive) -> Any:
    """The function of NumPy that an elementwise primitive is; None for all others."""
    return np.multiply if primitive is SCALE else primitive.ufunc


def takes_memory(equation: Equation) -> bool:
    """Whether an equation is written as a call that can be given memory for its result."""
    primitive = equation.primitive
    if _ufunc(primitive) is not None:
        return bool(equation.outputs[0].type.ndim)
    if primitive is FILL:
        return True
    return primitive is CONTRACT and equation.params["spec"] in _MATRIX_PRODUCTS


def _elementwise(
    equation: Equation, operands: Sequence[str], space: Namespace, out: str | None
) -> str:
    ufunc, inputs = resolve(_ufunc(equation.primitive)), equation.inputs
    # NumPy's scalars are fast under operators; Python's own would divide by zero in their own way.
    if _all_scalars(inputs) and not _meets_python_complex(inputs):
        if ufunc in _INFIX:
            first = operands[0]
            if all(_may_be_python(atom) for atom in inputs):
                dtype = inputs[0].type.dtype
                first = f"{space.name(dtype.name, dtype)}.type({first})"
            return f"{first} {_INFIX[ufunc]} {operands[1]}"
        if ufunc is np.negative and not _may_be_python(inputs[0]):
            return f"-{operands[0]}"
    arguments = [*operands, f"out={out}"] if out else operands
    # What the derivative added stands where warnings are off.
    function = ufunc.quiet if equation.derived and isinstance(ufunc, Formula) else ufunc
    return f"{space.name(ufunc.__name__, function)}({', '.join(arguments)})"


def _meets_python_complex(inputs: Sequence[Atom]) -> bool:
    """A Python complex number would compute with a float64, which is a Python float, by itself."""
    kinds = {atom.type.dtype.kind for atom in inputs}
    return any(_may_be_python(atom) and atom.type.dtype.kind == "c" for atom in inputs) and bool(
        kinds - {"c"}
    )


def _may_be_python(atom: Atom) -> bool:
    return atom.type.weak or atom.type.dtype.kind == "b"


def _may_be_number(atom: Atom) -> bool:
    """Python's own, which has no methods of an array."""
    return atom.type.ndim == 0 and _may_be_python(atom)


def _all_scalars(inputs: Sequence[Atom]) -> bool:
    return all(atom.type.ndim == 0 for atom in inputs)


def _dtype(space: Namespace, dtype: np.dtype[Any]) -> str:
    return space.name(dtype.name, dtype)


def _fill(equation: Equation, operands: Sequence[str], space: Namespace) -> str:
    shape, value = equation.params["shape"], equation.params["value"]
    dtype = _dtype(space, equation.params["dtype"])
    if not value:
        return f"{space.name('zeros', np.zeros)}({shape}, {dtype})"
    return f"{space.name('full', np.full)}({shape}, {space.number(value)}, {dtype})"


def _sum(equation: Equation, operands: Sequence[str], space: Namespace) -> str:
    (x,), axes = equation.inputs, equation.params["axes"]
    where = "None" if len(axes) == x.type.ndim else str(axes[0] if len(axes) == 1 else axes)
    add = space.name("add", np.add)
    if x.type.dtype.kind in "biu":  # NumPy would widen these
        return f"{add}.reduce({operands[0]}, {where}, {_dtype(space, x.type.dtype)})"
    return f"{add}.reduce({operands[0]}, {where})"


def _transpose(equation: Equation, operands: Sequence[str], space: Namespace) -> str:
    axes = equation.params["axes"]
    if axes == tuple(reversed(range(len(axes)))):
        return f"{operands[0]}.T"
    return f"{operands[0]}.transpose({axes})"


def _cast(equation: Equation, operands: Sequence[str], space: Namespace) -> str:
    real = equation.inputs[0].type.dtype.kind == "c" and equation.params["dtype"].kind not in "cb"
    return f"{operands[0]}{'.real' * real}.astype({_dtype(space, equation.params['dtype'])})"


_MATRIX_PRODUCTS = {
    # canonical spec: (operand written first, its transposition, operand written second, its
    # transposition)
    "ab,bc->ac": "{0}, {1}",
    "ab,cb->ac": "{0}, {1}.T",
    "ab,ac->bc": "{0}.T, {1}",
    "ab,ca->bc": "{0}.T, {1}.T",
    "ab,bc->ca": "{1}.T, {0}.T",
    "ab,cb->ca": "{1}, {0}.T",
    "ab,ac->cb": "{1}.T, {0}",
    "ab,ca->cb": "{1}, {0}",
    "ab,b->a": "{0}, {1}",
    "ab,a->b": "{0}.T, {1}",
    "a,ab->b": "{0}, {1}",
    "a,ba->b": "{1}, {0}",
    "a,a->": "{0}, {1}",
    "abc,acd->abd": "{0}, {1}",
}


def _contract(equation: Equation, operands: Sequence[str], space: Namespace) -> str:
    spec = equation.params["spec"]
    form = _MATRIX_PRODUCTS.get(spec)
    if form is not None and _is_column_times_row(equation):
        return f"{space.name('multiply', np.multiply)}({form.format(*operands)})"
    if form is not None:
        return f"{space.name('matmul', np.matmul)}({form.format(*operands)})"
    left, right, result = split_spec(spec)
    if result and not set(left) & set(right) and len(left) == len(right) == 1:
        rows, columns = (0, 1) if result[0] in left else (1, 0)
        return f"{operands[rows]}[:, None] * {operands[columns]}"
    return f"{space.name('contract', lowering(spec))}({', '.join(operands)})"


def _is_column_times_row(equation: Equation) -> bool:
    """A matrix product that sums a single term, which broadcasting does faster."""
    left, _, result = split_spec(equation.params["spec"])
    if any(atom.type.ndim != 2 for atom in equation.inputs):
        return False
    shape = equation.inputs[0].type.shape
    return [n for label, n in zip(left, shape, strict=True) if label not in result] == [1]


def index_text(index: Index) -> str:
    """An index as one would write it."""
    parts = []
    for entry in numpy_index(index):
        if isinstance(entry, int):
            parts.append(str(entry))
            continue
        stop = "" if entry.stop is None else str(entry.stop)
        start = str(entry.start) if entry.start or entry.step < 0 else ""
        parts.append(f"{start}:{stop}" + (f":{entry.step}" if entry.step != 1 else ""))
    return ", ".join(parts)


def write_statements(
    equation: Equation, result: str, operands: Sequence[str], space: Namespace, in_place: bool
) -> list[str]:
    """A write into an array: into the operand's own memory where that is free, else into a copy."""
    target, value, *indices = operands
    primitive = equation.primitive
    array = space.name("array", np.array)
    lines = [f"{result} = {target}" if in_place else f"{result} = {array}({target})"]
    place = ", ".join(indices) if indices else index_text(equation.params["index"]) or "()"
    if primitive is GATHER_ADD:
        add = space.name("add", np.add)
        x, given, first = equation.inputs[:3]
        part = (*first.type.shape, *x.type.shape[len(indices) :])
        if given.type.shape != part:  # NumPy (2.4.6) reads beyond a value that has fewer axes
            value = f"{space.name('broadcast_to', np.broadcast_to)}({value}, {part})"
        lines.append(f"{add}.at({result}, ({place},), {value})")
    else:
        lines.append(f"{result}[{place}] {'+' * (primitive is INCREMENT)}= {value}")
    return lines


def complete_statements(
    equation: Equation, result: str, operands: Sequence[str], space: Namespace, in_place: bool
) -> list[str]:
    """An increment of zeros that have not been written: the band, and zeros around it."""
    target, value = operands
    rows = band(equation)
    assert rows is not None  # only what `completed_fills` finds comes here
    start, stop = rows
    length = equation.inputs[0].type.shape[0]
    lines = [f"{result} = {target}", f"{result}[{index_text(equation.params['index'])}] = {value}"]
    if start:
        lines.append(f"{result}[:{start}] = 0")
    if stop < length:
        lines.append(f"{result}[{stop}:] = 0")
    return lines


def empty_text(equation: Equation, space: Namespace) -> str:
    """Memory for a fill whose numbers are written later."""
    dtype = _dtype(space, equation.params["dtype"])
    return f"{space.name('empty', np.empty)}({equation.params['shape']}, {dtype})"


def _gather(equation: Equation, operands: Sequence[str], space: Namespace) -> str:
    x, *indices = operands
    indexed = f"{x}[{', '.join(indices)}]"
    # NumPy returns a view for indices without axes; all others copy.
    return (
        indexed if equation.inputs[1].type.ndim else f"{space.name('array', np.array)}({indexed})"
    )


_ENTRY = re.compile(r"x\[(\d+)\]")


def _entries(operands: Sequence[str]) -> str | None:
    """Evenly spaced arguments of a function of very many, as one slice of them."""
    if len(operands) < 3:
        return None
    matches = [match for operand in operands if (match := _ENTRY.fullmatch(operand))]
    if len(matches) < len(operands):
        return None
    numbers = [int(match[1]) for match in matches]
    step = numbers[1] - numbers[0]
    if step < 1 or any(b - a != step for a, b in pairwise(numbers)):
        return None
    return f"x[{numbers[0]}:{numbers[-1] + 1}{f':{step}' * (step > 1)}]"


def _stack(equation: Equation, operands: Sequence[str], space: Namespace) -> str:
    (output,), axis = equation.outputs, equation.params["axis"]
    parts = _entries(operands) or f"({', '.join(operands)},)"
    if axis:
        return f"{space.name('stack', np.stack)}({parts}, {axis})"
    return f"{space.name('array', np.array)}({parts}, {_dtype(space, output.type.dtype)})"


TEMPLATES: dict[Primitive, Template] = {
    FILL: _fill,
    SUM: _sum,
    TRANSPOSE: _transpose,
    CAST: _cast,
    CONTRACT: _contract,
    PYTHON_NUMBER: lambda e, x, space: f"{x[0]}.item()",
    RESHAPE: lambda e, x, space: f"{x[0]}.reshape({e.params['shape']})",
    SLICE: lambda e, x, space: f"{x[0]}[{index_text(e.params['index']) or '()'}]",
    GATHER: _gather,
    STACK: _stack,
    SELECT: lambda e, x, space: f"{space.name('where', np.where)}({', '.join(x)})",
    REAL: lambda e, x, space: f"{x[0]}.real",
    IMAG: lambda e, x, space: f"{x[0]}.imag",
    STOP_GRADIENT: lambda e, x, space: x[0],
}
