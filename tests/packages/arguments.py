"""Arguments for a function that is known by the names of its parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

# What is usual under a name, in SI units.
RANGES: dict[str, tuple[float, float]] = {
    **dict.fromkeys(("T", "T1", "T2", "Th", "Tc", "Tw", "Ts", "temp", "temperature"), (290, 360)),
    **dict.fromkeys(("Tb", "Tm", "Tsat", "T_sat", "Tt"), (300, 400)),
    **dict.fromkeys(("Tc", "Tcs", "Tc1", "Tc2"), (500, 650)),
    **dict.fromkeys(("Tr",), (0.6, 0.9)),
    **dict.fromkeys(("P", "P1", "P2", "Psat", "Pa", "pressure"), (1e5, 5e5)),
    **dict.fromkeys(("Pc", "Pcs"), (3e6, 5e6)),
    **dict.fromkeys(("Vc", "Vm", "V"), (1e-4, 4e-4)),
    **dict.fromkeys(("Zc",), (0.25, 0.3)),
    **dict.fromkeys(("omega",), (0.1, 0.4)),
    **dict.fromkeys(("MW", "MW1", "MW2"), (20, 100)),
    **dict.fromkeys(("rho", "rhol", "rhoL", "rho1"), (700, 1000)),
    **dict.fromkeys(("rhog", "rhoG", "rho2"), (1, 10)),
    **dict.fromkeys(("mu", "mul", "muL", "mu_b", "mu_w"), (5e-4, 2e-3)),
    **dict.fromkeys(("mug", "muG"), (1e-5, 3e-5)),
    **dict.fromkeys(("k", "kl", "k_l"), (0.1, 0.7)),
    **dict.fromkeys(("Cp", "Cpl", "Cpg"), (1e3, 4e3)),
    **dict.fromkeys(("sigma",), (0.02, 0.07)),
    **dict.fromkeys(("D", "Di", "d", "dp", "diameter"), (0.05, 0.3)),
    **dict.fromkeys(("Do", "D2"), (0.35, 0.6)),
    **dict.fromkeys(("L", "H", "length"), (1, 5)),
    **dict.fromkeys(("m", "mdot"), (0.5, 3)),
    **dict.fromkeys(("Re", "Re_D"), (2e4, 9e4)),
    **dict.fromkeys(("Pr", "Prl"), (0.8, 7)),
    **dict.fromkeys(("Gr", "Ra"), (1e6, 1e8)),
    **dict.fromkeys(("x", "quality"), (0.2, 0.8)),
    **dict.fromkeys(("eD",), (1e-4, 1e-3)),
    **dict.fromkeys(("lat", "lat0", "lat1", "lat2", "latitude"), (20, 60)),
    **dict.fromkeys(("lon", "lon0", "lon1", "lon2"), (10, 100)),
    **dict.fromkeys(("wavelength", "wavelengths", "wl"), (450, 650)),
}
# What else is meant by a name in one package: places on the Earth, in metres from its middle.
OWN_RANGES: dict[str, dict[str, tuple[float, float]]] = {
    "pymap3d": dict.fromkeys(("x", "y", "z", "x0", "y0", "z0"), (3e6, 5e6)),
}
Style = Callable[[str, np.random.Generator], Any]


def arguments(function: Any, seed: int) -> Iterator[tuple[Any, ...]]:
    """Arguments in several styles, the likeliest first."""
    names = required(function)
    if not names:
        return
    own = OWN_RANGES.get(function.__module__.partition(".")[0], {})

    def usual(name: str, generator: np.random.Generator) -> Any:
        return float(generator.uniform(*own.get(name, RANGES.get(name, (0.3, 1.7)))))

    for attempt in range(2):
        for style in (usual, _number, _geometric, _triple, _quadruple, _square):
            generator = np.random.default_rng((seed, attempt))
            yield tuple([style(name, generator) for name in names])


def required(function: Any) -> list[str]:
    """The names of the parameters that have no default."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [p.name for p in parameters if p.default is p.empty and p.kind in positional]


def _number(_: str, generator: np.random.Generator) -> Any:
    return float(generator.uniform(0.3, 1.7))


def _triple(_: str, generator: np.random.Generator) -> Any:
    return generator.uniform(0.2, 0.9, 3)


def _quadruple(_: str, generator: np.random.Generator) -> Any:
    row = generator.uniform(0.2, 0.9, 4)
    return row / np.linalg.norm(row)


def _square(_: str, generator: np.random.Generator) -> Any:
    return rotation(generator)


def rotation(generator: np.random.Generator) -> Any:
    """A matrix of a rotation by a moderate angle."""
    a, b, c = generator.uniform(0.2, 0.9, 3)
    about = {
        "z": [[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [0, 0, 1]],
        "y": [[np.cos(b), 0, np.sin(b)], [0, 1, 0], [-np.sin(b), 0, np.cos(b)]],
        "x": [[1, 0, 0], [0, np.cos(c), -np.sin(c)], [0, np.sin(c), np.cos(c)]],
    }
    return np.linalg.multi_dot([np.array(matrix, float) for matrix in about.values()])


def _rigid(generator: np.random.Generator) -> Any:
    matrix = np.eye(4)
    matrix[:3, :3] = rotation(generator)
    matrix[:3, 3] = generator.uniform(0.2, 0.9, 3)
    return matrix


def _geometric(name: str, generator: np.random.Generator) -> Any:
    """What a name stands for in packages about rotations and motions."""
    small = name.lower()
    if name in ("R", "mat", "matrix", "M", "R1", "R2") or small.startswith("matrix"):
        return rotation(generator)
    if "2" in name and name[0] in "ABC":
        return _rigid(generator)
    if small in ("q", "q1", "q2", "quaternion", "rotor"):
        return _quadruple(name, generator)
    if small in ("a", "a1", "a2", "axisangle"):
        return np.append(_triple(name, generator) / 2, 0.7)
    if small in ("dq", "dq1", "dq2", "pq", "stheta"):
        size = {"pq": 7, "stheta": 6}.get(small, 8)
        return generator.uniform(0.2, 0.9, size)
    if any(part in small for part in ("angle", "theta", "phi", "psi", "alpha", "beta", "gamma")):
        return float(generator.uniform(0.2, 0.9))
    return _triple(name, generator)
