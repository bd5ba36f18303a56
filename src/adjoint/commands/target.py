"""`FILE.py:FUNCTION` on the command line: the function, and the arguments to call it with."""

from __future__ import annotations

import ast
import difflib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, get_args, get_origin

import numpy as np

from adjoint.commands.failure import CommandError


@dataclass(frozen=True)
class Target:
    """A function of the user's, the name it was asked by, and the module it was found in."""

    function: Callable[..., Any]
    name: str
    module: ModuleType

    @property
    def inputs_name(self) -> str:
        """What a variable with its arguments is called."""
        return f"{self.name.replace('.', '_')}_inputs"


def split_target(target: str) -> tuple[Path, str]:
    """The file and the name in `FILE.py:FUNCTION`."""
    file, colon, name = target.rpartition(":")
    if not colon or not file or not name or name.endswith(".py"):
        raise CommandError(f"{target!r} names no function; write FILE.py:FUNCTION.")
    path = Path(file).resolve()
    if path.is_dir():
        raise CommandError(f"{file} is a folder; write FILE.py:FUNCTION.")
    if not path.is_file():
        raise CommandError(f"there is no file {file} in {Path.cwd()}.")
    if path.suffix != ".py":
        raise CommandError(f"{file} is not a Python file (.py).")
    return path, name


@contextmanager
def loaded(path: Path, name: str) -> Iterator[Target]:
    """The function of that name in the file, which is run once as a module.

    Its folder is on the path for imports while the context lasts, so that it finds its neighbours.
    """
    module_name = path.stem if path.stem not in sys.modules else f"adjoint_target_{path.stem}"
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise CommandError(f"{path} cannot be loaded as Python.")
    module = importlib.util.module_from_spec(spec)
    before = set(sys.modules)
    sys.path.insert(0, str(path.parent))
    sys.modules[module_name] = module
    try:
        try:
            spec.loader.exec_module(module)
        except ImportError as error:
            if "relative import" in str(error):
                error.add_note(_beside_package(path, name))
            raise
        yield Target(_find(module, name, path), name, module)
    finally:
        sys.path.remove(str(path.parent))
        for added in set(sys.modules) - before:
            if _lies_beside(sys.modules[added], path):
                del sys.modules[added]


def _beside_package(path: Path, name: str) -> str:
    """How a function of a package is named to the command, which runs a file by itself."""
    folder, parts = path.parent, [path.parent.name, path.stem]
    while (folder.parent / "__init__.py").is_file():
        folder = folder.parent
        parts.insert(0, folder.name)
    imported = f"from {'.'.join(parts)} import {name.partition('.')[0]}"
    return (
        f"{path.name} is part of a package, and is run here by itself: write {imported!r} into a "
        f"file in {folder.parent}, and name that file"
    )


def _lies_beside(module: ModuleType, path: Path) -> bool:
    """Whether the module was loaded from the folder of the user's file."""
    file = getattr(module, "__file__", None)
    return file is not None and Path(file).parent == path.parent


def _find(module: ModuleType, name: str, path: Path) -> Callable[..., Any]:
    value: Any = module
    for part in name.split("."):
        if not hasattr(value, part):
            raise CommandError(f"{path.name} has no function {name!r}{_suggestion(module, name)}")
        value = getattr(value, part)
    if not callable(value):
        raise CommandError(f"{name} in {path.name} is a {type(value).__name__}, not a function.")
    function: Callable[..., Any] = value
    return function


def _suggestion(module: ModuleType, name: str) -> str:
    own = [
        key
        for key, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__
    ]
    close = difflib.get_close_matches(name, own, n=1)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; it has {', '.join(own)}." if own else "."


# --- arguments ------------------------------------------------------------------------------------


def find_inputs(
    target: Target, inputs: str | None, seed: int, at: str | None = None
) -> tuple[Any, ...]:
    """The arguments to call a function with.

    The first of these that is there:

    0. the point that is written out in `at`: numbers, and lists of them, which are arrays;
    1. the variable or function without arguments whose name is `inputs`, when that is given;
    2. `FUNCTION_inputs`, then `inputs`, in the file;
    3. the defaults of the parameters, where all have one;
    4. random values drawn from the annotations of the parameters without default.

    A tuple holds the arguments; anything else is the only argument.
    """
    if at is not None:
        return _fitting(target, _written_out(at), "--at")
    names = [inputs] if inputs is not None else [target.inputs_name, "inputs"]
    for name in names:
        if hasattr(target.module, name):
            value = getattr(target.module, name)
            value = value() if callable(value) else value
            return _fitting(target, value if isinstance(value, tuple) else (value,), name)
    if inputs is not None:
        raise CommandError(
            f"the file has no variable or function {inputs!r} to take inputs from. Define it (a "
            "tuple of arguments), or leave --inputs away."
        )
    return tuple(_draw_all(target, seed))


