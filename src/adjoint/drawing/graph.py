"""Programs as graphs to be drawn: what stands in each box, and which box reads which."""

from __future__ import annotations

import inspect
import linecache
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np

from adjoint.base import pytrees
from adjoint.base.arrays import is_numeric, type_of
from adjoint.calculus import Node, Nodes
from adjoint.calculus.inspecting.programs import Role
from adjoint.program import Literal, Program, Variable
from adjoint.program.operation import parameter_text
from adjoint.program.printer import variable_name

LONGEST_PARAMETERS = 24
MOST_NUMBERS = 4
OFTEN = 2  # readers, of more of which lines to a number would hide the rest


class PictureKind(Enum):
    """What a box stands for; the value is its class in the drawing.

    Squares are elements of the input space, circles of the output space, wherever they stand: a
    cotangent that a reverse pass is given is a circle, and what it returns a square.
    """

    ARGUMENT = "argument"
    CONSTANT = "constant"
    EQUATION = "equation"
    DERIVED = "derived"
    RESULT = "result"


@dataclass(frozen=True)
class Line:
    """A line of text in a box; the style is its class in the drawing."""

    text: str
    style: str


@dataclass(frozen=True)
class Port:
    """What a box reads: a result of another box (None for a number), and a label beside it.

    returns: whether a covector goes back along it.
    """

    box: int | None
    result: int
    label: str = ""
    returns: bool = False


@dataclass(frozen=True)
class Picture:
    """One box: its title, the lines below, the text that shows when one points at it."""

    kind: PictureKind
    name: str
    title: str
    lines: tuple[Line, ...]
    tip: str
    ports: tuple[Port, ...]
    results: int


# --- of the nodes of a function -------------------------------------------------------------------


def of_nodes(nodes: Nodes, arguments: Sequence[str], results: Sequence[str]) -> list[Picture]:
    """The boxes of a function at a point."""
    places = {id(node): number for number, node in enumerate(nodes)}
    names = iter(arguments)
    pictures = [
        _of_node(node, places, next(names) if node.operation == "argument" else "")
        for node in nodes
    ]
    for result, seed, name in zip(nodes.results, nodes.seeds, results, strict=True):
        number = None if result.node is None else places[id(result.node)]
        components = None if seed is None else seed.components
        label = "" if components is None else f"r = {short(components)}"
        port = Port(number, result.result, label, returns=seed is not None)
        value = Line(f"= {short(result.value)}", "value")
        pictures.append(
            Picture(PictureKind.RESULT, "", name, (value,), f"result {name}", (port,), 0)
        )
    return pictures


def _of_node(node: Node, places: dict[int, int], argument: str) -> Picture:
    names = node.name.split(", ")
    lines = [
        Line(f"{name}: {type_}", "type") for name, type_ in zip(names, node.types, strict=True)
    ]
    several = len(names) > 1
    lines += [
        Line(f"{sign} {text}", style)
        for sign, style, value in (
            ("=", "value", node.value),
            ("t =", "tangent", node.tangent),
            ("r =", "cotangent", None if node.covector is None else node.covector.components),
        )
        if value is not None
        for text in ([short(part) for part in value] if several else [short(value)])
    ]
    if node.operation in ("argument", "constant"):
        kind, title = PictureKind(node.operation), argument
        if kind is PictureKind.CONSTANT and node.types[0].size == 1:
            title = short(node.value)
            lines = [line for line in lines if line.style != "value"]
        return Picture(kind, node.name, title, tuple(lines), _tip(node), (), 1)
    ports = []
    for operand, covector in zip(node.operands, node.contributions, strict=True):
        if operand.node is None:
            ports.append(Port(None, 0, short(operand.value)))
            continue
        label = "" if covector is None else short(covector.components)
        number = places[id(operand.node)]
        ports.append(Port(number, operand.result, label, returns=covector is not None))
    title, bracket, rest = node.operation.partition("[")
    if bracket:
        lines.insert(0, Line(_cut(bracket + rest), "parameters"))
    return Picture(
        PictureKind.EQUATION, node.name, title, tuple(lines), _tip(node), tuple(ports), len(names)
    )


def _tip(node: Node) -> str:
    types = ", ".join(map(str, node.types))
    reads = " ".join(
        repr(operand.value)
        if operand.node is None
        else operand.node.name.split(", ")[operand.result]
        for operand in node.operands
    )
    place = node.line.replace("\\", "/").rpartition("/")[2]
    return "\n".join(
        filter(None, (f"{node.name}: {types} = {node.operation} {reads}", place, node.text))
    )


# --- of a program alone ---------------------------------------------------------------------------


_KINDS = {
    Role.ARGUMENT: PictureKind.ARGUMENT,
    Role.RESULT: PictureKind.RESULT,
    Role.CONSTANT: PictureKind.CONSTANT,
}


@dataclass(frozen=True)
class Notes:
    """What is known of a program besides itself, for its drawing; each may be empty.

    arguments, results: the user's names of inputs and of outputs. values: of variables. lines: of
    the user's code, one for each equation.
    """

    arguments: Sequence[str] = ()
    results: Sequence[str] = ()
    values: Mapping[Variable, Any] = field(default_factory=dict)
    lines: Sequence[str] = ()


