"""Arguments of NumPy's reductions, statistics and searches along axes."""

from __future__ import annotations

from tests.capture.arguments.kinds import ANY, AXIS, DTYPE, ONE, PLACE, REAL, REDUCTION, TRUTH

REDUCTIONS: dict[str, dict[str, str]] = {
    "np.sum": {**REDUCTION, "dtype": DTYPE, "initial": "2.5;0;s;None;1j;q"},
    "np.prod": {**REDUCTION, "dtype": DTYPE, "initial": "2.5;0;s;None;q"},
    "np.max": {**REDUCTION, "initial": "0.5;-9.0;s;None;q"},
    "np.min": {**REDUCTION, "initial": "0.5;9.0;s;None;q"},
    "np.amax": {**REDUCTION, "initial": "0.5;-9.0;s"},
    "np.amin": {**REDUCTION, "initial": "0.5;9.0;s"},
    "np.mean": {**REDUCTION, "dtype": DTYPE},
    "np.var": {
        **REDUCTION,
        "dtype": DTYPE,
        "ddof": "0;1;1.5;9",
        "correction": "0;1;2.0",
        "mean": "np.mean(x);np.mean(x, 0);np.mean(x, axis=1, keepdims=True);0.3",
    },
    "np.std": {
        **REDUCTION,
        "dtype": "np.float32;complex;float;'f4'",
        "ddof": "0;1;1.5;9",
        "correction": "0;1;2.0",
        "mean": "np.mean(x);np.mean(x, 0);np.mean(x, axis=1, keepdims=True);0.3",
    },
    "np.all": {**REDUCTION, "a": ANY + ";x > 0"},
    "np.any": {**REDUCTION, "a": ANY + ";x > 0"},
    "np.ptp": {"a": ANY, "axis": AXIS, "keepdims": TRUTH},
    "np.nansum": {
        **REDUCTION,
        "dtype": DTYPE,
        "initial": "2.5;s",
        "a": ANY + ";np.where(b, x, np.nan)",
    },
    "np.nanmean": {**REDUCTION, "dtype": DTYPE, "a": ANY + ";np.where(b, x, np.nan)"},
    "np.cumsum": {"a": ANY, "axis": ONE, "dtype": DTYPE},
    "np.cumprod": {"a": ANY, "axis": ONE, "dtype": DTYPE},
    "np.argmax": {"a": ANY, "axis": ONE, "keepdims": TRUTH},
    "np.argmin": {"a": ANY, "axis": ONE, "keepdims": TRUTH},
    "np.nanargmax": {"a": REAL, "axis": ONE, "keepdims": TRUTH},
    "np.nanargmin": {"a": REAL, "axis": ONE, "keepdims": TRUTH},
    "np.count_nonzero": {"a": ANY, "axis": AXIS, "keepdims": TRUTH},
    "np.median": {"a": ANY, "axis": AXIS, "overwrite_input": TRUTH, "keepdims": TRUTH},
    "np.quantile": {
        "a": REAL + ";z;e",
        "q": "0.3;[0.1, 0.5];np.array([[0.0, 1.0]]);1.5;np.float32(0.25);1",
        "axis": AXIS,
        "overwrite_input": TRUTH,
        "keepdims": TRUTH,
        "method": "'linear';'lower';'higher';'nearest';'midpoint';'inverted_cdf';"
        "'averaged_inverted_cdf';'closest_observation';'interpolated_inverted_cdf';'hazen';"
        "'weibull';'median_unbiased';'normal_unbiased';'none'",
        "weights": "np.array([1.0, 2.0, 0.5, 1.0]);np.abs(v)",
    },
    "np.percentile": {
        "a": REAL + ";z;e",
        "q": "30;[10, 50.0];np.array([[0.0, 100.0]]);150;np.float32(25)",
        "axis": AXIS,
        "overwrite_input": TRUTH,
        "keepdims": TRUTH,
        "method": "'lower';'hazen';'inverted_cdf'",
        "weights": "np.array([1.0, 2.0, 0.5, 1.0])",
    },
    "np.average": {
        "a": ANY,
        "axis": AXIS,
        "returned": TRUTH,
        "keepdims": TRUTH,
        "weights": "v;w;np.abs(x);x * x;[1, 2, 3];np.ones((3, 4));i;np.zeros(4);w[:2]",
    },
    "np.cov": {
        "m": "x;v;z;n;f;e;s;t;m",
        "y": "v;x;y;m;w",
        "rowvar": TRUTH,
        "bias": TRUTH,
        "ddof": "0;1;2;9;1.5",
        "fweights": "[1, 2, 1, 3];k;np.array([1, 1, 2])",
        "aweights": "np.abs(v);[1.0, 2.0, 1.0, 0.5];w * w",
        "dtype": "np.float32;float;complex",
    },
    "np.corrcoef": {
        "x": "x;v;z;n;f;m;s",
        "y": "v;x;y;m",
        "rowvar": TRUTH,
        "dtype": "np.float32;float;complex",
    },
    "np.diff": {
        "a": ANY,
        "n": "0;1;2;5;-1",
        "axis": PLACE + ";None",
        "prepend": "0;s;v;v[None];x;w[:, None]",
        "append": "1.0;s;v[None];x[:1];y",
    },
    "np.ediff1d": {"ary": ANY, "to_end": "0;[1, 2];s;v;1.5;9", "to_begin": "0;[3.0];w;1j"},
}
