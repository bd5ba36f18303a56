"""What a declaration must say, and what registration refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adjoint.base.arrays import array_type
from adjoint.base.errors import MissingRuleError, ProgramError
from adjoint.primitives import PRIMITIVES, UFUNCS, EmptySlot, Itself, Primitive, find_special
from adjoint.primitives.declaration import Each, FromDerivative, Joint
from adjoint.primitives.special.declaring import SPECIAL
from adjoint.primitives.structure.moving import FILL
from adjoint.program import Builder, operation
from adjoint.transforms import jvp

SLOTS: dict[str, Any] = {
    "infer": lambda x: x,
    "evaluate": lambda x: x,
    "linear": None,
    "derivative": EmptySlot("a test"),
    "transpose": EmptySlot("a test"),
    "batch": EmptySlot("a test"),
    "taylor": EmptySlot("a test"),
}


def test_a_primitive_without_samples_is_refused() -> None:
    with pytest.raises(ProgramError, match="'untried' has no sample inputs"):
        Primitive("untried", **SLOTS, samples=())
    assert "untried" not in PRIMITIVES


def test_a_second_primitive_of_the_same_name_is_refused() -> None:
    with pytest.raises(ProgramError, match="'sin' exists already"):
        Primitive("sin", **SLOTS, samples=PRIMITIVES["sin"].samples)


@pytest.mark.parametrize("primitive", PRIMITIVES.values(), ids=lambda primitive: primitive.name)
def test_every_slot_holds_a_rule_or_a_reason(primitive: Primitive) -> None:
    for slot in ("derivative", "transpose", "batch", "taylor"):
        value = getattr(primitive, slot)
        assert callable(value) or isinstance(value, EmptySlot | Itself | FromDerivative), slot
        assert not isinstance(value, EmptySlot) or value.text
    assert isinstance(primitive.taylor, EmptySlot) == isinstance(primitive.derivative, EmptySlot)
    assert primitive.samples
    assert (primitive.linear is not None) or not isinstance(primitive.derivative, Itself)
    if primitive.linear is not None:
        assert callable(primitive.transpose), "a linear primitive states its transpose"


@pytest.mark.parametrize("primitive", PRIMITIVES.values(), ids=lambda primitive: primitive.name)
def test_the_registries_agree(primitive: Primitive) -> None:
    assert PRIMITIVES[primitive.name] is primitive
    if primitive.ufunc is not None:
        assert UFUNCS[primitive.ufunc] is primitive
    constructor, arguments = primitive.__reduce__()
    assert constructor(*arguments) is primitive
    assert repr(primitive) == f"<primitive {primitive.name}>"


def test_an_empty_slot_says_why() -> None:
    with pytest.raises(MissingRuleError, match="'fill' has no batch rule: it has no operands"):
        FILL.rule("batch")


def test_an_argument_without_a_derivative_is_an_error_not_a_zero() -> None:
    builder = Builder()
    type_ = array_type((2,), np.dtype(float))
    inputs = [builder.input(type_), builder.input(type_)]
    program = builder.build(builder.emit(operation(PRIMITIVES["zeta"]), inputs))
    assert len(jvp(program, (False, True)).equations) > 1
    with pytest.raises(MissingRuleError, match=r"'zeta' .+ in its argument 0"):
        jvp(program, (True, False))


# What decides on clusters and zeros of a spectrum: constant where they are told apart.
_DECIDING = frozenset({"cluster_mean", "singular_slope", "completed_basis"})


def test_samples_that_exempt_an_operand_are_right_to() -> None:
    for primitive in PRIMITIVES.values():
        if primitive.name in _DECIDING:
            continue
        for sample in () if isinstance(primitive.samples, EmptySlot) else primitive.samples:
            for place in sample.constant:
                builder = Builder()
                generator = np.random.default_rng(0)
                arrays = [operand.array(generator) for operand in sample.operands]
                inputs = [
                    builder.input(array_type(np.shape(a), np.asarray(a).dtype)) for a in arrays
                ]
                op = operation(primitive, **sample.params)
                program = builder.build(builder.emit(op, inputs))
                with pytest.raises(MissingRuleError):
                    jvp(program, [number == place for number in range(len(inputs))])


def test_results_have_memory_of_their_own_unless_they_are_declared_views() -> None:
    """What dies is overwritten: nothing else may refer to it, and it must be writeable."""
    generator = np.random.default_rng(0)
    for primitive in PRIMITIVES.values():
        for sample in () if isinstance(primitive.samples, EmptySlot) else primitive.samples:
            arrays = [operand.array(generator) for operand in sample.operands]
            found = primitive.evaluate(*arrays, **sample.params)
            for result in found if primitive.multiple else (found,):
                if isinstance(result, np.ndarray) and result.ndim and not primitive.view:
                    assert result.flags.writeable, primitive
                    assert not any(np.may_share_memory(result, each) for each in arrays), primitive


def test_where_a_primitive_is_linear() -> None:
    assert Joint().allows((True, True))
    assert Joint(frozenset({1, 2})).allows((False, True, True))
    assert not Joint(frozenset({1, 2})).allows((True, True, False))
    assert Each().allows((False, True))
    assert not Each().allows((True, True))
    assert not Each(frozenset({0})).allows((False, True))


def test_special_functions_are_found_by_the_ufunc() -> None:
    special = pytest.importorskip("scipy.special")
    assert find_special(special.expit) is SPECIAL["expit"]
    assert UFUNCS[special.expit] is SPECIAL["expit"]
    assert find_special(np.sin) is None
    assert find_special(np.frompyfunc(special.jv, 2, 1)) is None


def test_companions_name_each_other() -> None:
    named = {name: p.companion for name, p in PRIMITIVES.items() if p.companion is not None}
    assert named.keys() >= {"sin", "cos"}
    assert all(named[companion] == name for name, companion in named.items())