def of_program(
    program: Program,
    roles: tuple[Sequence[Role], Sequence[Role]],
    notes: Notes | None = None,
) -> list[Picture]:
    """The boxes of a program: derived equations are told apart."""
    notes = notes or Notes()
    names: dict[Variable, str] = {}
    origins: dict[Variable, tuple[int, int]] = {}
    pictures: list[Picture] = []

    def declare(variables: Sequence[Variable]) -> tuple[str, tuple[Line, ...]]:
        lines = []
        for place, variable in enumerate(variables):
            names[variable] = variable_name(len(names))
            origins[variable] = (len(pictures), place)
            lines.append(Line(f"{names[variable]}: {variable.type}", "type"))
        lines += [
            Line(f"= {short(notes.values[variable])}", "value")
            for variable in variables
            if variable in notes.values and variable.type.size <= MOST_NUMBERS
        ]
        return ", ".join(names[variable] for variable in variables), tuple(lines)

    beside = _beside_readers(program, roles[0], notes.values)

    def read(atom: Any) -> Port:
        if isinstance(atom, Literal):
            return Port(None, 0, repr(atom.value))
        return Port(None, 0, beside[atom]) if atom in beside else Port(*origins[atom])

    for number, (variable, role) in enumerate(zip(program.inputs, roles[0], strict=True)):
        name, lines = declare((variable,))
        title = notes.arguments[number] if number < len(notes.arguments) else ""
        if role is Role.CONSTANT and variable in notes.values and variable.type.size == 1:
            title, lines = short(notes.values[variable]), lines[:1]
        if variable in beside:
            continue
        tip = f"{name}: {variable.type}"
        pictures.append(Picture(_KINDS[role], name, title or name, lines, tip, (), 1))
    for number, equation in enumerate(program.equations):
        ports = tuple(map(read, equation.inputs))
        reads = " ".join(
            repr(atom.value) if isinstance(atom, Literal) else names[atom]
            for atom in equation.inputs
        )
        name, lines = declare(equation.outputs)
        parameters = parameter_text(equation.params)
        line = notes.lines[number] if number < len(notes.lines) else ""
        tip = f"{name} = {equation.primitive.name}{parameters} {reads}{_line_tip(line)}"
        if parameters:
            lines = (Line(_cut(parameters), "parameters"), *lines)
        kind = PictureKind.DERIVED if equation.transformed else PictureKind.EQUATION
        title = equation.primitive.name
        pictures.append(Picture(kind, name, title, lines, tip, ports, len(equation.outputs)))
    for number, (atom, role) in enumerate(zip(program.outputs, roles[1], strict=True)):
        title = notes.results[number] if number < len(notes.results) else ""
        tip = f"result {title or number}"
        pictures.append(Picture(_KINDS[role], "", title, (), tip, (read(atom),), 0))
    return pictures


def _beside_readers(
    program: Program, roles: Sequence[Role], values: Mapping[Variable, Any]
) -> dict[Variable, str]:
    """Constants of one number that are read often: written beside each reader, without a line."""
    reads = Counter(atom for equation in program.equations for atom in set(equation.inputs))
    return {
        variable: short(values[variable])
        for variable, role in zip(program.inputs, roles, strict=True)
        if role is Role.CONSTANT
        and variable in values
        and variable.type.size == 1
        and reads[variable] > OFTEN
        and variable not in program.outputs
    }


def _line_tip(line: str) -> str:
    """The user's line, as it stands below in a tip."""
    path, _, number = line.rpartition(":")
    if not number.isdigit():
        return ""
    place = line.replace("\\", "/").rpartition("/")[2]
    return f"\n{place}\n{linecache.getline(path, int(number)).strip()}".rstrip()


# --- names and numbers ----------------------------------------------------------------------------


def argument_names(function: Any, args: tuple[Any, ...]) -> list[str]:
    """For each array and number among the arguments, the user's name: `x`, `params['w']`."""
    names: list[str] = []
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # functions written in C may have none
        parameters = {}.values()
    for parameter in parameters:
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            names.append(parameter.name)
        elif parameter.kind is parameter.VAR_POSITIONAL:
            names += [f"{parameter.name}[{n}]" for n in range(len(args) - len(names))]
    names += [f"argument {n}" for n in range(len(names), len(args))]
    leaf_names = []
    for name, argument in zip(names, args, strict=False):
        for leaf, path in zip(pytrees.leaves(argument), pytrees.paths(argument), strict=True):
            if is_numeric(leaf):
                leaf_names.append(name + path)
    return leaf_names


def result_names(value: Any) -> list[str]:
    """For each result: `y`, `y[0]`, `y['loss']`."""
    return [f"y{path}" for path in pytrees.paths(value)]


def short(value: Any) -> str:
    """A number or a few numbers, or else the type."""
    array = np.asarray(value)
    if array.ndim > 2 or array.size > MOST_NUMBERS:
        return str(type_of(array))
    return _nested(array.tolist())


def _nested(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_nested, value))}]"
    if not isinstance(value, (float, complex)):
        return str(value)
    text = f"{value:.4g}"
    return "0" if text == "-0" else text


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_PARAMETERS else text[: LONGEST_PARAMETERS - 1] + "…"
