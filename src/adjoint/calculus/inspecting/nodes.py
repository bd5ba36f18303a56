"""The tangent and the adjoint at every node of a program, and not at its ends alone.

A program is a graph whose nodes are its equations. Tangents flow with the equations (E.1.58),
covectors against them: in reverse order, each node sends its covector through the transpose of its
derivative to every operand (E.1.65, E.1.66), and what arrives at a value that is used several times
is summed before it goes on (E.1.68).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from adjoint.base import pytrees
from adjoint.base.arrays import ArrayType, is_numeric, type_of
from adjoint.base.errors import ArgumentError, ArgumentTypeError, NotDifferentiableError
from adjoint.base.signatures.checked import checked
from adjoint.calculus.inputs.leaves import matching_leaves
from adjoint.calculus.inputs.representation import space_of
from adjoint.calculus.inspecting.node import Node, NodeOperand, Nodes
from adjoint.calculus.inspecting.recording import LocalDerivatives, Recording
from adjoint.maps import LinearMap
from adjoint.pipeline import compile_program, run
from adjoint.program import Equation, Literal, Variable
from adjoint.program.printer import variable_name
from adjoint.spaces import Covector, Product, Space, TangentBundle, infer
from adjoint.transforms import jvp as jvp_program
from adjoint.transforms import tangent_type


@checked
def nodes(
    function: Callable[..., Any],
    *args: Any,
    tangents: Any = None,
    cotangents: Any = None,
    spaces: Mapping[str, Space | TangentBundle] | None = None,
    **kwargs: Any,
) -> Nodes:
    """Every node of a function's program at a point: value, tangent, covector, local derivative.

    Args:
        function: plain NumPy code.
        args: the point. All arrays and numbers in them are inputs of the program.
        tangents: the direction u, with the structure of the argument; with several arguments, a
            tuple with one entry for each, None for one that does not move.
        cotangents: components of a covector on the results, with their structure: what `ad.vjp`
            takes. 1.0 for a real function.
        spaces: inner-product spaces of nodes by name ("a", "b", ... as `print` shows them);
            Euclidean if not given. They change adjoints (`.adjoint`, `.H`), never covectors. A
            `Metric` gives the space at the value of the node.
        kwargs: passed on as they are.

    Returns:
        The nodes, in the order in which the function ran.

    Raises:
        ArgumentError: a space is named for no node, or ties the entries of an equation's value.
        MembershipError: a value is not in the space named for it.
        ShapeError, DTypeError, ArgumentTypeError: tangents or cotangents do not fit.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> f = lambda x, y: np.sin(x) * y
        >>> graph = ad.nodes(f, 0.0, 2.0, tangents=(1.0, 0.0), cotangents=1.0)
        >>> [float(node.tangent) for node in graph]
        [1.0, 0.0, 1.0, 2.0]
        >>> [float(node.covector.components) for node in graph]
        [2.0, 0.0, 2.0, 1.0]
    """
    recording = Recording(function, args, kwargs, "nodes")
    graph = _NodeGraph(recording, dict(spaces or {}))
    if tangents is not None:
        graph.push(_flat_tangents(args, tangents))
    if cotangents is not None:
        graph.pull(matching_leaves(recording.value, cotangents, "the cotangent"))
    return graph.nodes()


def _flat_tangents(args: tuple[Any, ...], tangents: Any) -> list[Any]:
    """For each floating-point number among the arguments its tangent, zero where none is given."""
    whole = (tangents,) if len(args) == 1 else tangents
    if not isinstance(whole, (tuple, list)) or len(whole) != len(args):
        raise ArgumentTypeError(
            f"With {len(args)} arguments, tangents is a tuple with one entry for each, None for "
            f"one that does not move. Got {type(tangents).__name__}."
        )
    flat: list[Any] = []
    for number, (argument, tangent) in enumerate(zip(args, whole, strict=True)):
        if tangent is None:
            leaves = [np.asarray(leaf) for leaf in pytrees.leaves(argument) if _inexact(leaf)]
            flat += [np.zeros(leaf.shape, leaf.dtype)[()] for leaf in leaves]
        else:
            flat += matching_leaves(argument, tangent, f"the tangent of argument {number}")
    return flat


def _inexact(leaf: Any) -> bool:
    return is_numeric(leaf) and type_of(leaf).inexact


class _NodeGraph:
    """Nodes in the making; everything is kept by variable."""

    def __init__(self, recording: Recording, chosen: dict[str, Space | TangentBundle]) -> None:
        self.recording = recording
        program = recording.program
        self.variables = [*program.inputs, *recording.results]
        self.names = {variable: variable_name(n) for n, variable in enumerate(self.variables)}
        self.spaces = self._spaces(chosen)
        self.tangents: dict[Variable, Any] = {}
        self.covectors: dict[Variable, Covector] = {}
        self.contributions: dict[Equation, tuple[Covector | None, ...]] = {}
        self.seeds: tuple[Any, ...] = (None,) * len(program.outputs)
        self.local = LocalDerivatives()

    def _spaces(self, chosen: dict[str, Space | TangentBundle]) -> dict[Variable, Space]:
        spaces: dict[Variable, Space] = {}
        results = set(self.recording.results)
        for variable in self.variables:
            value, name = self.recording.values[variable], self.names[variable]
            space = chosen.pop(name, None)
            if space is not None:
                space = space_of(value, space, f"the value of node {name!r}")
                if variable in results and not space._full:
                    raise ArgumentError(
                        f"Node {name!r} cannot have the space {space!r}: its partial derivatives "
                        "may leave a space whose entries are tied. Give it a weighted space of "
                        "all arrays, and an argument the space of symmetric ones."
                    )
                spaces[variable] = space
            elif variable.type.inexact:
                spaces[variable] = infer(value)
        if chosen:
            raise ArgumentError(
                f"spaces names the node {next(iter(chosen))!r}, which the program does not have. "
                f"Its nodes are {', '.join(self.names.values())}."
            )
        return spaces

    def push(self, tangents: list[Any]) -> None:
        """Forward mode through the whole program (E.1.58 to E.1.60)."""
        recording = self.recording
        program = jvp_program(recording.unrolled(), recording.active)
        results = recording.results
        whole = compile_program(program, tuple(range(len(program.outputs))))
        outputs = run(whole, [*recording.inputs, *tangents])
        inputs = zip(recording.program.inputs, recording.active, strict=True)
        moving = [variable for variable, mark in inputs if mark]
        self.tangents.update(zip(moving, tangents, strict=True))
        inexact = [variable for variable in results if variable.type.inexact]
        self.tangents.update(zip(inexact, outputs[len(results) :], strict=True))

    def pull(self, cotangents: list[Any]) -> None:
        """Reverse mode, node by node in reverse topological order (E.1.61 to E.1.68)."""
        recording = self.recording
        covectors = {variable: self._zero(variable) for variable in recording.varying}
        seeds: list[Any] = []
        for atom, cotangent in zip(recording.program.outputs, cotangents, strict=True):
            seed = None
            if isinstance(atom, Variable) and atom in recording.varying:
                seed = self.spaces[atom].covector(cotangent)
                covectors[atom] = covectors[atom] + seed
            seeds.append(seed)
        self.seeds = tuple(seeds)
        for equation in reversed(recording.program.equations):
            sent: list[Covector | None] = []
            varies = any(variable in recording.varying for variable in equation.outputs)
            arriving = self._joint(equation.outputs, covectors) if varies else None
            for place, atom in enumerate(equation.inputs):
                covector = None
                if varies and atom in recording.varying:
                    covector = self.partial(equation, place).T(arriving)
                    with np.errstate(all="ignore"):  # infinities that cancel show as NaN
                        covectors[atom] = covectors[atom] + covector
                sent.append(covector)
            self.contributions[equation] = tuple(sent)
        self.covectors = covectors

    def _zero(self, variable: Variable) -> Covector:
        space = self.spaces[variable]
        return Covector(space, space._zero_components())

    def _joint(self, variables: Sequence[Variable], covectors: dict[Variable, Covector]) -> Any:
        """The covector on all inexact results of an equation."""
        parts = [covectors[variable] for variable in variables if variable.type.inexact]
        if len(variables) == 1:
            return parts[0]
        space = self.space_of(variables)
        assert space is not None
        return Covector(space, tuple(part.components for part in parts))

    def space_of(self, variables: Sequence[Variable]) -> Space | None:
        """The space of the inexact ones among the results of one equation."""
        spaces = [self.spaces[variable] for variable in variables if variable.type.inexact]
        if not spaces:
            return None
        return spaces[0] if len(variables) == 1 else Product(tuple(spaces))

    def partial(self, equation: Equation, place: int) -> LinearMap:
        """The derivative of an equation in one of its operands, as a map between their spaces."""
        atom, codomain = equation.inputs[place], self.space_of(equation.outputs)
        if codomain is None or not atom.type.inexact or isinstance(atom, Literal):
            raise NotDifferentiableError(
                f"{equation.operation!r} carries no derivative in its operand {place}, of type "
                f"{atom.type}."
            )
        operands = [self.recording.at(operand) for operand in equation.inputs]
        types = [operand.type for operand in equation.inputs]
        local = self.local.at(equation.operation, operands, types, place)
        outputs = equation.outputs
        several = len(outputs) > 1
        model = self.recording.at(atom)

        def forward(tangent: Any) -> Any:
            (leaf,) = matching_leaves(model, tangent, "the tangent")
            results = [
                _zeros(variable.type) if pushed is None else pushed
                for variable, pushed in zip(outputs, local.push(leaf), strict=True)
                if variable.type.inexact
            ]
            return tuple(results) if several else results[0]

        def backward(components: Any) -> Any:
            given = iter(components if several else (components,))
            return local.pull(
                [next(given) if variable.type.inexact else None for variable in outputs]
            )

        name = f"∂{place}{equation.operation!r}"
        return LinearMap(self.spaces[atom], codomain, forward, backward, name=name)

    # --- the finished nodes ---

    def nodes(self) -> Nodes:
        """All nodes."""
        recording, program = self.recording, self.recording.program
        operand_of: dict[Variable, NodeOperand] = {}
        nodes: list[Node] = []
        for number, variable in enumerate(program.inputs):
            kind = "argument" if number < recording.arguments else "constant"
            node = self._node((variable,), kind, ("", ""), (), None)
            operand_of[variable] = NodeOperand(node, 0, recording.values[variable])
            nodes.append(node)
        for equation, line in zip(program.equations, recording.lines, strict=True):
            operands = tuple(
                NodeOperand(None, 0, atom.value) if isinstance(atom, Literal) else operand_of[atom]
                for atom in equation.inputs
            )
            node = self._node(equation.outputs, repr(equation.operation), line, operands, equation)
            for place, variable in enumerate(equation.outputs):
                operand_of[variable] = NodeOperand(node, place, recording.values[variable])
            nodes.append(node)
        results = [
            NodeOperand(None, 0, atom.value) if isinstance(atom, Literal) else operand_of[atom]
            for atom in program.outputs
        ]
        return Nodes(nodes, len(program.inputs), recording.value, results, self.seeds)

    def _node(
        self,
        variables: Sequence[Variable],
        operation: str,
        line: tuple[str, str],
        operands: tuple[NodeOperand, ...],
        equation: Equation | None,
    ) -> Node:
        space = self.space_of(variables)
        varies = any(variable in self.recording.varying for variable in variables)
        several = len(variables) > 1
        inexact = [variable for variable in variables if variable.type.inexact]

        def joined(parts: list[Any]) -> Any:
            return tuple(parts) if several else parts[0]

        tangent = covector = partial = None
        if varies and self.tangents:
            tangent = joined([self.tangents[variable] for variable in inexact])
        if varies and self.covectors:
            covector = self._joint(variables, self.covectors)
        if equation is not None and space is not None:
            partial = _partial_of(self, equation)
        nothing = (None,) * len(operands)
        sent = nothing if equation is None else self.contributions.get(equation, nothing)
        return Node(
            name=", ".join(self.names[variable] for variable in variables),
            operation=operation,
            line=line[0],
            text=line[1],
            operands=operands,
            types=tuple(variable.type for variable in variables),
            value=joined([self.recording.values[variable] for variable in variables]),
            space=space,
            varies=varies,
            tangent=tangent,
            covector=covector,
            contributions=sent,
            _partial=partial,
        )


def _partial_of(graph: _NodeGraph, equation: Equation) -> Callable[[int], LinearMap]:
    return lambda place: graph.partial(equation, place)


def _zeros(type: ArrayType) -> Any:
    tangent = tangent_type(type)
    return np.zeros(tangent.shape, tangent.dtype)[()]
