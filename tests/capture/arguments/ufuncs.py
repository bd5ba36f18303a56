"""Rows of ufuncs with all of their arguments, and of their methods."""

from __future__ import annotations

from itertools import product

import numpy as np

UNARY = [
    "sin",
    "cos",
    "tan",
    "arcsin",
    "arccos",
    "arctan",
    "sinh",
    "cosh",
    "tanh",
    "arcsinh",
    "arccosh",
    "arctanh",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sqrt",
    "cbrt",
    "square",
    "reciprocal",
    "absolute",
    "fabs",
    "negative",
    "positive",
    "sign",
    "conjugate",
    "deg2rad",
    "rad2deg",
    "degrees",
    "radians",
    "isnan",
    "isinf",
    "isfinite",
    "signbit",
    "logical_not",
    "floor",
    "ceil",
    "trunc",
    "rint",
]
BINARY = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "power",
    "float_power",
    "floor_divide",
    "remainder",
    "fmod",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "hypot",
    "arctan2",
    "logaddexp",
    "logaddexp2",
    "copysign",
    "heaviside",
    "equal",
    "less",
    "greater_equal",
    "logical_and",
    "logical_or",
    "logical_xor",
]
INTEGER = ["bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "gcd", "lcm"]
FOLDED = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "hypot",
    "logaddexp",
    "logaddexp2",
    "logical_and",
    "logical_or",
    "logical_xor",
    "floor_divide",
    "remainder",
    "copysign",
]

OPTIONS = (
    "",
    "dtype=np.float32",
    "dtype=complex",
    "dtype=float",
    "dtype=int",
    "casting='no'",
    "casting='safe'",
    "casting='unsafe', dtype=np.float32",
    "casting='none'",
    "order='F'",
    "subok=False",
    "signature='dd->d'",
    "signature='d->d'",
    "signature='ff->f'",
    "signature=(None, None, np.float32)",
    "dtype=float, signature='dd->d'",
    "out=None",
    "out=...",
    "keepdims=True",
    "axis=0",
    "none=1",
)
# The entries that `where` leaves out are not defined: they are compared under it.
MASKED = (
    "np.where({mask}, np.{name}({given}, where={mask}), 0)",
    "np.where({mask}, np.{name}({given}, where={mask}, dtype=np.float32), 0)",
)
STORED = (
    "[o := np.zeros((3, 4)), np.{name}({given}, out=o), o]",
    "[o := np.zeros((3, 4)), np.{name}({given}, o), o]",
    "[o := np.zeros((3, 4)), np.{name}({given}, out=(o,)), o]",
    "[o := np.ones((3, 4)), np.{name}({given}, out=o, where={mask}), o]",
    "[o := np.ones((3, 4)) + x[0, 0], np.{name}({given}, out=o, where={mask}), o]",
    "[o := np.zeros((6, 4)), np.{name}({given}, out=o[::2]), o]",
    "[o := np.zeros((4, 3)) * x[0, 0], np.{name}({given}, out=o.T), o]",
    "[o := np.zeros((2, 3, 4)), np.{name}({given}, out=o), o]",
    "[o := np.zeros((3, 4), np.float32), np.{name}({given}, out=o), o]",
    "[o := np.zeros((3, 4), complex), np.{name}({given}, out=o), o]",
    "[o := np.zeros((3, 4), int), np.{name}({given}, out=o), o]",
    "[o := np.zeros((3, 4), bool), np.{name}({given}, out=o), o]",
    "[o := np.zeros((2, 2)), np.{name}({given}, out=o), o]",
    "[o := np.zeros((3, 4)), np.{name}({given}, out=[o]), o]",
    "[o := np.zeros((3, 4)), np.{name}({given}, out=(o, o)), o]",
    "[o := np.zeros((3, 4)), np.{name}({given}, out=o, dtype=np.float32), o]",
    "[o := x * 2, np.{name}({own}, out=o), o]",
)
MASKS = ("b", "b[0]", "x > 0", "True", "np.array(True)", "n")

