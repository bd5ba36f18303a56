"""Digests of programs: equal ones mean equal machine code, and whatever differs has another."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.arrays import array_type
from adjoint.executors import Needs
from adjoint.executors.disk.contents import (
    UnknownContentError,
    program_digest,
    value_content,
)
from adjoint.executors.native.lowering.lower import lowerable, lowered
from adjoint.loops.tapes import LENGTHS
from adjoint.optimise import bare, simplify
from adjoint.primitives import PRIMITIVES, UFUNCS, EmptySlot, Primitive
from adjoint.primitives.calls.custom import CONSTANT, Constant
from adjoint.primitives.declaration import NO_DERIVATIVE
from adjoint.primitives.elementwise.arithmetic import INTEGER_POWER
from adjoint.primitives.structure.contraction import CONTRACT
from adjoint.primitives.structure.moving import FILL, TRANSPOSE
from adjoint.primitives.structure.slicing import SLICE
from adjoint.program import Builder, Equation, Literal, Operation, Program, Variable, operation
from adjoint.transforms import jvp, vjp
from tests.cases import Case, cases
from tests.executors.native.loop_programs import checkpoint, program, random_loop, repeat, scan
from tests.executors.native.random_programs import random_program

F8, F4 = np.dtype("f8"), np.dtype("f4")
X, MATRIX = array_type((3,), F8), array_type((2, 2), F8)
ADD, SUBTRACT, SIN = (UFUNCS[ufunc] for ufunc in (np.add, np.subtract, np.sin))


OTHER_SETTINGS: dict[str, Any] = dict(
    kink=0.25, strong_zeros=False, debug=False, native=False, precise=True, threads=3, replay=False
)


# --- all primitives -------------------------------------------------------------------------------


def programs(case: Case) -> Iterator[Program]:
    """A sample, and its derivatives."""
    yield case.program
    for marks in case.choices() if case.differentiable else ():
        yield simplify(jvp(case.program, marks))
        yield simplify(vjp(case.program, marks))


def every_program() -> Iterator[Program]:
    """What can be lowered: of every primitive on every sample, and at random."""
    for primitive in PRIMITIVES.values():
        for case in [] if isinstance(primitive.samples, EmptySlot) else cases(primitive):
            yield from programs(case)
    for seed in range(60):
        yield random_program(seed, exact=False)[0]
        yield random_loop(seed)[0]


def is_lowerable(candidate: Program) -> bool:
    return all(
        not equation.primitive.opaque and lowerable(equation, False)
        for equation in candidate.equations
    )


def written_anew(whole: Program) -> Program:
    """The same program of other objects, as of other lines."""
    names: dict[Any, Any] = {variable: Variable(variable.type) for variable in whole.inputs}

    def atom(old: Any) -> Any:
        return Literal(old.value) if isinstance(old, Literal) else names[old]

    equations = []
    for number, old in enumerate(whole.equations):
        names |= {variable: Variable(variable.type) for variable in old.outputs}
        inputs, outputs = map(atom, old.inputs), [names[variable] for variable in old.outputs]
        equations.append(Equation(old.operation, [*inputs], outputs, 1000 - number, old.derived))
    return Program(map(atom, whole.inputs), equations, map(atom, whole.outputs))


def test_one_digest_is_of_one_text() -> None:
    """Whatever the settings are; and every program that can be lowered has a digest."""
    texts: dict[bytes, str] = {}
    for candidate in map(bare, every_program()):
        if is_lowerable(candidate):
            for whole, chosen in ((candidate, {}), (written_anew(candidate), OTHER_SETTINGS)):
                with ad.config(**chosen):
                    text = lowered(whole, Needs())
                if text is not None:
                    digest = program_digest(whole)
                    assert digest is not None
                    assert texts.setdefault(digest, text.text) == text.text
    assert len(texts) > 1500


# --- what differs ---------------------------------------------------------------------------------


def with_equation(whole: Program, place: int, **changes: Any) -> Program:
    """The program with one equation changed; whatever it means."""
    equations = list(whole.equations)
    old = equations[place]
    parts = {"operation": old.operation, "inputs": old.inputs, "outputs": old.outputs}
    parts |= {"origin": old.origin, "derived": old.derived} | changes
    equations[place] = Equation(**parts)
    return Program(whole.inputs, equations, whole.outputs)


def other_values(value: Any) -> Iterator[Any]:
    """Values near to one that a parameter or a literal has."""
    kind = type(value)
    if kind is bool:
        yield from (not value, int(value), float(value))
    elif kind is int:
        yield from (value + 1, -value - 1, float(value), np.int64(value), str(value), (value,))
    elif kind is float:
        yield from (
            np.nextafter(value, np.inf).item(),
            -value,
            np.float64(value),
            np.float32(value),
        )
    elif kind is str:
        yield from (value[::-1] + "x", value.encode().hex())
    elif kind is tuple:
        yield (*value, 0)
        yield from (value[:-1], (value,)) if value else ()
        for place, entry in enumerate(value):
            yield from ((*value[:place], x, *value[place + 1 :]) for x in other_values(entry))
    elif isinstance(value, np.dtype):
        yield from (np.dtype(code) for code in ("f4", "f8", "i8", ">f8") if code != value)
    elif kind is Constant:
        yield from map(Constant, (value.value + 1, -value.value, value.value.astype("f4")))
        yield Constant(value.value[None])
    elif kind is Program:
        yield from mutants(value)


def mutants(whole: Program) -> Iterator[Program]:
    """Programs that differ from one in one thing."""
    yield Program(whole.inputs, whole.equations, whole.outputs[::-1] + whole.outputs[:1])
    yield Program((*whole.inputs, Variable(X)), whole.equations, whole.outputs)
    if len({variable.type for variable in whole.inputs}) > 1:
        yield Program(whole.inputs[::-1], whole.equations, whole.outputs)
    for place, equation in enumerate(whole.equations):
        yield with_equation(whole, place, derived=not equation.derived)
        inputs = equation.inputs
        if inputs[::-1] != inputs:
            yield with_equation(whole, place, inputs=inputs[::-1])
        yield with_equation(whole, place, inputs=(*inputs, Literal(0.5)))
        for number, atom in enumerate(inputs):
            if isinstance(atom, Literal):
                for value in other_values(atom.value):
                    if isinstance(value, (int, float, np.generic)):
                        changed = (*inputs[:number], Literal(value), *inputs[number + 1 :])
                        yield with_equation(whole, place, inputs=changed)
        primitive, params = equation.primitive, equation.params
        another = PRIMITIVES["cos" if primitive.name == "sin" else "sin"]
        yield with_equation(whole, place, operation=Operation(another, params))
        for name, value in params.items():
            for other in other_values(value):
                changed_to = Operation(primitive, params | {name: other})
                yield with_equation(whole, place, operation=changed_to)


def test_whatever_is_changed_in_a_program_changes_its_digest() -> None:
    count = 0
    for whole in map(bare, every_program()):
        if is_lowerable(whole) and len(whole) < 8:
            own = program_digest(whole)
            for mutant in mutants(whole):
                if mutant != whole:  # inputs that nobody reads may be exchanged
                    assert program_digest(mutant) != own, str(mutant)
                    count += 1
    assert count > 10_000


def alone(op: Operation, *types: Any) -> Program:
    builder = Builder()
    inputs = [builder.input(type_) for type_ in types]
    return builder.build(builder.emit(op, inputs))


def of_values(*values: Any) -> Program:
    """A program with literals."""
    x = Variable(X)
    equations = [Equation(operation(ADD), (x, Literal(value)), (Variable(X),)) for value in values]
    return Program([x], equations, [equations[-1].outputs[0]])


def as_float(bits: int) -> float:
    (value,) = struct.unpack("<d", struct.pack("<Q", bits))
    return float(value)


def filled(value: Any) -> Program:
    op = Operation(FILL, {"shape": (3,), "dtype": F8, "value": value})
    return Program([], [Equation(op, (), (out := Variable(X),))], [out])


def powered(exponent: Any) -> Program:
    x, out = Variable(X), Variable(X)
    op = Operation(INTEGER_POWER, {"exponent": exponent})
    return Program([x], [Equation(op, (x,), (out,))], [out])


def held(values: Any) -> Program:
    return alone(Operation(CONSTANT, {"array": Constant(values)}))


def returned(*places: int) -> Program:
    x, y = Variable(X), Variable(X)
    one, other = Variable(X), Variable(X)
    equations = [Equation(operation(SIN), (x,), (one,)), Equation(operation(SIN), (y,), (other,))]
    return Program([x, y], equations, [(x, y, one, other)[place] for place in places])


def rolled(length: int, reverse: bool = False) -> Program:
    return scan(program(np.sin, X), length=length, reverse=reverse)


def looped(length: int | None) -> Program:
    test = program(lambda x: np.less(x, 3.0), array_type((), F8))
    return repeat(test, program(lambda x: x * 2.0, array_type((), F8)), length=length)


REAL, WEAK = array_type((), F8), array_type((), F8, True)
NEAR: dict[str, list[Program]] = {
    "zeros": [of_values(0.0), of_values(-0.0), of_values(0), of_values(False)],
    "NaN": [of_values(as_float(bits)) for bits in (0x7FF8 << 48, 0xFFF8 << 48, (0x7FF8 << 48) + 1)],
    "one": [of_values(x) for x in (1, True, 1.0, 1 + 0j, np.float64(1), np.float32(1))],
    "whole numbers": [of_values(np.int64(1)), of_values(np.int32(1)), of_values(np.bool_(True))],
    "the last bit": [of_values(0.1), of_values(np.nextafter(0.1, 1).item())],
    "which are literals": [of_values(1.0, 2.0), of_values(2.0, 1.0), of_values(1.0, 1.0)],
    "imaginary zeros": [of_values(complex(0, x)) for x in (0.0, -0.0)],
    "dtypes": [alone(operation(SIN), array_type((3,), np.dtype(x))) for x in ("f4", "f8", "c16")],
    "shapes": [alone(operation(SIN), array_type(s, F8)) for s in ((2, 3), (3, 2), (6,), (1, 6))],
    "weak": [Program([x := Variable(type_)], [], [x]) for type_ in (REAL, WEAK)],
    "order of axes": [
        alone(operation(TRANSPOSE, axes=axes), array_type((2, 2, 2), F8))
        for axes in ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0))
    ],
    "products": [
        alone(operation(CONTRACT, spec=spec), MATRIX, MATRIX)
        for spec in ("ab,bc->ac", "ab,cb->ac", "ba,bc->ac", "ab,bc->ca")
    ],
    "slices": [
        alone(operation(SLICE, index=(index,)), array_type((6,), F8))
        for index in ((0, 4, 2), (0, 3, 2), (0, 2, 1), (2, -1, -2), 0, 1)
    ],
    "operations": [alone(operation(p), X, X) for p in (ADD, SUBTRACT)],
    "outputs": [returned(*places) for places in ((2, 3), (3, 2), (2,), (2, 2), (0, 2), (1, 2))],
    "filled with": [filled(x) for x in (0.0, -0.0, 0, False, 1, True, 1.0, np.float64(1.0))],
    "exponents": [powered(x) for x in (1, True, 1.0, -1, 2, 2**70)],
    "tables": [
        held(np.array(values, dtype))
        for values, dtype in (
            ([1, 2], "i8"), ([2, 1], "i8"), ([1, 2], "i4"), ([1, 2], "f8"), ([[1, 2]], "i8"),
            ([[1], [2]], "i8"), ([0.0, 1.0], "f8"), ([-0.0, 1.0], "f8"), ([1, 2], ">i8"),
        )
    ],
    "rounds": [rolled(3), rolled(4), rolled(3, reverse=True)],
    "tapes": [looped(length) for length in (None, 8, *LENGTHS)][: 2 + len(LENGTHS)],
    "held": [checkpoint(rolled(3)), checkpoint(rolled(4)), checkpoint(checkpoint(rolled(3)))],
}  # fmt: skip


@pytest.mark.parametrize("kind", NEAR)
def test_programs_that_are_nearly_equal(kind: str) -> None:
    digests = [program_digest(near) for near in NEAR[kind]]
    assert None not in digests
    assert len(set(digests)) == len(digests)


def test_operands_that_have_changed_places() -> None:
    x, y, out = Variable(X), Variable(X), Variable(X)
    ways = [(x, y), (y, x), (x, x)]
    digests = {
        program_digest(Program([x, y], [Equation(operation(SUBTRACT), way, (out,))], [out]))
        for way in ways
    }
    assert len(digests) == 3


def test_one_loop_with_a_hole_is_not_another() -> None:
    """Parts do not run into one another: the digest can only be read in one way."""
    pairs: list[tuple[Any, Any]] = [
        ((1, (2, 3)), ((1, 2), 3)),
        (("ab", "c"), ("a", "bc")),
        (("a", "b"), ("asb",)),
        ((), ((),)),
        ((1,), 1),
        ("", None),
        (256, (0, 1)),
        ("\ud800", "?"),
    ]
    for one, other in pairs:
        assert value_content(one) != value_content(other)


# --- what is equal --------------------------------------------------------------------------------


def test_names_and_lines_do_not_count() -> None:
    for seed in range(20):
        whole = random_program(seed, exact=False)[0]
        assert program_digest(written_anew(whole)) == program_digest(whole) is not None


def test_equal_programs_that_were_written_apart() -> None:
    for seed in range(20):
        one, other = (random_loop(seed)[0] for _ in range(2))
        assert one is not other
        assert program_digest(one) == program_digest(other) is not None
    strided = np.arange(20.0).reshape(4, 5)[::2, ::-1]
    assert program_digest(held(strided)) == program_digest(held(strided.copy()))


def test_what_is_held_twice_is_digested_once() -> None:
    """Without that, each of 60 bodies that hold the next one twice would double the work."""
    body = program(np.sin, X)
    for _ in range(60):
        x, one, other = (Variable(X) for _ in range(3))
        op = Operation(PRIMITIVES["checkpoint"], {"body": body, "schedule": None})
        body = Program([x], [Equation(op, (x,), (one,)), Equation(op, (one,), (other,))], [other])
    assert program_digest(body) is not None


# --- what has none --------------------------------------------------------------------------------


class Whole(int):
    """Not quite an int."""


@pytest.mark.parametrize(
    "value",
    [
        *(object(), len, [1], {1: 2}, frozenset({1}), b"bytes", Whole(3), np.ones(2), 1.5j.__add__),
        *(
            np.longdouble(1),
            np.dtype("O"),
            np.dtype("M8[s]"),
            np.dtype([("a", "f8")]),
            np.str_("a"),
        ),
        *(np.dtype("f8", metadata={"unit": 1}), Constant(np.ma.ones(2)), slice(3), float),
    ],
)
def test_what_is_not_known_has_none(value: Any) -> None:
    for hidden in (value, (1, (value,))):
        with pytest.raises(UnknownContentError):
            value_content(hidden)
        assert program_digest(powered(hidden)) is None


def test_programs_that_are_none() -> None:
    x, y, out = Variable(X), Variable(X), Variable(X)
    sine = Equation(operation(SIN), (x,), (out,))
    assert program_digest(Program([x], [sine], [out])) is not None
    assert program_digest(Program([x, x], [sine], [out])) is None
    assert program_digest(Program([x], [sine, sine], [out])) is None
    assert program_digest(Program([x], [sine], [y])) is None
    assert program_digest(Program([x], [Equation(operation(SIN), (y,), (out,))], [out])) is None


def test_primitives_that_a_user_declares_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """What they mean is not in the sources of the package, by which machine code is kept."""
    monkeypatch.setitem(PRIMITIVES, "sin", SIN)
    impostor = object.__new__(Primitive)
    for name in Primitive.__slots__:
        setattr(impostor, name, getattr(SIN, name))
    assert program_digest(alone(Operation(SIN, {}), X)) is not None
    assert program_digest(alone(Operation(impostor, {}), X)) is None
    planted = Primitive(
        "planted for digests",
        infer=lambda x: x,
        evaluate=np.sin,
        linear=None,
        derivative=NO_DERIVATIVE,
        batch=EmptySlot("a test"),
        samples=EmptySlot("a test"),
    )
    try:
        assert program_digest(alone(operation(planted), X)) is None
    finally:
        del PRIMITIVES[planted.name]
