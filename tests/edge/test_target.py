"""`FILE.py:FUNCTION` and its inputs, without any derivative."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adjoint.commands.failure import CommandError
from adjoint.commands.target import find_inputs, loaded, split_target


def written(folder: Path, text: str, name: str = "model.py") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def inputs_of(folder: Path, text: str, named: str | None = None, seed: int = 0) -> tuple[Any, ...]:
    with loaded(written(folder, text), "f") as target:
        return find_inputs(target, named, seed)


# --- the function ---------------------------------------------------------------------------------


def test_a_function_is_found(tmp_path: Path) -> None:
    path = written(tmp_path, "def f(x):\n    return x + 1\n")
    assert split_target(f"{path}:f") == (path, "f")
    with loaded(path, "f") as target:
        assert target.function(1) == 2


def test_a_method_is_found_by_its_dotted_name(tmp_path: Path) -> None:
    text = "class Model:\n    def loss(self, x):\n        return 2 * x\nmodel = Model()\n"
    with loaded(written(tmp_path, text), "model.loss") as target:
        assert target.function(2) == 4


def test_neighbours_are_importable_while_it_is_loaded_and_leave_no_trace(tmp_path: Path) -> None:
    written(tmp_path, "k = 3\n", "neighbour_of_model.py")
    text = "def f(x):\n    from neighbour_of_model import k\n    return k * x\n"
    before = list(sys.path)
    with loaded(written(tmp_path, text), "f") as target:
        assert target.function(2) == 6
    assert sys.path == before
    assert {"model", "neighbour_of_model"} & set(sys.modules) == set()


def test_a_file_named_like_a_loaded_module_does_not_replace_it(tmp_path: Path) -> None:
    with loaded(written(tmp_path, "def f():\n    return 1\n", "numpy.py"), "f") as target:
        assert target.function() == 1
        assert sys.modules["numpy"] is np


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("model.py", "names no function"),
        ("model.py:", "names no function"),
        (":f", "names no function"),
        ("gone.py:f", "there is no file gone.py"),
        (".:f", "is a folder"),
        ("notes.txt:f", "not a Python file"),
    ],
)
def test_a_wrong_target_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, "", "notes.txt")
    written(tmp_path, "")
    with pytest.raises(CommandError, match=message):
        split_target(target)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("los", r"no function 'los'; did you mean 'loss'\?"),
        ("zzz", "no function 'zzz'; it has loss."),
        ("k", "k in model.py is a int, not a function"),
    ],
)
def test_a_function_that_is_not_there_is_told(tmp_path: Path, name: str, message: str) -> None:
    path = written(tmp_path, "k = 1\ndef loss(x):\n    return x\n")
    with pytest.raises(CommandError, match=message), loaded(path, name):
        pass


# --- its inputs -----------------------------------------------------------------------------------


def test_inputs_are_found_in_order(tmp_path: Path) -> None:
    text = "inputs = (1.0,)\nf_inputs = (2.0, 3.0)\ndef g():\n    return 4.0\ndef f(*x): ...\n"
    assert inputs_of(tmp_path, text) == (2.0, 3.0)
    assert inputs_of(tmp_path, text.replace("f_inputs", "other")) == (1.0,)
    assert inputs_of(tmp_path, text, named="g") == (4.0,)


def test_inputs_that_are_not_a_tuple_are_the_only_argument(tmp_path: Path) -> None:
    assert inputs_of(tmp_path, "inputs = [1.0, 2.0]\ndef f(x): ...\n") == ([1.0, 2.0],)


def test_inputs_that_are_not_there_are_told(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="no variable or function 'case'"):
        inputs_of(tmp_path, "inputs = 1.0\ndef f(x): ...\n", named="case")


HEAD = "from typing import Annotated\nimport numpy as np\n"


@pytest.mark.parametrize(
    ("annotation", "shape", "dtype"),
    [
        ("Annotated[np.ndarray, (3, 4)]", (3, 4), np.float64),
        ("Annotated[np.ndarray, ()]", (), np.float64),
        ("Annotated[np.ndarray, (2,), 'float32']", (2,), np.float32),
        ("Annotated[np.ndarray, (2,), np.complex128]", (2,), np.complex128),
    ],
)
@pytest.mark.parametrize("future", ["", "from __future__ import annotations\n"])
def test_arrays_are_drawn(
    tmp_path: Path, annotation: str, shape: tuple[int, ...], dtype: type, future: str
) -> None:
    text = f"{future}{HEAD}def f(x: {annotation}): ...\n"
    (x,) = inputs_of(tmp_path, text)
    assert x.shape == shape
    assert x.dtype == dtype
    (again,) = inputs_of(tmp_path, text)
    np.testing.assert_array_equal(x, again)
    (other,) = inputs_of(tmp_path, text, seed=1)
    assert np.all(x != other)


def test_numbers_are_drawn_and_defaults_are_left_alone(tmp_path: Path) -> None:
    a, z = inputs_of(tmp_path, "def f(a: float, z: complex, n=3, *rest, k=1, **more): ...\n")
    assert type(a) is float
    assert type(z) is complex


@pytest.mark.parametrize("annotation", ["Disk()", "Annotated[object, Disk()]"])
def test_a_space_draws_its_own_element(tmp_path: Path, annotation: str) -> None:
    space = (
        "class Disk:\n"
        "    def inner(self, x, y): return x * y\n"
        "    def random(self, seed): return ('drawn', type(seed))\n"
    )
    text = f"{HEAD}{space}def f(x: {annotation}): ...\n"
    assert inputs_of(tmp_path, text) == (("drawn", int),)


@pytest.mark.parametrize("parameter", ["x", "x: int", "x: np.ndarray", "x: Annotated[int, 'm']"])
def test_what_cannot_be_drawn_is_told(tmp_path: Path, parameter: str) -> None:
    with pytest.raises(CommandError, match=r"what to pass for 'x' of f\. Define f_inputs"):
        inputs_of(tmp_path, f"{HEAD}def f({parameter}): ...\n")


def test_keyword_only_parameters_are_told(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="needs 'k' by keyword"):
        inputs_of(tmp_path, "def f(*, k: float): ...\n")


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        ("[1, 2]", (np.array([1.0, 2.0]),)),
        ("(1, [[2.0], [3.0]])", (1.0, np.array([[2.0], [3.0]]))),
        ("-2.5", (-2.5,)),
        ("1+2j", (1 + 2j,)),
        ("{'w': [1.0]}", ({"w": np.array([1.0])},)),
    ],
)
def test_a_point_that_is_written_out(tmp_path: Path, at: str, expected: tuple[object, ...]) -> None:
    path = written(tmp_path, "inputs = (7.0,)\ndef f(*x): ...\n")
    with loaded(path, "f") as target:
        arguments = find_inputs(target, None, 0, at)
    np.testing.assert_equal(arguments, expected)


@pytest.mark.parametrize("at", ["[1.0, 'a']", "np.ones(3)", "[[1.0], [1.0, 2.0]]", "(", "None"])
def test_what_is_no_point_is_told(tmp_path: Path, at: str) -> None:
    path = written(tmp_path, "def f(x): ...\n")
    with loaded(path, "f") as target, pytest.raises(CommandError, match="--at"):
        find_inputs(target, None, 0, at)
