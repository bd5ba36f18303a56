"""`ad.jit(f, shard={...})`: arguments divided among devices, results as on one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import ArgumentError, ArgumentTypeError, RowsError
from tests.executors.xla.simulated import run_on_devices

jax = pytest.importorskip("jax", reason="XLA is not tested: jax is not installed (extra `xla`)")

X, Y, W = np.ones((6, 3)), np.ones(6), np.ones(3)


def loss(w: Any, x: Any, y: Any) -> Any:
    return np.mean((np.tanh(x @ w) - y) ** 2)


SUMMED_ONCE = """
import numpy as np, adjoint as ad
from adjoint.executors.xla.executable import XlaExecutable
from tests.calculus.test_jit_sharding import loss

random = np.random.default_rng(0)
w, x, y = random.normal(size=20), random.normal(size=(4000, 20)), random.normal(size=4000)
expected, ran, before = ad.grad(loss)(w, x, y), [], XlaExecutable._run_flagged

def noted(self, given, bound):
    ran.append((self, (*given, *bound.values)))
    return before(self, given, bound)

XlaExecutable._run_flagged = noted
for names in ({"x": 0, "y": 0}, {1: 0, 2: -1}):
    slope = ad.jit(ad.grad(loss), shard=names)
    first = slope(w, x, y=y)
    for _ in range(3):
        found = slope(w, x, y=y)
        assert type(found) is np.ndarray
        assert found.tobytes() == first.tobytes()
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    executable, given = ran[-1]
    text = executable.compiled_text(*given)
    assert text.count(" all-reduce(") + text.count(" all-reduce-start(") == 1, text
    assert len({x.devices for x in given if type(x) is ad.DeviceArray}.pop()) == count
    stays = slope(ad.device_put(w, "cpu"), x, y)
    assert type(stays) is ad.DeviceArray
    np.testing.assert_allclose(np.asarray(stays), expected, rtol=1e-12)
"""


@pytest.mark.parametrize("count", [4, 8])
def test_a_gradient_is_summed_over_devices_once(count: int) -> None:
    run_on_devices(SUMMED_ONCE, count)


CHOSEN = """
import jax, numpy as np, adjoint as ad
from tests.calculus.test_jit_sharding import loss

def fit(data, w=np.ones(3), *, label="a"):
    return loss(w, data["x"], data["y"]) * data.get("scale", 1.0), label

x, y = np.arange(24.0).reshape(8, 3) / 24, np.ones(8)
mesh = jax.sharding.Mesh(np.array(jax.devices()[2:]), ("rows",))
for device in (None, "cpu", ["cpu:1", "cpu:3"], mesh):
    value = ad.jit(fit, shard={"data": 0}, device=device)
    for _ in range(3):
        assert abs(value({"x": x, "y": y})[0] - fit({"x": x, "y": y})[0]) < 1e-14
        assert value(data={"x": x, "y": y}, label="b")[1] == "b"
    scaled = ad.jit(fit, shard={"data": {"x": 0, "y": 0, "scale": None}}, device=device)
    assert abs(scaled({"x": x, "y": y, "scale": 2.0})[0] - 2 * fit({"x": x, "y": y})[0]) < 1e-14

hessian = ad.jit(ad.hessian(loss), shard={"x": 0, "y": 0}, device=["cpu:1", "cpu:3"])
for _ in range(3):
    np.testing.assert_allclose(
        hessian(np.ones(3), x, y), ad.hessian(loss)(np.ones(3), x, y), rtol=1e-12
    )
outer = ad.jit(lambda w: value({"x": x, "y": y}, w)[0] ** 2)  # inside of a capture: as it is
np.testing.assert_allclose(outer(np.ones(3)), fit({"x": x, "y": y}, np.ones(3))[0] ** 2)
rows = ad.jit(lambda x: np.tanh(x), shard={"x": 0})
for _ in range(3):
    np.testing.assert_array_equal(rows(x).shape, (8, 3))