REDUCE = (
    "",
    "axis=1",
    "axis=None",
    "axis=(0, 1)",
    "axis=()",
    "keepdims=True",
    "initial=2.0",
    "initial=s",
    "initial=None",
    "where=b, initial=1.5",
    "where=b",
    "axis=-1, where=x > 0, initial=2",
    "dtype=np.float32",
    "dtype=complex",
    "axis=5",
    "axis=1, keepdims=True, initial=0.5",
    "dtype=bool",
)
ACCUMULATE = ("", "axis=1", "axis=-1", "dtype=np.float32", "axis=5", "axis=None", "axis=(0, 1)")
REDUCEAT = (
    "[0, 2]",
    "[0, 2, 1]",
    "[1]",
    "[2, 0, 1]",
    "[0, 0, 2]",
    "[]",
    "[5]",
    "[-1]",
    "k",
    "[0.5]",
    "[0, 1], axis=1",
    "[0, 3], axis=1, dtype=np.float32",
    "1",
)
AT = (
    "[0, 2]",
    "[0, 0, 2]",
    "k",
    "(k, [1, 1, 1])",
    "0",
    "slice(0, 2)",
    "b",
    "(slice(None), [0, 0])",
    "-1",
    "(Ellipsis, 1)",
    "[5]",
    "[]",
)


def rows() -> list[str]:
    """All rows, in a fixed order."""
    return [*_calls(), *_outputs(), *_methods(), *_products()]


def _calls() -> list[str]:
    found = []
    for name in UNARY:
        for given, option in product(("x", "z", "n", "f", "s"), OPTIONS):
            found.append(f"np.{name}({given}{', ' * bool(option)}{option})")
        for mask, text in product(MASKS, MASKED):
            found.append(text.format(name=name, given="x", mask=mask))
    pairs = (
        "x, y",
        "x, v",
        "s, x",
        "n, n + 1",
        "f, s",
        "f, 2.0",
        "z, z",
        "x, 2",
        "q, u",
        "[s, 1.0], 2",
        "i, s",
    )
    for name in BINARY:
        for given, option in product(pairs, OPTIONS):
            found.append(f"np.{name}({given}{', ' * bool(option)}{option})")
        for mask, text in product(MASKS, MASKED):
            found.append(text.format(name=name, given="x, y", mask=mask))
    for name, given, option in product(
        INTEGER, ("n, n + 3", "i, i", "n, 2", "n, s", "b, b"), OPTIONS
    ):
        found.append(f"np.{name}({given}{', ' * bool(option)}{option})")
    for given, option in product(("x, x", "n, 2", "x, s", "f, 2.0"), OPTIONS):
        found.append(f"np.divmod({given}{', ' * bool(option)}{option})")
    return found


def _outputs() -> list[str]:
    found = []
    for name, text in product((*UNARY, *BINARY), STORED):
        binary = name in BINARY
        given, own = ("x, y", "o, y") if binary else ("x", "o")
        found.append(text.format(name=name, given=given, own=own, mask="b"))
    for name in ("divmod", "modf"):
        given = "x, y" if name == "divmod" else "x"
        found += [
            f"[o := np.zeros((3, 4)), np.{name}({given}, out=(o, None)), o]",
            f"[o := np.zeros((3, 4)), r := np.zeros((3, 4)), np.{name}({given}, o, r), o, r]",
            f"[o := np.zeros((3, 4)), np.{name}({given}, out=o), o]",
            f"[o := np.zeros((3, 4)), np.{name}({given}, where=b, out=(o, o * 1)), o]",
        ]
    return found


def _methods() -> list[str]:
    found = []
    for name in FOLDED:
        for array, option in product(("x", "v", "np.abs(t)", "f", "n", "e", "i", "q"), REDUCE):
            found.append(f"np.{name}.reduce({array}{', ' * bool(option)}{option})")
        for array, option in product(("x", "v", "np.abs(t)", "f", "n", "e", "q"), ACCUMULATE):
            found.append(f"np.{name}.accumulate({array}{', ' * bool(option)}{option})")
        for array, option in product(("x", "v", "n", "f"), REDUCEAT):
            found.append(f"np.{name}.reduceat({array}, {option})")
        for option in (
            "v, w",
            "x, v",
            "s, v",
            "v, s",
            "n, w",
            "v, w, dtype=np.float32",
            "v, [1, 2]",
            "v",
            "v, w, where=np.array([True, False, True])",
        ):
            if "where" not in option:
                found.append(f"np.{name}.outer({option})")
        for index, value in product(AT, ("2.0", "s", "1", "1j", "x[0, 0]", "v", "x[0]")):
            found.append(f"[o := x * 1, np.{name}.at(o, {index}, {value}), o]")
            found.append(f"[o := np.ones((3, 4)), np.{name}.at(o, {index}, {value}), o]")
        found += [
            f"[o := np.zeros(4), np.{name}.reduce(x, out=o), o]",
            f"[o := np.zeros(4), np.{name}.reduce(x, 0, None, o), o]",
            f"[o := np.zeros(4, np.float32), np.{name}.reduce(x, out=o), o]",
            f"[o := np.zeros((1, 4)), np.{name}.reduce(x, keepdims=True, out=o), o]",
            f"[o := np.zeros(3), np.{name}.reduce(x, out=o), o]",
            f"[o := np.zeros((3, 4)), np.{name}.accumulate(x, out=o), o]",
            f"[o := np.zeros((3, 4)), np.{name}.accumulate(x, 1, None, o), o]",
            f"[o := np.zeros((2, 4)), np.{name}.reduceat(x, [0, 1], out=o), o]",
            f"[o := np.zeros((4, 3)), np.{name}.outer(v, w, out=o), o]",
            f"np.{name}.at(np.ones(3), [0, 1], s)",
        ]
    for name, index in product(("negative", "exp", "sqrt"), AT):
        found.append(f"[o := np.abs(x), np.{name}.at(o, {index}), o]")
    found += [
        "np.sin.reduce(x)",
        "np.matmul.reduce(x)",
        "np.sin.accumulate(x)",
        "np.divmod.reduce(x)",
        "np.sin.outer(x, x)",
        "np.matmul.outer(m, m)",
        "np.sin.reduceat(x, [0])",
        "np.gcd.reduce(n)",
        "np.bitwise_or.reduce(n)",
        "np.lcm.reduce(n, axis=1)",
        "np.less.reduce(x)",
        "np.equal.reduce(b)",
    ]
    return found


