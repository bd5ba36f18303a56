"""What is recognised before a program is differentiated, since step by step it would go wrong.

- Even powers of a square root have the derivatives of what is under it, also at 0; so have those of
  an absolute value and of a hypotenuse (`roots.py`).
- log(b + exp(x)) and log(cosh(x)), whose slopes step by step would lose all digits
  (`logarithms.py`).
- Functions of a matrix through its eigenvectors or singular vectors (`spectral/`).

Values stay the same to the last bit; only derivatives are taken by another way.
"""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np

from adjoint.primitives.declaration import UFUNCS
from adjoint.primitives.expression import Expression
from adjoint.primitives.identities import same_as
from adjoint.program import Equation, Operation, Program
from adjoint.transforms.recognition.logarithms import LogOfSum, logarithms, with_good_slopes
from adjoint.transforms.recognition.rewriting import Makers, Replacement, Rewriting
from adjoint.transforms.recognition.roots import POWERS, ROOTS, powers_of_roots
from adjoint.transforms.recognition.spectral import (
    DECOMPOSITIONS,
    PushForward,
    functions_of_matrices,
)

_LOGARITHMS: Final = frozenset({UFUNCS[np.log], UFUNCS[np.log1p]})
_EXPONENTIALS: Final = frozenset({UFUNCS[np.exp], UFUNCS[np.cosh]})


def recognised(program: Program, push_forward: PushForward) -> Program:
    """The program with what is recognised in it, ready to be differentiated."""
    primitives = {equation.primitive for equation in program.equations}
    replacements: dict[Equation, Replacement] = {}
    operations: dict[Equation, Operation] = {}
    if not primitives.isdisjoint(DECOMPOSITIONS):
        functions, operations = functions_of_matrices(program, push_forward)
        replacements |= functions
    if not primitives.isdisjoint(ROOTS) and not primitives.isdisjoint(POWERS):
        replacements |= powers_of_roots(program)
    if not primitives.isdisjoint(_LOGARITHMS) and not primitives.isdisjoint(_EXPONENTIALS):
        sums = logarithms(Makers(program))
        replacements |= {log: partial(_with_slopes, log, terms) for log, terms in sums.items()}
    if not replacements and not operations:
        return program
    return Rewriting(program).written(replacements, operations)


def _with_slopes(equation: Equation, terms: LogOfSum, rewriting: Rewriting) -> Expression:
    """The value of a logarithm of a sum with an exponential, and slopes that keep their digits."""
    value = rewriting.expression(equation.outputs[0])
    logarithm: Expression = same_as(value, with_good_slopes(terms, rewriting.expression))
    return logarithm
