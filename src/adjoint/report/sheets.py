"""What there is to show of a program at a point: its equations with lines, values and places."""

from __future__ import annotations

import linecache
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

import adjoint as ad
from adjoint.calculus.inspecting.machine_code import NativeView
from adjoint.calculus.inspecting.programs import Role
from adjoint.calculus.inspecting.walking import ProgramRun
from adjoint.drawing.graph import Notes, argument_names, of_program, result_names, short
from adjoint.drawing.svg import svg_text
from adjoint.program import Atom, Equation, Literal, Program, Variable
from adjoint.program.operation import parameter_text
from adjoint.program.printer import program_text, variable_name
from adjoint.report.plain import plain_value

MOST_ROWS: Final = 2000
MOST_DRAWN: Final = 1000  # boxes, of more of which a browser is slow to move a drawing
_FEW: Final = 4  # numbers that are shown one by one


@dataclass(frozen=True)
class SourceLine:
    """A line of the user's: where it is, and what stands there."""

    place: str
    text: str


@dataclass(frozen=True)
class SheetRow:
    """An equation, or an input of the program.

    Attributes:
        name: of its result, as the drawing has it too.
        kind: "argument", "constant", "result" (a seed), "equation" or "derived".
        text: the equation, as programs are printed.
        inner: programs that it holds, as text.
        source: the user's line; None where there is none.
        value: at the point, in a few words.
        odd: whether there is a NaN or an infinity in it.
        place: the number of its region of machine code; why it is left to NumPy; or None.
        kept: the bytes of it that the way back needs, 0 where it needs none.
        kink: whether it was applied at a point where it has no derivative.
    """

    name: str
    kind: str
    text: str
    inner: str = ""
    source: SourceLine | None = None
    value: str = ""
    odd: bool = False
    place: int | str | None = None
    kept: int = 0
    kink: bool = False


@dataclass(frozen=True)
class Sheet:
    """A program at a point, to be shown.

    Attributes:
        key, title: of it, among the sheets of a function.
        rows: inputs and equations.
        more: how many equations there are besides.
        results: what the outputs are, and their names in the program.
        svg: its drawing; empty where there is too much to be drawn.
        native: its machine code.
    """

    key: str
    title: str
    rows: tuple[SheetRow, ...]
    more: int
    results: tuple[tuple[str, str], ...]
    svg: str
    native: NativeView

    @property
    def height(self) -> float:
        """That of the drawing at its own size, in pixels."""
        match = re.match(r'<svg [^>]*height="([\d.]+)"', self.svg)
        return float(match.group(1)) if match else 0.0


def sheets(function: Callable[..., Any], args: tuple[Any, ...], title: str) -> list[Sheet]:
    """Those of the value, and of reverse mode (forward mode, where there is no reverse mode).

    Raises:
        AdjointError: the function cannot be captured.
    """
    view = ad.program(function, *args).rolled()
    results = result_names(plain_value(function, args))
    if len(results) != len(view.program.outputs):  # not all of them are numbers
        results = [f"y[{number}]" for number in range(len(view.program.outputs))]
    labels = argument_names(function, args)
    kinks = _kinks(function, args)
    shown = [_sheet("value", "The value", view, view, labels, results, title, kinks)]
    for key, name, make in (
        ("reverse", "Reverse mode", view.vjp),
        ("forward", "Forward mode", view.jvp),
    ):
        try:
            derived = make()
        except ad.errors.AdjointError:
            continue
        shown.append(_sheet(key, name, view, derived, labels, results, title, kinks))
        break
    return shown


def _sheet(
    key: str,
    name: str,
    base: ad.ProgramView,
    view: ad.ProgramView,
    labels: Sequence[str],
    results: Sequence[str],
    title: str,
    kinks: set[tuple[str, str]],
) -> Sheet:
    """view: the program, with the inputs and outputs of `base` first."""
    native = view.native()
    program = native.program
    names = _variable_names(program)
    inputs, outputs = _labels(base, view, labels, results)
    values, lines = _values(base, program), native.lines()
    rows = _SheetWriter(program, names, values, _kept(program, len(base.program.inputs)), kinks)
    shown = rows.of_inputs(view.roles[0], inputs)
    shown += rows.of_equations(native.places(), lines)[:MOST_ROWS]
    drawn = len(program.inputs) + len(program.equations) <= MOST_DRAWN
    notes = Notes(inputs, outputs, values, lines)
    return Sheet(
        key,
        name,
        tuple(shown),
        max(0, len(program) - MOST_ROWS),
        tuple(
            (label, names[atom] if isinstance(atom, Variable) else repr(atom))
            for label, atom in zip(outputs, program.outputs, strict=True)
        ),
        svg_text(of_program(program, view.roles, notes), title, f"adjoint-{key}") if drawn else "",
        native,
    )


def _kinks(function: Callable[..., Any], args: tuple[Any, ...]) -> set[tuple[str, str]]:
    """The operations that met a kink, and their lines."""
    try:
        with np.errstate(all="ignore"):
            return {(kink.operation, kink.line) for kink in ad.kinks(function, *args)}
    except ad.errors.AdjointError:  # there is no derivative of which there could be
        return set()


def _variable_names(program: Program) -> dict[Variable, str]:
    """As programs are printed and drawn."""
    variables = [*program.inputs, *(out for eq in program.equations for out in eq.outputs)]
    return {variable: variable_name(number) for number, variable in enumerate(variables)}