def _products() -> list[str]:
    found = []
    cube, stack = "np.abs(t)", "np.swapaxes(t, 1, 2)"
    for given in ("x, y.T", f"{cube}, {stack}", "m, w", "w, m", f"{cube}, {stack}[0]"):
        for option in (
            "axes=[(0, 1), (0, 1), (0, 1)]",
            "axes=[(1, 0), (1, 0), (1, 0)]",
            "axes=[(-2, -1), (-2, -1), (0, 1)]",
            "axes=[(0, 1), (0,), (0,)]",
            "axes=[(0,), (0, 1), (0,)]",
            "axes=[(-1, -2), (-1, -2), (-1, -2)]",
            "axes=[(0, 1), (0, 1)]",
            "axes=[0, 0, 0]",
            "axes=((0, 1),) * 3",
            "axis=0",
            "keepdims=True",
            "dtype=np.float32",
            "dtype=complex",
            "casting='no'",
            "signature='ff->f'",
            "axes=[(0, 5), (0, 1), (0, 1)]",
            "axes=[(0, 2), (2, 1), (1, 0)]",
        ):
            found.append(f"np.matmul({given}, {option})")
        found += [
            f"[o := np.zeros((3, 3)), np.matmul({given}, out=o), o]",
            f"[o := np.zeros((3, 3)), np.matmul({given}, o), o]",
            f"[o := np.zeros(3), np.matmul({given}, out=o), o]",
            f"[o := np.zeros((3, 3), int), np.matmul({given}, out=o), o]",
            f"[o := np.zeros((2, 3, 3)), np.matmul({given}, out=o), o]",
        ]
    for given in ("x, y", "x, v", "z, z", "v, v", "t, t", f"t, {stack}", "n, n", "b, b", "f, x"):
        for option in (
            "",
            "axis=0",
            "axis=-1",
            "axis=1",
            "keepdims=True",
            "axis=0, keepdims=True",
            "axes=[0, 0, ()]",
            "axes=[0, 0]",
            "axes=[-1, 1, ()]",
            "axes=[1, 2]",
            "axes=[(0,), (0,), ()]",
            "axes=[0, 0, 0]",
            "axes=[0, 0, 0], keepdims=True",
            "axis=0, axes=[0, 0]",
            "axis=7",
            "dtype=np.float32",
            "casting='no'",
        ):
            found.append(f"np.vecdot({given}{', ' * bool(option)}{option})")
        found.append(f"[o := np.zeros(3), np.vecdot({given}, out=o), o]")
    for given in ("m, w", "x, v", "t, v[:2]", "np.stack([m, m]), w", "z, c[:3]", "x, w"):
        for option in (
            "",
            "axes=[(0, 1), 0, 0]",
            "axes=[(1, 0), 0, 0]",
            "dtype=complex",
            "axes=[(-2, -1), -1, -1]",
        ):
            found.append(f"np.matvec({given}{', ' * bool(option)}{option})")
            first, second = (
                given.split(", ", 1) if "stack" not in given else ("np.stack([m, m])", "w")
            )
            found.append(f"np.vecmat({second}, {first}{', ' * bool(option)}{option})")
    return found


def sampled(count: int, seed: int = 0) -> list[str]:
    """Some of the rows, always the same."""
    every = rows()
    chosen = np.random.default_rng(seed).choice(len(every), count, replace=False)
    return [every[place] for place in sorted(chosen.tolist())]
