"""Programs on XLA as users meet them: results, errors and warnings as NumPy's, and devices."""

from __future__ import annotations

import os
import pickle
import socket
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest
import scipy

import adjoint as ad
from adjoint.base.errors import (
    ArgumentError,
    ArgumentTypeError,
    ProgramError,
    XlaUnavailableError,
)
from adjoint.executors import XlaExecutor
from adjoint.executors.interface import PLAIN
from adjoint.executors.xla.backend import check_version
from adjoint.executors.xla.executable import LoweredProgram, XlaExecutable
from adjoint.executors.xla.rules import RULES
from adjoint.optimise import bare
from tests.executors.xla.simulated import run_on_devices

jax = pytest.importorskip("jax", reason="XLA is not tested: jax is not installed (extra `xla`)")

X = np.linspace(0.1, 1.5, 6)


def on_xla(function: Any, **options: Any) -> Any:
    return ad.jit(function, device="cpu", **options)


def wave(x: Any) -> Any:
    return np.sum(np.sin(x) * x + np.exp(-(x**2))) / np.linalg.norm(x)


def test_gradients_jacobians_and_hessians_are_those_of_numpy() -> None:
    for transform in (ad.grad, ad.hessian, lambda f: ad.jacobian(lambda x: np.cumsum(x) * f(x))):
        expected = transform(wave)(X)
        np.testing.assert_allclose(on_xla(transform(wave))(X), expected, rtol=1e-12, atol=1e-14)


def test_un_jitted_programs_run_there_too() -> None:
    executor = XlaExecutor("cpu")
    with ad.config(executor=executor, native=True):
        for _ in range(4):
            found = ad.grad(wave)(X)
    np.testing.assert_allclose(found, ad.grad(wave)(X), rtol=1e-12)


@pytest.mark.parametrize(
    ("function", "argument", "error"),
    [
        (lambda a: np.sum(np.linalg.solve(a, np.ones(2))), np.zeros((2, 2)), np.linalg.LinAlgError),
        (lambda a: np.sum(np.linalg.cholesky(a)), -np.eye(2), np.linalg.LinAlgError),
        (lambda x: x[np.array([0, 9])].sum(), X, IndexError),
    ],
)
def test_errors_are_those_of_numpy(function: Any, argument: Any, error: type[Exception]) -> None:
    with pytest.raises(error) as plain:
        function(argument)
    jitted = on_xla(function)
    for _ in range(2):
        with pytest.raises(error) as found:
            jitted(argument)
        assert str(found.value) == str(plain.value)


def test_an_error_at_a_later_call_is_the_users_too() -> None:
    slope = ad.grad(lambda a: np.sum(np.linalg.solve(a, np.ones(2))))
    solved = on_xla(slope)
    for _ in range(2):
        np.testing.assert_allclose(solved(np.eye(2)), slope(np.eye(2)))
        with pytest.raises(np.linalg.LinAlgError):
            solved(np.zeros((2, 2)))


def test_numpy_warns_of_what_is_infinite() -> None:
    jitted = on_xla(lambda x: np.sum(np.log(x)))
    assert jitted(X) == pytest.approx(np.sum(np.log(X)))
    with pytest.warns(RuntimeWarning, match="divide by zero encountered in log"):
        assert jitted(0 * X) == -np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert jitted(np.full(6, np.inf)) == np.inf  # of infinite data nobody is warned


def test_hard_zeros_win_over_infinite_slopes() -> None:
    slope = ad.grad(lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0.0)))
    at = np.array([0.0, 4.0])
    np.testing.assert_array_equal(on_xla(slope)(at), slope(at))


def test_loops_whose_rounds_depend_on_values() -> None:
    def halved(x: Any) -> Any:
        def step(state: Any) -> Any:
            return state[0] / 2, state[1] + state[0] ** 2

        return ad.while_loop(lambda state: state[0] > 0.01, step, (x, 0.0))[1]

    slope, expected = on_xla(ad.grad(halved)), ad.grad(halved)
    for x in (1.0, 1e3, 1e9):  # of more and more rounds, beyond the first tape
        assert slope(x) == pytest.approx(float(expected(x)))


def test_branches_are_followed() -> None:
    def bent(x: Any) -> Any:
        return x**2 if x > 1 else 3 * x

    slope = on_xla(ad.grad(bent))
    assert [float(slope(x)) for x in (0.5, 2.0, 0.25, 3.0)] == [3.0, 4.0, 3.0, 6.0]