def _labels(
    base: ad.ProgramView, view: ad.ProgramView, labels: Sequence[str], results: Sequence[str]
) -> tuple[list[str], list[str]]:
    """What the user calls inputs and outputs; "" for what has no name."""
    inputs = [*labels, *[""] * (len(base.program.inputs) - len(labels))]
    moving = [label for label, active in zip(labels, base.active, strict=False) if active]
    of = results[0] if len(results) == 1 else ""
    outputs = list(results)
    more = [len(view.program.inputs) - len(inputs), len(view.program.outputs) - len(outputs)]
    if more[0] and view.roles[0][-1] is Role.ARGUMENT:  # forward mode
        inputs += [f"d{label}" for label in moving]
        outputs += [f"d{result}" for result in results][-more[1] :]
    elif more[0]:
        inputs += ["seed"] * more[0]
        seeded = "" if len(results) == 1 and base.program.outputs[0].type.size == 1 else "seed · "
        outputs += [f"{seeded}∂{of}/∂{label}" for label in moving]
    return inputs, outputs


def _values(base: ad.ProgramView, program: Program) -> dict[Variable, Any]:
    """The values of all variables, with ones for tangents and seeds."""
    if base.values is None:
        return {}
    more = program.input_types[len(base.values) :]
    ones = [np.ones(type_.shape, type_.dtype)[()] for type_ in more]
    try:
        return ProgramRun(program, [*base.values, *ones]).values
    except Exception:  # what a function of the user's own raises; the page does without values
        return {}


def _kept(program: Program, given: int) -> set[Variable]:
    """What is computed without the inputs after the first, and read by what needs them."""
    moving = set(program.inputs[given:])
    kept: set[Variable] = set()
    for equation in program.equations:
        read = [atom for atom in equation.inputs if isinstance(atom, Variable)]
        if not moving.isdisjoint(read):
            moving.update(equation.outputs)
            kept.update(variable for variable in read if variable not in moving)
    return kept


class _SheetWriter:
    """The rows of a program."""

    def __init__(
        self,
        program: Program,
        names: Mapping[Variable, str],
        values: Mapping[Variable, Any],
        kept: set[Variable],
        kinks: set[tuple[str, str]],
    ) -> None:
        self.program = program
        self.names = names
        self.values = values
        self.kept = kept
        self.kinks = kinks

    def of_inputs(self, roles: Sequence[Role], labels: Sequence[str]) -> list[SheetRow]:
        """A row for each input."""
        kinds = {Role.ARGUMENT: "argument", Role.CONSTANT: "constant", Role.RESULT: "result"}
        return [
            SheetRow(
                self.names[variable],
                kinds[role],
                f"{self.names[variable]}: {variable.type}  {label or 'constant'}",
                value=self._value((variable,)),
                odd=self._is_odd((variable,)),
            )
            for variable, role, label in zip(self.program.inputs, roles, labels, strict=True)
        ]

    def of_equations(
        self, places: Sequence[int | str | None], lines: Sequence[str]
    ) -> list[SheetRow]:
        """A row for each equation."""
        return [
            SheetRow(
                ", ".join(self.names[variable] for variable in equation.outputs),
                "derived" if equation.transformed else "equation",
                self._text(equation),
                _inner(equation),
                _source(line),
                self._value(equation.outputs),
                self._is_odd(equation.outputs),
                place,
                self._bytes(equation.outputs),
                not equation.transformed and (repr(equation.operation), line) in self.kinks,
            )
            for equation, place, line in zip(self.program.equations, places, lines, strict=True)
        ]

    def _text(self, equation: Equation) -> str:
        results = ", ".join(f"{self.names[out]}: {out.type}" for out in equation.outputs)
        operands = "".join(f" {self._name(atom)}" for atom in equation.inputs)
        return f"{results} = {equation.primitive.name}{parameter_text(equation.params)}{operands}"

    def _name(self, atom: Atom) -> str:
        return repr(atom.value) if isinstance(atom, Literal) else self.names[atom]

    def _value(self, variables: Sequence[Variable]) -> str:
        known = [self.values[variable] for variable in variables if variable in self.values]
        return ", ".join(map(value_text, known))

    def _is_odd(self, variables: Sequence[Variable]) -> bool:
        known = [np.asarray(self.values[one]) for one in variables if one in self.values]
        return any(array.dtype.kind in "fc" and not np.isfinite(array).all() for array in known)

    def _bytes(self, variables: Sequence[Variable]) -> int:
        types = [variable.type for variable in variables if variable in self.kept]
        return sum(type_.size * type_.dtype.itemsize for type_ in types)


def value_text(value: Any) -> str:
    """A few numbers, or the range of many, and how many of them are none."""
    array = np.asarray(value)
    if array.size <= _FEW or array.dtype.kind not in "bifuc":
        return short(value)
    if array.dtype.kind == "b":
        return f"{np.count_nonzero(array)} of {array.size} true"
    if array.dtype.kind == "c":
        return f"|.| up to {np.max(np.abs(array)):.4g}"
    finite = array[np.isfinite(array)]
    odd = array.size - finite.size
    none = f", {odd} not finite" if odd else ""
    if not finite.size:
        return f"{odd} not finite"
    least, most = (extreme + 0.0 for extreme in (finite.min(), finite.max()))  # 0 of -0
    return f"{least:.4g} … {most:.4g}{none}"


def _inner(equation: Equation) -> str:
    """The programs among the parameters, as they are printed."""
    held = [
        (name, inner)
        for name, value in equation.params.items()
        for inner in (value if isinstance(value, tuple) else (value,))
        if isinstance(inner, Program)
    ]
    return "\n".join(program_text(inner, name) for name, inner in held)


def _source(line: str) -> SourceLine | None:
    path, _, number = line.rpartition(":")
    if not number.isdigit():
        return None
    return SourceLine(f"{Path(path).name}:{number}", linecache.getline(path, int(number)).strip())
