"""Derivatives as files: loaded and run where there is no adjoint."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import (
    ArgumentError,
    ArgumentTypeError,
    NotExportableError,
    ValueNeededError,
)

RANDOM = np.random.default_rng(0)
ROWS = RANDOM.normal(size=(400, 30))
W = np.linspace(-0.2, 0.3, 30)
X = np.array([0.3, 0.5, 1.2])


def energy(w: Any) -> Any:
    return np.mean(np.tanh(ROWS @ w) ** 2 * np.exp(-w[0]))


def loop(x: Any) -> Any:
    return np.sum(ad.fori_loop(0, 20, lambda k, y: y + 0.01 * np.sin(y) * k, x))


def rooted(x: Any) -> Any:
    return np.sum(np.where(x != 0, np.sqrt(np.abs(x)), 0))


def picked(x: Any, places: Any) -> Any:
    return np.sum(x[places] ** 2)


def scaled(x: Any, factor: Any) -> Any:
    return np.sum(x**3) * factor


CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "a value and gradient": (ad.value_and_grad(energy), (W,)),
    "a hessian": (ad.hessian(lambda x: np.prod(np.sin(x))), (X,)),
    "a loop": (ad.grad(loop), (X,)),
    "hard zeros": (ad.grad(rooted), (np.array([1.0, -1.0, 0.0]),)),
    "integers": (ad.grad(picked), (X, np.array([0, 2, 2]))),
    "numbers of Python's": (ad.grad(scaled), (X, 2.0)),
    "single precision": (ad.grad(energy), (W.astype("f4"),)),
    "a large matrix": (lambda a: np.sum(np.tanh(a @ a.T), axis=0), (ROWS,)),
    "complex numbers": (lambda z: z**2 / (1 + np.conj(z)), (X + 1j * X,)),
}


def expected_of(name: str) -> list[np.ndarray[Any, Any]]:
    function, args = CASES[name]
    result = function(*args)
    return [np.asarray(x) for x in (result if isinstance(result, tuple) else (result,))]


# --- StableHLO ------------------------------------------------------------------------------------

LOADER = """
import sys
import jax, numpy as np
from jax import export
jax.config.update("jax_enable_x64", True)
program = export.deserialize(bytearray(open(sys.argv[1], "rb").read()))
given = np.load(sys.argv[2])
results = program.call(*(given[name] for name in given.files))
np.savez(sys.argv[3], *jax.tree.leaves(results))
assert "adjoint" not in sys.modules
"""


def run_stablehlo(file: Any, args: tuple[Any, ...], folder: Path) -> list[np.ndarray[Any, Any]]:
    """The results in a process that imports JAX alone."""
    pytest.importorskip("flatbuffers", reason="files of JAX are not tested: no flatbuffers")
    file.save(folder / "program")
    np.savez(folder / "given.npz", *args)
    paths = [str(folder / name) for name in ("program", "given.npz", "found.npz")]
    subprocess.run([sys.executable, "-c", LOADER, *paths], check=True, cwd=folder)
    found = np.load(folder / "found.npz")
    return [found[name] for name in found.files]


@pytest.mark.parametrize("name", CASES)
def test_stablehlo_runs_without_adjoint(name: str, tmp_path: Path) -> None:
    pytest.importorskip("jax", reason="StableHLO is not tested: jax is not installed")
    function, args = CASES[name]
    found = run_stablehlo(ad.export(function, *args), args, tmp_path)
    for one, other in zip(found, expected_of(name), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-5 if one.dtype == "f4" else 1e-11)


def test_trees_of_arguments_and_what_numpy_refuses() -> None:
    jax = pytest.importorskip("jax", reason="StableHLO is not tested: jax is not installed")

    def solved(weights: dict[str, Any], x: Any) -> Any:
        return np.sum(np.linalg.solve(weights["a"], x) * weights["b"])

    slope = ad.grad(solved)
    weights = {"a": 2 * np.eye(3), "b": X}
    file = ad.export(slope, weights, X)
    assert repr(file) == "Exported((f64[3,3], f64[3], f64[3]) for cpu)"
    assert "stablehlo." in file.stablehlo()
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    try:
        found = file.exported.call(weights, X)
        bad = file.exported.call({"a": np.zeros((3, 3)), "b": X}, X)
    finally:
        jax.config.update("jax_enable_x64", before)
    for name, one in slope(weights, X).items():
        np.testing.assert_allclose(found[name], one, rtol=1e-12)
        assert np.all(np.isnan(bad[name]))


# --- C --------------------------------------------------------------------------------------------

SHOW = """
#include <stdio.h>
#include "NAME.h"
#define SHOW(array, count)                                          \\
    printf(", [");                                                  \\
    for (int i = 0; i < count; i++) {                               \\
        printf(i ? ", %.17g" : "%.17g", (double)array[i]);          \\
    }                                                               \\
    printf("]");
