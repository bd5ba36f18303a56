"""Which code is entered: functions, modules, classes and files.

All that is written in Python is, the user's own and that of installed packages alike, wherever it
lies. Not entered are Python's library, this package, and the few packages named here, each for its
reason; a package goes by its name, and where it was imported from does not matter.
"""

from __future__ import annotations

import functools
import os
import sys
import sysconfig
import types
import weakref
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

_PACKAGE: Final = __file__.rpartition("capture")[0]
_STANDARD: Final = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib")})
_SITES: Final = tuple({sysconfig.get_path(name) for name in ("purelib", "platlib")})
_SITE_NAMES: Final = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
# Packages that are not entered.
LEFT: Final = frozenset(
    {
        # whose functions have rules here
        *("numpy", "scipy"),
        # whose values are computed by compiled code of their own, or stand for something else
        *("torch", "torchvision", "jax", "jaxlib", "tensorflow", "keras", "cupy", "mlx"),
        *("autograd", "thinc"),
        *("numba", "llvmlite", "numexpr", "cffi", "cython", "pandas", "polars", "pyarrow", "dask"),
        *("sympy", "mpmath", "casadi", "optree", "pyomo", "h5py", "zarr"),
        # which watch, test, show or print programs
        *("pytest", "_pytest", "pluggy", "xdist", "hypothesis", "coverage", "IPython", "ipykernel"),
        *("traitlets", "debugpy", "pydevd", "_pydevd_bundle", "pyinstrument", "line_profiler"),
        *("matplotlib", "plotly", "bokeh", "seaborn", "PIL", "tqdm", "rich", "typer", "click"),
        *("setuptools", "pkg_resources", "pip", "loguru", "cloudpickle", "dill", "joblib"),
    }
)
# Modules of packages that are left which are entered all the same: all that they do to their
# arguments is Python that is written with NumPy and `scipy.special`, and there are too many
# functions in them for a rule each.
ENTERED: Final = frozenset(
    {
        "scipy.stats._distn_infrastructure",  # distributions: standardising, supports, defaults
        "scipy.stats._continuous_distns",  # the densities and their integrals
        "scipy.stats._discrete_distns",
        "scipy.stats._ksstats",
        "scipy.stats._multivariate",
        "scipy.stats._covariance",
        "scipy.stats._kde",
        "scipy.stats._levy_stable.__init__",
    }
)
_LIMIT: Final = 4096
_MADE_IN_PYTHON: Final = 1 << 9  # Py_TPFLAGS_HEAPTYPE
_foreign: set[type] = {float, int, bool, str, bytes, list, dict, tuple, type(None), np.ndarray}
_users: dict[int, weakref.ref[type]] = {}  # by identity: no class is kept alive


def is_users(function: types.FunctionType) -> bool:
    """Whether a function is entered, as the user's own are."""
    if is_ours(function) or (function.__module__ or "").partition(".")[0] == "adjoint":
        return False
    return is_users_file(function.__code__.co_filename)


def is_users_module(module: types.ModuleType) -> bool:
    """Whether a module is of code that is entered."""
    file = file_of(module)
    return file is not None and is_users_file(file) and not module.__name__.startswith("adjoint")


def file_of(module: Any) -> str | None:
    """The file of a module, which may be any object that is imported: no code of it is asked."""
    names = getattr(module, "__dict__", {})
    file = names.get("__file__")
    return file if isinstance(file, str) else None


def is_ours(function: types.FunctionType) -> bool:
    """Whether a function is one of this package's, also where it wraps one of the user's."""
    return function.__code__.co_filename.startswith(_PACKAGE)


@functools.lru_cache(maxsize=4096)
def is_users_file(path: str) -> bool:
    """Whether a file is of code that is entered."""
    if path.startswith((_PACKAGE, "<frozen ")):  # stand-ins bear the names of what they stand for
        return False
    if path.startswith(_STANDARD) and not (
        path.startswith(_SITES) or any(name in path for name in _SITE_NAMES)
    ):
        return False
    return path in _files_entered() or not path.startswith(tuple(_folders_left()))


def _files_entered() -> Iterator[str]:
    """The files of `ENTERED`."""
    for name in ENTERED:
        package, _, rest = name.partition(".")
        file = file_of(sys.modules.get(package))
        if file is not None:
            yield os.path.join(os.path.dirname(file), *rest.split(".")) + ".py"


def _folders_left() -> Iterator[str]:
    """Where the packages that are not entered were imported from."""
    for name in LEFT:
        module = sys.modules.get(name)
        file = file_of(module) if module is not None else None
        if file is not None:
            folder, _, leaf = file.rpartition(os.sep)
            yield folder + os.sep if leaf.startswith("__init__.") else file


def is_users_kind(kind: type) -> bool:
    """Whether a class, or one that it inherits from, is written by the user."""
    if kind in _foreign:
        return False
    place = id(kind)
    if place in _users:
        return True
    if any(map(is_users_class, kind.__mro__)):
        _users[place] = weakref.ref(kind, lambda _: _users.pop(place, None))
        return True
    if len(_foreign) < _LIMIT:
        _foreign.add(kind)
    return False


def is_users_class(kind: type) -> bool:
    """Whether a class itself is written by the user, whatever it inherits from."""
    name = getattr(kind, "__module__", None)
    name = name if type(name) is str else ""  # a class of classes in compiled code may have none
    if name == "builtins":  # that of classes too that are made without a `__name__` around them
        return bool(kind.__flags__ & _MADE_IN_PYTHON)
    if name.partition(".")[0] in ("adjoint", "numpy"):
        return False
    if name == "__main__":
        return True
    file = file_of(sys.modules.get(name))
    # Without a file: an interactive session, or code that was compiled from a string.
    if file is None:
        return name not in sys.builtin_module_names
    return is_users_file(file)
