"""Rows of every kind of index: read, written, and added where entries are named twice."""

from __future__ import annotations

INDICES = [
    "0",
    "-1",
    "1:",
    ":-1",
    "::2",
    "::-1",
    "-1:0:-2",
    "5:",
    "-9:9",
    "...",
    "None",
    "(0, 1)",
    "(0, -1)",
    "(slice(None), 1)",
    "(..., 0)",
    "(0, ...)",
    "(0, None)",
    "(None, ..., None)",
    "(slice(None, None, -1), slice(None, None, 2))",
    "[0, 2]",
    "[0, 0, 1]",
    "[-1, 0]",
    "[]",
    "k",
    "np.array([[0, 1], [2, 0]])",
    "(k, 0)",
    "(0, [1, 3])",
    "(k, k)",
    "(k, slice(1, 3))",
    "(slice(None), k)",
    "(slice(None, None, -1), [0, 0])",
    "(..., k)",
    "(None, k)",
    "(k, None)",
    "(k, None, k)",
    "(np.array([[0], [1]]), [1, 2])",
    "np.ix_([0, 2], [1, 3])",
    "np.ix_([True, False, True], [0, 1])",
    "b",
    "b[:, 0]",
    "(b[:, 0], 1)",
    "(b[:, 0], slice(None))",
    "(slice(None), b[0])",
    "(0, b[0])",
    "x > 0",
    "~b",
    "b & (x > 0)",
    "np.array(1)",
    "(np.array(0), np.array(2))",
    "np.int64(2)",
    "np.uint8(1)",
    "(k, -1)",
    "([0, 1], [0, 1])",
    "(slice(0, 0), 0)",
    "np.zeros((3, 4), bool)",
    "np.array([], int)",
    "(k % 2, k % 3)",
    "9",
    "(0, 9)",
    "[9]",
    "1.0",
    "(0, 0, 0)",
    "b[0]",
    "np.array([0.5])",
    "'a'",
    "(k, [0, 1])",
    "(..., ...)",
]
CUBE = [
    "0",
    "(slice(None), k, 0)",
    "(0, k)",
    "(k % 2, slice(None), k % 2)",
    "(k % 2, 0, k % 2)",
    "(slice(None), 0, k % 2)",
    "(..., k % 2)",
    "(0, ..., 1)",
    "(None, 0, ..., None)",
    "(k % 2, None, k % 2)",
    "t[:, :, 0] > 0",
    "(t[:, :, 0] > 0, 1)",
    "(0, t[0] > 0)",
    "(slice(None), [True, False, True])",
    "(slice(None, None, -1), [2, 0], slice(None, None, -1))",
    "([0, 1], slice(None), [1, 0])",
]
VALUES = (
    "1.5",
    "s",
    "x[0, 0]",
    "0",
    "[1.0, 2.0]",
    "v",
    "w",
    "w[:, None]",
    "x",
    "np.float32(2)",
    "1j",
)


def rows() -> list[str]:
    """All rows, in a fixed order."""
    found = [f"{name}[{index}]" for index in INDICES for name in ("x", "F", "R", "O", "f", "z")]
    found += [f"x[::-1][{index}]" for index in INDICES]
    found += [f"t[{index}]" for index in CUBE]
    for index in INDICES:
        for value in VALUES:
            call = index if ":" not in index else f"np.s_[{index}]"
            found.append(f"[o := x * 1, o.__setitem__({call}, {value}), o]")
            found.append(f"[o := np.zeros((3, 4)), o.__setitem__({call}, {value}), o]")
        call = index if ":" not in index else f"np.s_[{index}]"
        found.append(f"[o := x * 1, a := o[::-1, ::2].T, a.__setitem__({call}, s), o]")
        found.append(f"[o := np.ones((3, 4)), np.add.at(o, {call}, s), o]")
        found.append(f"[o := x * 1, o.__setitem__({call}, o[{index}] + s), o]")
    return found