def _fitting(target: Target, arguments: tuple[Any, ...], source: str) -> tuple[Any, ...]:
    """The arguments, if the function can be called with as many."""
    try:
        signature = inspect.signature(target.function)
        signature.bind(*arguments)
    except ValueError:  # it has none
        return arguments
    except TypeError as error:
        count = len(arguments)
        raise CommandError(
            f"{source} gives {count} argument{'s' * (count != 1)}, but {target.name} is defined as "
            f"{target.name}{signature}: {error}. A tuple holds several arguments, '(1.0, 2.0)'; "
            "anything else is the only one."
        ) from None
    return arguments


def _written_out(text: str) -> tuple[Any, ...]:
    """`1.0`, `[1.0, 2.0]` or `([1.0, 2.0], 3.0)`: one argument, or several in brackets."""
    try:
        written = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        raise CommandError(
            f"--at {text!r} is no number, no list of numbers, and no tuple of these. Write "
            "--at '[1.0, 2.0]', or --at '([1.0, 2.0], 3.0)' for two arguments."
        ) from None
    arguments = written if isinstance(written, tuple) else (written,)
    return tuple(_number_or_array(argument, text) for argument in arguments)


def _number_or_array(value: Any, text: str) -> Any:
    if isinstance(value, dict):
        return {name: _number_or_array(part, text) for name, part in value.items()}
    try:
        array = np.asarray(value)
    except ValueError:  # rows of different lengths
        array = np.asarray(None)
    if array.dtype.kind not in "iufc":
        raise CommandError(f"--at {text!r} holds {value!r}, which is no number and no array.")
    array = array if array.dtype.kind == "c" else array.astype(float)
    return array if array.ndim else array[()].item()


def _draw_all(target: Target, seed: int) -> Iterator[Any]:
    try:
        parameters = inspect.signature(target.function, eval_str=True).parameters.values()
    except ValueError:
        raise CommandError(f"{target.name} has no signature. {_advice(target)}") from None
    random = np.random.default_rng(seed)
    if all(parameter.default is not parameter.empty for parameter in parameters):
        yield from (parameter.default for parameter in parameters if parameter.kind in _BY_PLACE)
        return
    for parameter in parameters:
        if parameter.default is not parameter.empty or parameter.kind in _OPEN:
            continue
        if parameter.kind is parameter.KEYWORD_ONLY:
            raise CommandError(
                f"{target.name} needs {parameter.name!r} by keyword, which cannot be passed here; "
                "give it a default, or wrap the function."
            )
        yield _draw(parameter, random, target)


_BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_OPEN = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def _draw(parameter: inspect.Parameter, random: np.random.Generator, target: Target) -> Any:
    """A value for an annotated parameter.

    `float` and `complex` are normal numbers; a space draws an element of itself. `Annotated[T,
    ...]` with a shape among its notes is an array of normal numbers of that shape, of the dtype
    among them (float64 where there is none), and with a space among them an element of that.
    """
    annotation = parameter.annotation
    notes = get_args(annotation)[1:] if get_origin(annotation) is Annotated else (annotation,)
    for note in notes:
        if hasattr(note, "random") and hasattr(note, "inner"):
            return note.random(int(random.integers(2**31)))
        if note is float:
            return float(random.standard_normal())
        if note is complex:
            return complex(random.standard_normal(), random.standard_normal())
        if _is_shape(note):
            return _draw_array(note, notes, random)
    raise CommandError(
        f"cannot tell what to pass for {parameter.name!r} of {target.name}. {_advice(target)}"
    )


def _is_shape(note: Any) -> bool:
    return isinstance(note, tuple) and all(isinstance(n, int) for n in note)


def _draw_array(shape: Any, notes: tuple[Any, ...], random: np.random.Generator) -> Any:
    dtypes = [note for note in notes if isinstance(note, str | type | np.dtype)]
    dtype = np.dtype(dtypes[0]) if dtypes else np.dtype(float)
    values = random.standard_normal(shape)
    if dtype.kind == "c":
        return (values + 1j * random.standard_normal(shape)).astype(dtype)
    return np.asarray(values).astype(dtype)


def _advice(target: Target) -> str:
    return (
        f"Define {target.inputs_name} (a tuple of arguments) in the file, write them out with "
        "--at '(1.0, [2.0, 3.0])', or annotate each parameter with float, a space, or "
        "Annotated[np.ndarray, (3, 4)]."
    )