def refused(error, words, call):
    try:
        call()
    except error as raised:
        assert words in str(raised), raised
    else:
        raise AssertionError(words)

arguments, both = ad.errors.ArgumentError, {"x": 0, "y": 0}
divided = ad.jit(ad.grad(loss), shard=both)
refused(arguments, "6, of argument 'x', cannot be divided among 4 devices: leave some rows",
        lambda: divided(np.ones(3), x[:6], y[:6]))
refused(arguments, "device='cpu:1' is one", lambda: ad.jit(loss, shard=both, device="cpu:1"))
refused(arguments, "each once", lambda: ad.jit(loss, shard=both, device=["cpu:1", "cpu:1"]))
refused(arguments, "there are 4 of its kind", lambda: ad.jit(loss, shard=both, device=["cpu:9"]))
square = jax.sharding.Mesh(np.array(jax.devices()).reshape(2, 2), ("a", "b"))
refused(arguments, "mesh with 2 axes", lambda: ad.jit(loss, shard=both, device=square))
some = ad.jit(loss, shard={"x": 0}, device=["cpu:0", "cpu:1"])
some(np.ones(3), x, y)
refused(arguments, "divided among different devices",
        lambda: some(np.ones(3), x, ad.device_put(y, "cpu", shard=0)))
"""


def test_devices_trees_and_what_is_refused() -> None:
    run_on_devices(CHOSEN, 4)


@pytest.mark.parametrize(
    ("shard", "error", "words"),
    [
        ({"z": 0}, ArgumentError, "'z', and loss has w, x, y"),
        ({"x": 2}, ArgumentError, r"no axis of argument 'x' of shape \(6, 3\). Give None"),
        ({1: -3}, ArgumentError, r"no axis of argument 1 of shape"),
        ({"x": {"a": 0, "b": 0}}, ArgumentError, "does not fit the structure of argument 'x'"),
        ({}, ArgumentTypeError, "must be a dict of axes"),
        (0, ArgumentTypeError, "must be a dict of axes"),
        ({"x": "rows"}, ArgumentTypeError, "must be the number of an axis"),
        ({"x": True}, ArgumentTypeError, "must be the number of an axis"),
        ({-1: 0}, ArgumentTypeError, "by numbers from 0 on"),
        ({"x": 0, 1: 1}, ArgumentError, "names argument 'x' once more, as 1"),
        ({7: 0}, ArgumentError, "divides argument 7, which this call does not give"),
    ],
)
def test_wrong_axes_and_names(shard: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        ad.jit(ad.grad(loss), shard=shard, device="cpu")(W, X, Y)


def test_numbers_have_no_axis_and_text_is_passed_on() -> None:
    scaled = ad.jit(lambda data, x: x * data["a"], shard={"data": 0}, device="cpu")
    with pytest.raises(ArgumentError, match=r"no axis of argument 'data'\['a'\]"):
        scaled({"a": 2.0}, X)
    named = ad.jit(lambda data, x: (data, x * 2), shard={"data": 0}, device="cpu")
    assert named("a", 3.0) == ("a", 6.0)


def test_rows_and_wrong_devices() -> None:
    divided = ad.jit(lambda x: np.sum(x), shard={"x": 0}, device="cpu")
    with pytest.raises(RowsError, match="of which some rows are read at a time"):
        divided(ad.rows(X, chunk=2))
    with pytest.raises(ArgumentTypeError, match="a list of names"):
        ad.jit(loss, shard={"x": 0}, device=3)
    with pytest.raises(ArgumentTypeError, match="device must be a name"):
        ad.jit(loss, device=["cpu:0"])


def test_arguments_of_functions_that_do_not_say_their_names() -> None:
    by_number = ad.jit(lambda *data: np.sum(data[0] * data[1]), shard={1: 0}, device="cpu")
    assert by_number(X, X) == 18
    by_name = ad.jit(lambda **data: np.sum(data["x"]), shard={"x": 0}, device="cpu")
    assert by_name(x=X) == 18
