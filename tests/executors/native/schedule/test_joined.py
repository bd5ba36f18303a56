"""What is joined into an output is written there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import adjoint as ad
from adjoint.executors.interface import Needs
from adjoint.executors.native.lowering.lower import native
from adjoint.optimise import bare

RANDOM = np.random.default_rng(0)
A, B, C = (RANDOM.normal(size=shape) for shape in ((40, 30), (30, 40), (17,)))


def _block_and_rest(a: Any, b: Any, c: Any) -> Any:
    return np.concatenate([(a @ b).ravel(), 2.0 * c])


def _rest_and_block(a: Any, b: Any, c: Any) -> Any:
    return np.concatenate([c, np.exp(c), (a @ b).ravel()])


def _stacked(a: Any, b: Any, c: Any) -> Any:
    return np.stack([a @ b, b.T @ a.T, (a @ b) * c[0]])


def _the_same_twice(a: Any, b: Any, c: Any) -> Any:
    product = a @ b
    return np.concatenate([product, product])


def _read_again(a: Any, b: Any, c: Any) -> Any:
    product = a @ b
    joined = np.concatenate([product, c[:, None] + product[:17]])
    return joined, product.sum(0), product @ product


def _in_two_outputs(a: Any, b: Any, c: Any) -> Any:
    product = a @ b
    return np.concatenate([product.ravel(), c]), np.concatenate([c, product.ravel()])


def _across(a: Any, b: Any, c: Any) -> Any:
    return np.concatenate([a @ b, (a @ b)[:, :17] * c], axis=1)


def _overwritten(a: Any, b: Any, c: Any) -> Any:
    out = np.concatenate([(a @ b).ravel(), c])
    out[3:20] = c
    return out, (a @ b)[0]


def _joined_again(a: Any, b: Any, c: Any) -> Any:
    first = np.concatenate([(a @ b).ravel(), c])
    return np.concatenate([first, c]), first


def _of_single_numbers(a: Any, b: Any, c: Any) -> Any:
    return np.stack([np.sum(a @ b), c[0], np.max(c)])


def _of_another_type(a: Any, b: Any, c: Any) -> Any:
    return np.concatenate([(a @ b).ravel().astype(np.float32), c])


def _turned(a: Any, b: Any, c: Any) -> Any:
    return np.concatenate([(a @ b).T.ravel(), c, (a @ b)[::-1].ravel()])


def _apart(a: Any, b: Any, c: Any) -> Any:
    whole = np.tanh(a @ b).ravel()
    return np.concatenate([whole[:700], c, whole[700:]])


def _a_slice(a: Any, b: Any, c: Any) -> Any:
    whole = np.tanh(a @ b)
    return np.concatenate([whole[:30], c[:, None] + whole[:17], whole[30:35]])


def _a_stacked_row(a: Any, b: Any, c: Any) -> Any:
    whole = np.tanh(a @ b)
    return np.stack([whole[0], whole[3], c[0] + whole[5], whole[7]])


def _convolved(a: Any, b: Any, c: Any) -> Any:
    return np.convolve(c, np.sin(c)), np.convolve(b.ravel(), c)


@pytest.mark.parametrize(
    "function",
    [
        *[_block_and_rest, _rest_and_block, _stacked, _the_same_twice, _read_again],
        *[_in_two_outputs, _across, _overwritten, _joined_again, _of_single_numbers],
        *[_of_another_type, _turned, _apart, _a_slice, _a_stacked_row, _convolved],
    ],
)
def test_numbers_are_those_of_numpy(function: Any) -> None:
    jitted = ad.jit(function)
    for scale in (1.0, -3.0):
        given = scale * A, B, scale * C
        got, expected = jitted(*given), function(*given)
        pairs = (
            zip(got, expected, strict=True) if isinstance(expected, tuple) else [(got, expected)]
        )
        for one, other in pairs:
            assert one.dtype == other.dtype
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("function", [_block_and_rest, _rest_and_block])
def test_a_block_of_an_output_is_nowhere_else(function: Any) -> None:
    made = native(bare(ad.program(function, A, B, C).program), Needs())
    assert made is not None
    assert made.workspace_bytes < 8 * 40 * 40


def test_its_derivative_with_threads_and_in_a_loop() -> None:
    def rounds(a: Any, b: Any, c: Any) -> Any:
        for _ in range(12):
            joined = np.concatenate([np.tanh(a @ b).ravel(), c])
            a = a + 1e-3 * joined[: a.size].reshape(a.shape)
        return joined, np.sum(a * a)

    with ad.config(native=False):
        expected = rounds(A, B, C)[1], ad.grad(lambda a: rounds(a, B, C)[1])(A)
    for threads in (1, 2):
        with ad.config(threads=threads):
            got = ad.jit(rounds)(A, B, C)[1], ad.jit(ad.grad(lambda a: rounds(a, B, C)[1]))(A)
        for one, other in zip(got, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-10)