"""
_KINDS = {"d": "double", "f": "float", "l": "int64_t", "q": "int64_t", "D": "double"}


def main_of(name: str, args: tuple[Any, ...], results: list[np.ndarray[Any, Any]]) -> str:
    """A program in C that calls the function and prints what it has written, as JSON."""
    lines, names, printing = [], [], []
    for k, array in enumerate(map(np.asarray, args)):
        numbers = array.reshape(-1).view(array.real.dtype) if array.dtype.kind == "c" else array
        text = ", ".join(repr(x.item()) for x in numbers.reshape(-1))
        lines.append(f"static {_KINDS[array.dtype.char]} x{k}[] = {{{text}}};")
        names.append(f"x{k}")
    for k, array in enumerate(results):
        count = array.size * (2 if array.dtype.kind == "c" else 1)
        lines.append(f"static {_KINDS[array.dtype.char]} y{k}[{count}];")
        names.append(f"y{k}")
        printing.append(f"SHOW(y{k}, {count})")
    call = f"int status = {name}({', '.join(names)});"
    whole = [SHOW.replace("NAME", name), *lines, "int main(void) {", call]
    return "\n".join([*whole, 'printf("[%d", status);', *printing, 'printf("]"); return 0; }'])


def compiler() -> str:
    found = os.environ.get("CC") or shutil.which("cc")
    if found is None:
        pytest.skip("functions of C are not tested: there is no C compiler (`cc`)")
    return found


def run_c(
    file: Any,
    args: tuple[Any, ...],
    like: list[Any],
    folder: Path,
    libraries: tuple[str, ...] | None = None,
) -> tuple[int, list[Any]]:
    """The status and the results of a program that is linked with the file.

    libraries: in the place of those that the file asks for.
    """
    compiled, _ = file.save(folder)
    (folder / "main.c").write_text(main_of(file.name, args, like), encoding="utf-8")
    sources = [str(folder / "main.c"), str(compiled)]
    given = file.libraries if libraries is None else libraries
    whole = [compiler(), "-Wall", "-Werror", "-o", str(folder / "main"), *sources, *given]
    subprocess.run(whole, check=True)
    done = subprocess.run([folder / "main"], check=True, capture_output=True, text=True)
    status, *arrays = json.loads(re.sub("-?nan", "NaN", done.stdout).replace("inf", "Infinity"))
    found = [np.asarray(x, y.real.dtype).view(y.dtype) for x, y in zip(arrays, like, strict=True)]
    return status, [x.reshape(y.shape) for x, y in zip(found, like, strict=True)]


@pytest.mark.parametrize("name", CASES)
def test_c_calls_it(name: str, tmp_path: Path) -> None:
    function, args = CASES[name]
    expected = expected_of(name)
    status, found = run_c(ad.export(function, *args, format="c"), args, expected, tmp_path)
    assert status == 0
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5 if one.dtype == "f4" else 1e-11)


def test_c_says_that_an_index_is_out_of_bounds(tmp_path: Path) -> None:
    file = ad.export(ad.grad(picked), X, np.array([0, 2, 2]), format="c", name="slope")
    args = (X, np.array([0, 2, 9]))
    assert run_c(file, args, [X], tmp_path)[0] == 1


# --- C with LAPACK -------------------------------------------------------------------------------

MATRIX = RANDOM.normal(size=(60, 60)) + 20 * np.eye(60)
SIDE = RANDOM.normal(size=60)
PAIRS = MATRIX @ MATRIX.T

SYSTEMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "a system": (ad.grad(lambda a, b: np.sum(np.linalg.solve(a, b) ** 2), (0, 1)), (MATRIX, SIDE)),
    "a determinant": (ad.value_and_grad(lambda a: np.linalg.slogdet(a)[1]), (MATRIX,)),
    "Cholesky factors": (ad.grad(lambda a: np.sum(np.linalg.cholesky(a) ** 2)), (PAIRS,)),
    "complex numbers": (np.linalg.solve, (MATRIX + 1j * MATRIX.T, SIDE + 1j)),
    "single precision": (np.linalg.inv, (MATRIX.astype("f4"),)),
    "within a loop": (
        lambda a, b: ad.fori_loop(0, 3, lambda k, y: np.linalg.solve(a, y) + k, b),
        (MATRIX, SIDE),
    ),
}


def links(libraries: tuple[str, ...], folder: Path) -> bool:
    (folder / "empty.c").write_text("int main(void) { return 0; }", encoding="utf-8")
    whole = [compiler(), "-o", str(folder / "empty"), str(folder / "empty.c"), *libraries]
    return subprocess.run(whole, capture_output=True, check=False).returncode == 0


def lapack_for(file: Any, folder: Path) -> tuple[str, ...]:
    """What gives the routines of LAPACK: the system, or the library that SciPy brings along.

    That one has a prefix before its names, so that each is a jump.
    """
    if links(file.libraries, folder):
        return tuple(file.libraries)
    scipy = pytest.importorskip("scipy")
    bundled = sorted(Path(scipy.__file__).parents[1].glob("scipy.libs/libscipy_openblas-*.so"))
    if not bundled or platform.machine() != "x86_64":
        pytest.skip("calls of LAPACK from C are not tested: there is no LAPACK")
    said = file.header.partition("It calls ")[2].partition(" of ")[0]
    called = said.split(", ")
    jumps = "".join(f".globl {name}\n{name}: jmp scipy_{name}@PLT\n" for name in called)
    (folder / "jumps.s").write_text(
        f'{jumps}.section .note.GNU-stack,"",@progbits\n', encoding="utf-8"
    )
    place = bundled[0].parent
    beside = (f"-L{place}", f"-l:{bundled[0].name}", f"-Wl,-rpath,{place}")
    return (str(folder / "jumps.s"), *beside, "-lm")


@pytest.mark.parametrize("name", SYSTEMS)
def test_c_calls_lapack_by_its_public_names(name: str, tmp_path: Path) -> None:
    function, args = SYSTEMS[name]
    result = function(*args)
    expected = [np.asarray(x) for x in (result if isinstance(result, tuple) else (result,))]
    file = ad.export(function, *args, format="c", name="systems")
    assert file.libraries[:2] == ("-llapack", "-lblas")
    assert re.search(r"It calls [^\n]*[sdz](getrf|potrf)_", file.header)
    status, found = run_c(file, args, expected, tmp_path, lapack_for(file, tmp_path))
    assert status == 0
    for one, other in zip(found, expected, strict=True):
        tolerance = 1e-4 if one.dtype == "f4" else 1e-10
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


def test_c_says_that_a_matrix_is_singular(tmp_path: Path) -> None:
    file = ad.export(np.linalg.solve, MATRIX, SIDE, format="c", name="systems")
    given = (0 * MATRIX, SIDE)
    assert run_c(file, given, [SIDE], tmp_path, lapack_for(file, tmp_path))[0] == 1


# --- wrong use ------------------------------------------------------------------------------------


@ad.primitive(result=lambda x: x)
def mine(x: Any) -> Any:
    return x


@mine.jvp
def _(primals: Any, tangents: Any) -> Any:
    return mine(primals[0]), tangents[0]


def test_what_runs_on_the_host_is_named() -> None:
    with pytest.raises(NotExportableError, match=r"custom_call\[call=mine\] of f8\[3\]"):
        ad.export(mine, X, format="c")
    pytest.importorskip("jax", reason="StableHLO is not tested: jax is not installed")
    with pytest.raises(NotExportableError, match=r"custom_call\[call=mine\] of f8\[3\], since"):
        ad.export(mine, X)


def test_what_has_its_address_from_this_process_is_named() -> None:
    with pytest.raises(NotExportableError, match="in this process"):
        ad.export(np.exp, 1j * X, format="c")


def test_integers_cannot_say_that_there_is_a_fault() -> None:
    pytest.importorskip("jax", reason="StableHLO is not tested: jax is not installed")
    with pytest.raises(NotExportableError, match="cannot say so by NaN"):
        ad.export(lambda x, k: (x[k], k[k]), X, np.array([0, 1]))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: ad.export(lambda x: x if x[0] > 0 else -x, X, format="c"), ValueNeededError, "a"),
        (lambda: ad.export(np.sin, X, format="onnx"), ArgumentError, "format must be"),
        (lambda: ad.export(np.sin, X, format="c", name="1"), ArgumentError, "name must be"),
        (lambda: ad.export(np.sin, "text", format="c"), ArgumentTypeError, "given a str"),
        (lambda: ad.export(3, X), ArgumentTypeError, "export"),
    ],
)
def test_wrong_use_is_named(call: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_platforms_are_those_of_jax() -> None:
    pytest.importorskip("jax", reason="StableHLO is not tested: jax is not installed")
    with pytest.raises(ArgumentError, match="platforms must be"):
        ad.export(np.sin, X, platforms=("gpu",))
    assert ad.export(np.sin, X, platforms=("cpu", "cuda")).exported.platforms == ("cpu", "cuda")
