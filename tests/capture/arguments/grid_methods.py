"""Arguments of the methods of arrays."""

from __future__ import annotations

from tests.capture.arguments.kinds import AXIS, DTYPE, ONE, TRUTH, WHERE

# Methods of arrays: the same as the functions, but for their signatures.
METHODS: dict[str, dict[str, str]] = {
    "all": {"axis": AXIS, "keepdims": TRUTH, "where": WHERE},
    "any": {"axis": AXIS, "keepdims": TRUTH, "where": WHERE},
    "argmax": {"axis": ONE, "keepdims": TRUTH},
    "argmin": {"axis": ONE, "keepdims": TRUTH},
    "argsort": {"axis": ONE, "kind": "'stable'", "stable": TRUTH + ";None"},
    "astype": {
        "dtype": DTYPE,
        "order": "'K';'F'",
        "casting": "'unsafe';'safe';'no'",
        "subok": TRUTH,
        "copy": TRUTH,
    },
    "clip": {"min": "None;0;s;v", "max": "None;1;s;v + 1"},
    "compress": {"condition": "[True, False];b[0]", "axis": ONE},
    "copy": {"order": "'C';'F';'K'"},
    "cumsum": {"axis": ONE, "dtype": DTYPE},
    "cumprod": {"axis": ONE, "dtype": DTYPE},
    "diagonal": {"offset": "0;1", "axis1": "0;1", "axis2": "1;0"},
    "dot": {"b": "v;s;2.0;y.T"},
    "flatten": {"order": "'C';'F';'A';'K'"},
    "item": {"*": "0;(0, 1);-1;9;0, 1"},
    "max": {"axis": AXIS, "keepdims": TRUTH, "initial": "0.5;s", "where": WHERE},
    "min": {"axis": AXIS, "keepdims": TRUTH, "initial": "0.5;s", "where": WHERE},
    "mean": {"axis": AXIS, "dtype": DTYPE, "keepdims": TRUTH, "where": WHERE},
    "prod": {"axis": AXIS, "dtype": DTYPE, "keepdims": TRUTH, "initial": "0.5;s", "where": WHERE},
    "sum": {"axis": AXIS, "dtype": DTYPE, "keepdims": TRUTH, "initial": "0.5;s", "where": WHERE},
    "std": {
        "axis": AXIS,
        "dtype": "np.float32;float",
        "ddof": "0;1",
        "keepdims": TRUTH,
        "where": WHERE,
        "mean": "0.3;np.mean(x)",
    },
    "var": {
        "axis": AXIS,
        "dtype": DTYPE,
        "ddof": "0;1",
        "keepdims": TRUTH,
        "where": WHERE,
        "mean": "0.3;np.mean(x)",
    },
    "ravel": {"order": "'C';'F';'A';'K'"},
    "repeat": {"repeats": "2;[1, 2, 1];0", "axis": ONE},
    "reshape": {"*": "-1;4, 3;(2, 6);(-1, 2)", "order": "'C';'F';'A'", "copy": "True;None;False"},
    "round": {"decimals": "0;1;-1"},
    "squeeze": {"axis": AXIS},
    "swapaxes": {"axis1": "0;-1", "axis2": "1;0;7"},
    "take": {"indices": "0;[0, 1];k;9", "axis": ONE, "mode": "'raise';'wrap';'clip'"},
    "trace": {"offset": "0;1", "axis1": "0;1", "axis2": "1;0", "dtype": DTYPE},
    "transpose": {"*": "1, 0;(1, 0);None;0, 0"},
    "searchsorted": {
        "v": "0.3;s;[0.1, 0.2]",
        "side": "'left';'right'",
        "sorter": "None;[0, 1, 2, 3]",
    },
    "nonzero": {},
    "conj": {},
    "tolist": {},
}