def test_results_have_memory_of_their_own() -> None:
    large = np.zeros((300, 300))
    jitted = on_xla(lambda x: (x, x, x + 1))
    one, other, more = jitted(large)
    one += 1
    more += 5
    assert large.max() == other.max() == 0
    assert (jitted(large)[2] == 1).all()


def test_jax_is_left_as_it_was() -> None:
    on_xla(ad.grad(wave))(X)
    assert not jax.config.jax_enable_x64
    assert jax.numpy.ones(2).dtype == np.float32


def test_first_results_are_compared_with_numpys_in_debug_mode(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with ad.config(debug=True):
        jitted = on_xla(ad.grad(wave))
        for _ in range(3):
            np.testing.assert_allclose(jitted(X), ad.grad(wave)(X), rtol=1e-12)
        before = RULES["sin"]
        monkeypatch.setitem(RULES, "sin", lambda *given: 1.001 * before(*given))
        ad.cache_clear()
        with pytest.raises(ProgramError, match="is not what NumPy computes"):
            on_xla(lambda x: np.sin(x) * 2)(X)


def test_what_runs_on_the_host_is_named() -> None:
    program = bare(ad.program(lambda x: ad.scipy.special.jv(1.5, x), X).program)
    device = XlaExecutor("cpu").device
    (left,) = LoweredProgram(program, PLAIN, device).left
    assert left.equation.startswith("jv of")
    assert XlaExecutor("cpu").compile(program) is None  # NumPy runs it as a whole
    executable = XlaExecutable(LoweredProgram(program, PLAIN, device))
    assert executable.report().left == (left,)
    assert "HloModule" in executable.report().source
    np.testing.assert_array_equal(executable.run(X, 1.5)[0], scipy.special.jv(1.5, X))  # type: ignore[index]


def test_an_error_on_the_host_ends_a_loop() -> None:
    @ad.primitive(result=lambda x: x)
    def doubled(x: Any) -> Any:
        if np.asarray(x) > 100:
            raise ValueError("too large")
        return np.asarray(x) * 2.0

    def until(x: Any, more: Any) -> Any:
        def step(state: Any) -> Any:
            return doubled(state[0] + state[1]), state[1]

        return ad.while_loop(lambda state: state[0] < 90.0, step, (x, more))[0]

    program = bare(ad.program(until, np.float64(1.5), np.float64(0.0)).program)
    executable = XlaExecutable(LoweredProgram(program, PLAIN, XlaExecutor("cpu").device))
    assert executable.run(np.float64(1.5), np.float64(0.0), 90.0) == (until(1.5, 0.0),)
    assert executable.run(np.float64(1.5), np.float64(150.0), 90.0) is None
    with pytest.raises(ValueError, match="too large"):
        on_xla(until)(1.5, 150.0)


@pytest.mark.parametrize(
    ("function", "argument"),
    [
        (lambda x: np.floor(np.log2(x)), 2.0 ** np.arange(-60, 60)),
        (np.exp2, np.arange(-50.0, 50.0)),
        (lambda x: np.log2(x) * 1e9, 1 + np.linspace(-1e-6, 1e-6, 9)),
        (lambda x: np.heaviside(x, 0.5), np.array([np.nan, -1.0, 0.0, 2.0])),
        (np.sqrt, np.array([-1 - 0.0j, complex(-1, -0.0), complex(-4, 0.0), 3 + 4j])),
        (np.arccosh, np.array([complex(-1, -0.0), complex(-1, 0.0)])),
        (lambda x: x**0.5, np.array([complex(-1, -0.0), complex(-1, 0.0)])),
        (lambda x: x // 0.0, np.array([1.0, -1.0, np.inf])),
        (lambda x: np.uint8(x) if np.ndim(x) == 0 else x.astype(np.uint8), np.array([-1.5, 300.7])),
    ],
)
def test_edges_are_those_of_numpy(function: Any, argument: Any) -> None:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = function(argument)
        for _ in range(2):
            found = on_xla(function)(argument)
            np.testing.assert_allclose(found, expected, rtol=1e-14)
            assert found.dtype == expected.dtype


def test_whole_numbers_of_python_do_not_wrap() -> None:
    added = on_xla(lambda x, n: x + n)
    small = np.arange(3, dtype=np.uint8)
    np.testing.assert_array_equal(added(small, 3), small + 3)
    for number in (300, -1):
        for _ in range(2):
            with pytest.raises(OverflowError):
                added(small, number)


def test_wrong_devices_are_named() -> None:
    with pytest.raises(ArgumentError, match="there are 1 of its kind"):
        ad.jit(wave, device="cpu:9")
    with pytest.raises(ArgumentError, match="maybe with a number"):
        ad.jit(wave, device="cpu:one")
    with pytest.raises(XlaUnavailableError, match="JAX has found"):
        ad.jit(wave, device="tpu")
    with pytest.raises(ArgumentTypeError, match="device must be a name"), ad.config(device=3):  # type: ignore[typeddict-item]
        pass
    with pytest.raises(ArgumentError, match="no executor 'cuda'"), ad.config(executor="cuda"):
        pass


@pytest.mark.parametrize("version", ["0.10.2", "0.11.0", "0.4.1"])
def test_versions_that_are_wrong_are_refused(version: str) -> None:
    with pytest.raises(XlaUnavailableError, match=version):
        check_version(version)
    check_version("0.10.1")
    check_version("0.12.0.1")
    check_version("0.13.0.dev20270101")


# --- arrays that stay there -----------------------------------------------------------------------


def test_arrays_stay_on_the_device() -> None:
    at = ad.device_put({"x": X, "name": "a"}, "cpu")
    assert at["name"] == "a"
    slope = on_xla(ad.grad(wave))
    for _ in range(3):
        found = slope(at["x"])
        assert type(found) is ad.DeviceArray
        np.testing.assert_allclose(np.asarray(found), ad.grad(wave)(X), rtol=1e-12)
    further = at["x"] - 0.1 * found
    assert type(further) is ad.DeviceArray
    np.testing.assert_allclose(np.asarray(further), X - 0.1 * np.asarray(found))
    assert np.sum(at["x"]) == pytest.approx(X.sum())
    np.testing.assert_array_equal(np.asarray(at["x"][1:3]), X[1:3])
    np.testing.assert_array_equal(np.from_dlpack(at["x"]), X)
    assert (at["x"].shape, at["x"].size, at["x"].nbytes, len(at["x"])) == ((6,), 6, 48, 6)
    assert at["x"].devices == ("cpu:0",)
    assert "cpu:0" in repr(at["x"])


def test_un_jitted_gradients_take_them() -> None:
    x = ad.device_put(X, "cpu")
    for _ in range(4):
        np.testing.assert_allclose(np.asarray(ad.grad(wave)(x)), ad.grad(wave)(X), rtol=1e-12)


def test_they_have_memory_of_their_own() -> None:
    for _ in range(5):
        array = np.ones(200_000)
        there = ad.device_put(array, "cpu")
        array[:] = 2
        assert np.asarray(there).max() == 1


def test_arrays_of_a_closure_are_put_there_once_and_stay_as_they_are() -> None:
    held = np.arange(90_000.0).reshape(300, 300)
    expected = held.copy()
    jitted = on_xla(lambda x: (held, held * x, held))
    for x in (2.0, ad.device_put(np.full(300, 2.0), "cpu")):
        for _ in range(4):
            one, two, other = map(np.asarray, jitted(x))
            np.testing.assert_array_equal(two, 2 * expected)
            np.testing.assert_array_equal(one, expected)
            if one.flags.writeable:
                one += 1
            np.testing.assert_array_equal(other, expected)
    held[0] = 7.0  # as it is compared at each call
    for _ in range(3):
        np.testing.assert_array_equal(np.asarray(jitted(2.0)[1])[0], np.full(300, 14.0))
    wrong = on_xla(lambda x: np.sum(np.log(held - 7.0) * x))
    for _ in range(3):
        with pytest.warns(RuntimeWarning, match="divide by zero|invalid value"):
            wrong(1.0)


def test_they_are_numbers_where_they_have_one_entry() -> None:
    x = ad.device_put(np.array([0.0]), "cpu")
    assert not x
    assert not x > 1
    assert (float(x[0]), int(x[0]), complex(x[0])) == (0.0, 0, 0j)
    with pytest.raises(ValueError, match="ambiguous"):
        bool(ad.device_put(X, "cpu") > 5)


def test_they_are_pickled_with_all_digits() -> None:
    for array in (np.array([2**40 + 1]), X, np.array([1j])):
        there = pickle.loads(pickle.dumps(ad.device_put(array, "cpu")))
        np.testing.assert_array_equal(np.asarray(there), array)
        assert there.dtype == array.dtype


def test_infinite_results_of_them_are_numpys() -> None:
    jitted, x = on_xla(lambda x: np.log(x - 1)), ad.device_put(np.ones(3), "cpu")
    for _ in range(3):
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            assert np.isneginf(np.asarray(jitted(x))).all()


@pytest.mark.parametrize(
    "write",
    [
        lambda h, x: np.copyto(h, x),
        lambda h, x: np.add.at(h, [0, 1], x[:2]),
        lambda h, x: np.concatenate([x], out=h),
        lambda h, x: np.sum(x, 0, None, h[:1]),
        lambda h, x: np.clip(x, 0, 1, h),
        lambda h, x: np.put(h, [0], x[:1]),
        lambda h, x: np.nan_to_num(x, copy=False),
    ],
)
def test_nothing_is_written_and_lost(write: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="writes into an array"):
        write(np.zeros(6), ad.device_put(X, "cpu"))


def test_they_are_not_written_into() -> None:
    x = ad.device_put(X, "cpu")
    with pytest.raises(ArgumentTypeError, match="writes into an array"):
        np.add(x, x, out=np.zeros(6))
    with pytest.raises(TypeError):
        x[0] = 1.0


FORKED = """
import os, warnings
import numpy as np, adjoint as ad

warnings.simplefilter("ignore")
jitted = ad.jit(lambda x: np.sum(np.sin(x) ** 2), device="cpu")
x, expected = np.ones(3), jitted(np.ones(3))
child = os.fork()
if not child:
    np.testing.assert_allclose(jitted(x), expected)  # by NumPy
    try:
        ad.device_put(x)
    except ad.errors.XlaUnavailableError as error:
        assert "forked" in str(error)
        os._exit(0)
    os._exit(1)
assert os.waitpid(child, 0)[1] == 0
assert jitted(x) == expected
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_a_forked_process_goes_on_without_it() -> None:
    run = subprocess.run(
        [sys.executable, "-c", FORKED], capture_output=True, text=True, check=False, timeout=120
    )
    assert run.returncode == 0, run.stderr


DIVIDED = """
import numpy as np, adjoint as ad
from adjoint.executors import XlaExecutor

def loss(w, x, y):
    return np.mean((np.tanh(x @ w) - y) ** 2)

random = np.random.default_rng(0)
w, x, y = random.normal(size=20), random.normal(size=(4000, 20)), random.normal(size=4000)
slope, expected = ad.jit(ad.grad(loss), device="cpu"), ad.grad(loss)(w, x, y)
rows = ad.device_put((x, y), "cpu", shard=0)
assert len(rows[0].devices) == count
for _ in range(3):
    found = slope(w, *rows)
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-12)
program = ad.program(ad.grad(loss), w, x, y).program
executable = XlaExecutor("cpu").compile(program)
text = executable.compiled_text(w, *rows, np.float64(2 / 4000))
assert text.count(" all-reduce(") + text.count(" all-reduce-start(") == 1, text
try:
    ad.device_put(x[:3], "cpu", shard=0)
except ad.errors.ArgumentError as error:
    assert f"cannot be divided among {count} devices" in str(error)
"""


@pytest.mark.parametrize("count", [4, 8])
def test_a_gradient_of_divided_rows_is_summed_over_devices_once(count: int) -> None:
    run_on_devices(DIVIDED, count)


TOGETHER = """
import sys
import numpy as np, adjoint as ad, jax

rank, port = int(sys.argv[1]), sys.argv[2]
jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(f"127.0.0.1:{port}", 2, rank)

def loss(w, x, y):
    return np.mean((np.tanh(x @ w) - y) ** 2)

random = np.random.default_rng(0)
w, x, y = random.normal(size=20), random.normal(size=(400, 20)), random.normal(size=400)
slope, expected = ad.jit(ad.grad(loss), device="cpu"), ad.grad(loss)(w, x, y)
rows = ad.device_put((x, y), "cpu", shard=0)
assert len(rows[0].devices) == 2
for _ in range(3):
    np.testing.assert_allclose(np.asarray(slope(w, *rows)), expected, rtol=1e-12)
"""


def test_two_processes_have_half_of_the_rows_each() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    started = [
        subprocess.Popen(
            [sys.executable, "-c", TOGETHER, str(rank), str(port)],
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    try:
        said = [process.communicate(timeout=120)[1] for process in started]
    finally:
        for process in started:
            process.kill()
    assert [process.returncode for process in started] == [0, 0], said
