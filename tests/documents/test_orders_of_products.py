"""Products of Jacobians: the lecture's complexities, and memory of forward and reverse mode."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import adjoint as ad
from adjoint.calculus.jacobians.planning import Chain
from adjoint.calculus.jacobians.planning.operations import program_operations

RNG = np.random.default_rng(3)
SIZES = st.lists(st.integers(1, 12), min_size=2, max_size=8)


@given(SIZES)
def test_closed_forms_of_forward_reverse_and_middle(d):
    """Lecture, "Product of Jacobians": sums of d_0 d_i d_{i-1}, of d_n d_i d_{i-1}, and of both."""
    chain, n = Chain.of_matrices(d), len(d) - 1
    assert chain.forward().operations == sum(d[0] * d[i] * d[i - 1] for i in range(2, n + 1))
    assert chain.reverse().operations == sum(d[n] * d[i] * d[i - 1] for i in range(1, n))
    for k in range(1, n):
        forward = sum(d[0] * d[i] * d[i - 1] for i in range(2, k + 1))
        reverse = sum(d[n] * d[i] * d[i - 1] for i in range(k + 1, n))
        assert chain.meeting(k).operations == forward + reverse + d[n] * d[k] * d[0]
    if n > 1:
        assert chain.middle.operations == min(chain.meeting(k).operations for k in range(1, n))


def chain(count, size=6):
    """A composition of `count` functions, each a matrix and a smooth function."""
    matrices = RNG.normal(size=(count, size, size)) / size

    def function(x):
        for matrix in matrices:
            x = np.sin(matrix @ x)
        return x

    return function


@pytest.mark.parametrize("sizes", [(5, 4, 3, 2, 1), (1, 2, 3, 4, 5), (4, 4, 4, 4)])
def test_modes_for_narrowing_and_widening_chains(sizes):
    """Lecture, "Which mode": reverse where the sizes fall, forward where they rise."""
    d = Chain.of_matrices(sizes)
    if sizes[0] > sizes[-1]:
        assert d.optimal.operations == d.reverse().operations < d.forward().operations
    elif sizes[0] < sizes[-1]:
        assert d.optimal.operations == d.forward().operations < d.reverse().operations
    else:
        assert d.optimal.operations == d.forward().operations == d.reverse().operations


@given(st.lists(st.integers(2, 30), min_size=2, max_size=7))
def test_a_network_takes_reverse_mode(widths):
    """Lecture, "What about neural networks?": the loss is one number, so reverse mode is best.

    Where no layer has width 1: abc + ac >= ab + bc for a, c >= 2, so no product that leaves out the
    loss pays.
    """
    d = Chain.of_matrices([*widths, 1])
    assert d.optimal.operations == d.reverse().operations


def test_operations_of_derivatives_are_a_small_multiple():
    """After E.1.60, and lecture: a JVP takes a small multiple of the function, so does a VJP."""
    view = ad.program(chain(20), np.ones(6))
    itself = program_operations(view.program)
    assert program_operations(view.jvp().program) <= 3 * itself
    assert program_operations(view.vjp().program) <= 3 * itself


def held(view):
    """The most numbers held at once while a program runs, everything freed after its last use."""
    program = view.program
    last = {}
    for number, equation in enumerate(program.equations):
        last.update((atom, number) for atom in equation.inputs)
    last.update((atom, len(program.equations)) for atom in program.outputs)
    size = peak = 0
    ending = {}
    for number, equation in enumerate(program.equations):
        for variable in equation.outputs:
            size += variable.type.size
            place = last.get(variable, number)
            ending[place] = ending.get(place, 0) + variable.type.size
        peak = max(peak, size)
        size -= ending.pop(number, 0)
    return peak


def test_memory_of_forward_and_reverse_mode():
    """Lecture: that of forward mode stays as it is, that of reverse mode grows with the length."""
    forward, reverse = [], []
    for count in (10, 20, 40):
        view = ad.program(chain(count), np.ones(6))
        forward.append(held(view.jvp()))
        reverse.append(held(view.vjp()))
    assert forward[0] == forward[1] == forward[2] <= 6 * 6
    assert np.all(np.diff(reverse) >= 6 * np.array([10, 20]))


def test_a_jacobian_by_columns_and_by_rows():
    """Lecture, "How can we compute the full Jacobian?": JVPs along e_j, or VJPs along e_i."""
    function, x = chain(3), np.ones(6)
    jacobian = ad.jacobian(function)(x)
    columns = [ad.jvp(function, (x,), (e,))[1] for e in np.eye(6)]
    pullback = ad.vjp(function, x)[1]
    np.testing.assert_allclose(np.stack(columns, axis=1), jacobian, rtol=1e-13)
    np.testing.assert_allclose([pullback(e)[0] for e in np.eye(6)], jacobian, rtol=1e-13)


def test_sizes_of_a_chain_are_those_that_cross():
    sizes = (5, 3, 7, 2)
    weights = [RNG.normal(size=(after, before)) for before, after in pairwise(sizes)]

    def function(x):
        for weight in weights:
            x = weight @ x
        return x

    assert ad.plan(function, np.ones(5)).sizes == sizes
