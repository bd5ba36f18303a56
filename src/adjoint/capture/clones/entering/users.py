"""Which code is entered: functions, modules, classes and files.

All that is written in Python is, the user's own and that of installed packages alike, wherever it
lies. Not entered are Python's library, this package, and the few packages named here, each for its
reason; a package goes by its name, and where it was imported from does not matter.
`ad.config(enter=..., leave=...)` chooses otherwise, so that all that is decided is kept by choice.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import types
import weakref
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from adjoint.base.packages import PackageChoice
from adjoint.base.settings import settings

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
        *("xarray", "astropy.units"),
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
        "scipy.stats._levy_stable",
        "scipy.ndimage",  # kernels, axes and modes; the loops below them are compiled
        "scipy.signal",  # filters, spectra, systems; those that are compiled have rules
        *("scipy.stats._stats_py", "scipy.stats._morestats", "scipy.stats._correlation"),
        *("scipy.stats._axis_nan_policy", "scipy.stats._variation", "scipy.stats._entropy"),
        "scipy.stats._quantile",
        "scipy.integrate._quadrature",  # sums over samples
        *("scipy.interpolate._pade", "scipy.interpolate._polyint", "scipy.interpolate._rbf"),
        *("scipy.interpolate._rbfinterp", "scipy.interpolate._rbfinterp_np"),
        "scipy.spatial._kdtree",  # matrices of distances; trees are compiled
        *("scipy.linalg._special_matrices", "scipy.linalg._procrustes"),
        "scipy.spatial.transform",  # with the code that SciPy has for any arrays
        *("scipy.spatial._procrustes", "scipy.spatial.distance"),
        *("scipy.special._basic", "scipy.special._orthogonal"),
        *("scipy.fft._helper", "scipy.fft._fftlog_backend"),
        # how these treat their arguments
        *("scipy._lib._array_api", "scipy._lib._util", "scipy._lib.deprecation"),
        *("scipy._lib.array_api_compat", "scipy._lib.array_api_extra"),
        *("scipy._external.array_api_compat", "scipy._external.array_api_extra"),  # from 1.18 on
    }
)
_LIMIT: Final = 4096
_MADE_IN_PYTHON: Final = 1 << 9  # Py_TPFLAGS_HEAPTYPE
# Whatever is chosen; other classes are in `foreign` and, by identity, `users` of a choice, which
# keeps no class alive that is the user's.
_FOREIGN: Final[frozenset[type]] = frozenset(
    {float, int, bool, complex, str, bytes, list, dict, tuple, set, type(None), np.ndarray}
    | {np.float64, np.int64, np.bool_, type, types.ModuleType, types.FunctionType}
)


def is_users(function: types.FunctionType) -> bool:
    """Whether a function is entered, as the user's own are."""
    if is_ours(function) or (function.__module__ or "").partition(".")[0] == "adjoint":
        return False
    file = function.__code__.co_filename
    if file[:1] == "<" and not settings().choice.entered(function.__module__ or "", True):
        return False
    return is_users_file(file)


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


def is_users_file(path: str) -> bool:
    """Whether a file is of code that is entered."""
    choice = settings().choice
    entered = choice.files.get(path)
    if entered is None:
        if len(choice.files) >= _LIMIT:
            choice.files.clear()
        entered = choice.files[path] = _is_entered(path, choice)
    return entered


def is_settled_file(path: str) -> bool:
    """Whether a file is of SciPy, and entered: what such code is made of is nobody's to change."""
    return any(map(path.startswith, _places("scipy"))) and is_users_file(path)


def is_installed(path: str) -> bool:
    """Whether a file is of an installed package, which is not the user's to change."""
    return any(name in path for name in _SITE_NAMES)


def _is_entered(path: str, choice: PackageChoice) -> bool:
    if path.startswith((_PACKAGE, "<frozen ")):  # stand-ins bear the names of what they stand for
        return False
    if path.startswith(_STANDARD) and not (path.startswith(_SITES) or is_installed(path)):
        return False
    return max(_decisions(path, choice))[-1]


def _decisions(path: str, choice: PackageChoice) -> Iterator[tuple[int, bool, bool]]:
    """What is said of the places that a file lies in.

    The length of the place, whether the user has chosen, and whether it is entered: the greatest
    decides.
    """
    yield 0, False, True
    for names, chosen, entered in (
        (LEFT, False, False),
        (ENTERED, False, True),
        (choice.enter, True, True),
        (choice.leave, True, False),
    ):
        for name in names:
            for place in _places(name):
                if path.startswith(place):
                    yield len(place), chosen, entered


def _places(name: str) -> Iterator[str]:
    """Where a package or module was imported from: folders, or its file."""
    module = sys.modules.get(name)
    file = file_of(module)
    if file is not None and not file.rpartition(os.sep)[2].startswith("__init__."):
        yield file
    elif file is not None:
        yield file.rpartition(os.sep)[0] + os.sep
    elif isinstance(module, types.ModuleType):  # of a package without a file of its own
        yield from [folder + os.sep for folder in getattr(module, "__path__", ())]


def is_users_kind(kind: type) -> bool:
    """Whether a class, or one that it inherits from, is written by the user."""
    if kind in _FOREIGN:
        return False
    choice = settings().choice
    if kind in choice.foreign:
        return False
    place, users = id(kind), choice.users
    if place in users:
        return True
    if any(map(is_users_class, kind.__mro__)):
        users[place] = weakref.ref(kind, lambda _: users.pop(place, None))
        return True
    if len(choice.foreign) < _LIMIT:
        choice.foreign.add(kind)
    return False


def is_users_class(kind: type) -> bool:
    """Whether a class itself is written by the user, whatever it inherits from."""
    name = getattr(kind, "__module__", None)
    name = name if type(name) is str else ""  # a class of classes in compiled code may have none
    if name == "builtins":  # that of classes too that are made without a `__name__` around them
        return bool(kind.__flags__ & _MADE_IN_PYTHON)
    if name.partition(".")[0] in ("adjoint", "numpy"):
        return False
    file = file_of(sys.modules.get(name))
    # Without a file: an interactive session, or code that was compiled from a string.
    if file is None or name == "__main__":
        if name in sys.builtin_module_names or not kind.__flags__ & _MADE_IN_PYTHON:
            return False
        return settings().choice.entered(name, True)
    return is_users_file(file)
