"""What becomes of every public function of SciPy: `python -m adjoint.scipy.coverage` prints it.

The names are asked of SciPy, and what is done with each of them of the registries that decide it
when it is called. Only the constants are listed here. What stands nowhere is refused by name.
"""

from __future__ import annotations

import enum
import inspect
import sys
import types
from collections.abc import Iterator
from importlib import import_module
from typing import Any, Final

import numpy as np

from adjoint.capture.clones.entering.users import file_of, is_users_file
from adjoint.capture.scipy.table import (
    CONSTANT,
    REFUSED,
    SCIPY_FUNCTIONS,
    SCIPY_OBJECTS,
    constant_scipy,
    scipy_place,
)
from adjoint.primitives import UFUNCS, EmptySlot, find_special

PARTS: Final = (
    *("fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal"),
    *("signal.windows", "sparse", "sparse.linalg", "spatial", "spatial.distance"),
    *("spatial.transform", "special", "stats"),
)

for _part, _names in {
    "fft": "next_fast_len prev_fast_len set_backend skip_backend set_global_backend "
    "register_backend get_workers set_workers",
    "linalg": "bandwidth issymmetric ishermitian dft hadamard helmert hilbert invhilbert pascal "
    "invpascal find_best_blas_type get_blas_funcs get_lapack_funcs",
    "ndimage": "binary_closing binary_dilation binary_erosion binary_fill_holes "
    "binary_hit_or_miss binary_opening binary_propagation iterate_structure find_objects label "
    "generate_binary_structure value_indices maximum_position minimum_position watershed_ift",
    "optimize": "show_options linprog_verbose_callback",
    "signal": "argrelextrema argrelmax argrelmin find_peaks check_COLA check_NOLA max_len_seq "
    "choose_conv_method correlation_lags unit_impulse besselap buttap",
    "sparse": "eye eye_array identity rand random random_array get_index_dtype "
    "safely_cast_index_arrays load_npz save_npz",
    "sparse.csgraph._traversal": "connected_components breadth_first_order depth_first_order",
    "sparse.csgraph._reordering": "reverse_cuthill_mckee structural_rank",
    "sparse.csgraph._matching": "maximum_bipartite_matching min_weight_full_bipartite_matching",
    "sparse.linalg": "use_solver spbandwidth is_sptriangular",
    "spatial": "convex_hull_plot_2d delaunay_plot_2d voronoi_plot_2d",
    "spatial.distance": "is_valid_dm is_valid_y num_obs_dm num_obs_y",
    "special": "geterr seterr errstate bernoulli euler factorial2 factorialk stirling2 ai_zeros "
    "bi_zeros bei_zeros beip_zeros ber_zeros berp_zeros erf_zeros fresnel_zeros fresnelc_zeros "
    "fresnels_zeros jn_zeros jnjnp_zeros jnp_zeros jnyn_zeros kei_zeros keip_zeros kelvin_zeros "
    "ker_zeros kerp_zeros y0_zeros y1_zeros y1p_zeros yn_zeros ynp_zeros roots_legendre "
    "roots_chebyt roots_chebyu roots_chebyc roots_chebys roots_laguerre roots_hermite "
    "roots_hermitenorm roots_sh_legendre roots_sh_chebyt roots_sh_chebyu",
}.items():
    constant_scipy(_part, *_names.split())


class State(enum.Enum):
    """What a function of SciPy's does with traced values, in words that follow its name."""

    RULE = "has derivatives"
    ENTERED = "is entered"
    CONSTANT = "is constant"
    REFUSED = "is refused"


def public(part: str) -> Iterator[tuple[str, Any]]:
    """The public functions, classes and distributions of `scipy.part`, by name."""
    module = import_module(f"scipy.{part}")
    for name in sorted(getattr(module, "__all__", dir(module))):
        value = getattr(module, name, None)
        error = isinstance(value, type) and issubclass(value, BaseException)
        named = not name.startswith("_") and name != "test"
        if named and callable(value) and not error and not isinstance(value, types.ModuleType):
            yield name, value


def state_of(part: str, name: str, value: Any) -> State:
    """What a public member of SciPy's does with traced values."""
    if isinstance(value, np.ufunc):
        primitive = UFUNCS.get(value) or find_special(value)
        known = primitive is not None and not isinstance(primitive.derivative, EmptySlot)
        return State.RULE if known else State.REFUSED
    places = {(part, name), scipy_place(value)}
    for state, registry in (
        (State.RULE, SCIPY_FUNCTIONS),
        (State.REFUSED, REFUSED),
        (State.CONSTANT, CONSTANT),
    ):
        if any(place in registry for place in places):
            return state
    if isinstance(value, type) and name in SCIPY_OBJECTS:
        return State.RULE
    return State.ENTERED if _is_entered(value) else State.REFUSED


def _is_entered(value: Any) -> bool:
    if isinstance(value, types.FunctionType):
        home = inspect.unwrap(value).__globals__["__name__"]
    elif isinstance(value, type) or type(value).__module__.startswith("scipy.stats."):
        home = value.__module__ if isinstance(value, type) else type(value).__module__
    else:
        return False
    file = file_of(sys.modules.get(home))
    return file is not None and is_users_file(file)


def as_markdown() -> str:
    """The table, as the manual shows it: for each part the names in each state."""
    lines = [f"Of SciPy {import_module('scipy').__version__}:"]
    for part in PARTS:
        by_state: dict[State, list[str]] = {state: [] for state in State}
        for name, value in public(part):
            by_state[state_of(part, name, value)].append(f"`{name}`")
        lines += ["", f"### scipy.{part}", ""]
        lines += [f"- *{s.value}*: {', '.join(names)}" for s, names in by_state.items() if names]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(as_markdown())
