"""NumPy's functions, methods and operators.

Values to the dtype, and derivatives, in every form of call.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.capture.numpy.table import FUNCTIONS
from tests.capture.comparing import (
    captured_value,
    is_inexact,
    leaves,
    refuses,
    same_derivative,
    same_values,
)
from tests.capture.coverage_samples import CONSTANTS, SAMPLES
from tests.capture.rows import ARGUMENTS, ROWS

# Piecewise constant, or a choice whose result is no number: nothing to differentiate.
STEPS = re.compile(
    r"round|around|fix|astype\(int|//|int\(|divmod|\.name|shape|float32|complex64|ndim|len\("
)

pytestmark = pytest.mark.filterwarnings("ignore:numpy.fix is deprecated")


def made(row: str) -> tuple[Any, tuple[Any, ...]]:
    """A row as a function of the arguments that it names, and their values."""
    names = [name for name in ARGUMENTS if re.search(rf"(?<![\w.\"]){name}(?![\w\"(=])", row)]
    function = eval(f"lambda {', '.join(names)}: {row}", {"np": np})
    return function, tuple(ARGUMENTS[name] for name in names)


def arrays_of(value: Any) -> Any:
    return value if not isinstance(value, str) else len(value)


@pytest.mark.parametrize("row", ROWS)
def test_value(row: str) -> None:
    function, args = made(row)
    with np.errstate(all="ignore"):
        expected = arrays_of(function(*args))
        found = captured_value(lambda *a: arrays_of(function(*a)), *args)
    same_values(found, expected)


@pytest.mark.parametrize("row", ROWS)
def test_value_of_known_arrays(row: str) -> None:
    """The same of arrays made inside of the function.

    Views stay views, results can be written into.
    """
    function, args = made(row)

    def inside(t: Any) -> Any:
        own = [np.array(arg) if isinstance(arg, np.ndarray) else arg for arg in args]
        result = arrays_of(function(*own))
        for each in own:
            if isinstance(each, np.ndarray) and each.size and each.dtype.kind == "f":
                each[...] = each * t  # changes views of it
        return result

    with np.errstate(all="ignore"):
        expected = inside(2.0)
        try:
            found = captured_value(inside, 2.0)
        except ad.errors.AliasingError:
            assert "einsum" in row or "order" in row
            return
    same_values(found, expected)


@pytest.mark.parametrize("row", ROWS)
def test_value_in_single_precision(row: str) -> None:
    if "item" in row or "tolist" in row:
        return  # NumPy gives Python's numbers; under capture a number keeps the dtype that it has
    function, args = made(row)
    single = tuple(
        np.asarray(arg, {"f": np.float32, "c": np.complex64}.get(np.asarray(arg).dtype.kind))[()]
        for arg in args
    )
    with np.errstate(all="ignore"):
        same_values(
            captured_value(lambda *a: arrays_of(function(*a)), *single),
            arrays_of(function(*single)),
            1e-4,
        )


@pytest.mark.parametrize("row", [row for row in ROWS if not STEPS.search(row)])
def test_derivative(row: str) -> None:
    function, args = made(row)
    with np.errstate(all="ignore"):
        results = leaves(function(*args))
        if not any(map(is_inexact, args)) or not results or not all(map(is_inexact, results)):
            return
        if all(np.isfinite(result).all() for result in results):
            same_derivative(function, args)


def test_every_function_of_the_table_is_tried() -> None:
    text = " ".join((*ROWS, *SAMPLES.values(), *CONSTANTS.values()))
    quiet = {
        "as_strided",  # which NumPy hands to no protocol: test_plain_arrays.py
        "logn",  # with the rest of np.emath: test_emath.py
        "may_share_memory",
        "shares_memory",
        "array_repr",
        "array_str",
        "array2string",
        "copyto",
        "argpartition",
    }
    quiet |= {
        "fill_diagonal",
        "put_along_axis",
        "putmask",
        "place",
        "put",
        "nanargmax",
        "nanargmin",
    }  # test_writing.py
    scipy = {"logsumexp", "softmax", "log_softmax"}
    names = {function.__name__ for function in FUNCTIONS} - quiet - scipy
    missing = {name for name in names if not re.search(rf"\b{name}\(", text)}
    assert not missing - {"absolute"}, missing


UNSUPPORTED = [
    "np.polynomial.polynomial.polymul(v, w)",
    "np.polynomial.legendre.legder(v)",
    "x.view(int)",
    "x.dump('f')",
    "x.byteswap()",
    "x.resize(3)",
    "x.ctypes",
    "x.data",
    "x.choose([1])",
]


@pytest.mark.parametrize("row", UNSUPPORTED)
def test_what_is_not_supported_is_named(
    row: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # NumPy's own `dump` writes a file
    function, args = made(row)
    name = re.search(r"(?:np\.|x\.)([\w.]+)", row)
    assert name is not None
    text = "out" if "out" in row else name[1].split(".")[-1]
    refuses(ad.jit, function, args, ad.errors.UnsupportedFunctionError, text)


WRONG = [
    "x @ x",
    "x + w",
    "np.dot(x, w)",
    "np.concatenate([x, v])",
    "np.reshape(x, (5, 2))",
    "np.sum(x, axis=2)",
    "np.sum(x, axis=(0, 0))",
    "np.squeeze(x, 0)",
    "np.stack([v, w])",
    "np.stack([v, 1.0])",
    "np.concatenate([v, 1.0])",
    "np.concatenate([v, [1]], dtype=int)",
    "np.split(v, 3)",
    "np.transpose(x, (0, 0))",
    "x.no_such_method()",
    "len(s)",
    "np.max(e)",
    "np.argmax(e)",
    "float(x)",
    "x.item()",
    "np.broadcast_to(v, (3, 5))",
    "np.einsum('ij,k', x)",
    "np.expand_dims(x, 5)",
    "np.swapaxes(x, 0, 3)",
    "np.moveaxis(x, 0, 4)",
    "v[0][0]",
    "hash(x)",
    "np.where(b, x)",
    "np.linalg.norm(v, 'abc')",
    "np.linalg.solve(x, w)",
    "np.linalg.solve(x[:, :3], v)",
    "np.linalg.solve(x[:, :3], s)",
    "np.linalg.inv(x)",
    "np.linalg.inv(v)",
    "np.linalg.inv(np.float16(x[:, :3]))",
    "np.linalg.det(x)",
    "np.linalg.slogdet(w)",
    "np.linalg.cholesky(x)",
    "np.linalg.cholesky(x, upper=True)",
    "np.linalg.matrix_power(x, 2)",
    "np.linalg.matrix_power(x[:, :3], 0.5)",
    "np.linalg.inv(0 * x[:, :3])",
    "np.linalg.solve(0 * x[:, :3], w)",
    "np.linalg.cholesky(x[:, :3] - 9 * np.eye(3))",
    "int(x)",
    "bool(x)",
    "x[s]",
    "np.einsum('ij,jk', x, y)",
    "np.cross(v, v)",
    "np.matmul(x, s)",
    "np.diag(t)",
    "np.delete(v, 7)",
    "np.insert(v, 9, 1.0)",
    "np.tile(x, -1)",
    "x[9]",
    "v + [1, 2]",
    "v + None",
    "v + 'a'",
    "~v",
    "v & 1",
    "v << 1",
    "np.repeat(v, [1, 2])",
    "np.take(v, [9])",
    "x.reshape(-1, -1)",
    "np.roll(x, 1, axis=5)",
    "next(v)",
    "iter(s)",
    "sum(s)",
]


@pytest.mark.parametrize("row", WRONG)
def test_what_numpy_refuses_is_refused_with_its_type(row: str) -> None:
    function, args = made(row)
    with pytest.raises(Exception) as expected:
        function(*args)
    with pytest.raises((Exception,)) as found:
        ad.jit(function)(*args)
    builtin = next(
        each
        for each in inspect.getmro(type(expected.value))
        if each in (IndexError, ValueError, TypeError, AttributeError)
    )
    accepted = (builtin, ad.errors.UnsupportedFunctionError)
    assert isinstance(found.value, accepted), (repr(found.value), repr(expected.value))


def test_a_cross_product_takes_no_index_arrays() -> None:
    x = np.ones((5, 3))
    names = {each.primitive.name for each in ad.program(np.cross, x, x).program.equations}
    assert names.isdisjoint({"gather", "gather_add"})
