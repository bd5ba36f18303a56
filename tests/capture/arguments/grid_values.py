"""Arguments of NumPy's functions of numbers, grids and products."""

from __future__ import annotations

from tests.capture.arguments.kinds import ANY, DTYPE, PLACE, REAL, TRUTH

VALUES: dict[str, dict[str, str]] = {
    "np.gradient": {
        "f": "x;v;t;z;n;f;s;v[:2];v[:1];b;[s, 1.0, 2.0]",
        "*": "0.5;s;np.array([0.0, 1.0, 1.5, 3.0]);"
        "[0, 1, 2, 4];np.cumsum(v * v);2;0.5, 2.0;0.5, [0, 1, 2, 4]",
        "axis": "0;-1;(0, 1);None;(1,);5;()",
        "edge_order": "1;2;3",
    },
    "np.trapezoid": {
        "y": "x;v;t;z;n;f;s;e;b",
        "x": "v;np.cumsum(v * v);y;w;[0, 1, 3, 4];f",
        "dx": "0.5;s;2;1j",
        "axis": PLACE,
    },
    "np.interp": {
        "x": "s;x;n;0.5;q;f;-5.0;9;e",
        "xp": "[0, 1, 2];np.array([0.0, 0.5, 1.9]);np.cumsum(w * w)",
        "fp": "w;[1, 2, 5];w + 1j;k;f[0, :3]",
        "left": "0.5;s;None;1j",
        "right": "2;s;None",
        "period": "2.0;360;2.5 + s;-3.0;0",
    },
    "np.linspace": {
        "start": "s;0;v;1.0;q;n;z;u;f;[s, 1.0]",
        "stop": "2.0;s;2 * v;5;v;w[:2]",
        "num": "5;1;0;2;-1;3.5",
        "endpoint": TRUTH,
        "retstep": TRUTH,
        "dtype": DTYPE,
        "axis": "0;-1;1;3",
        "device": "'cpu';None;'gpu'",
    },
    "np.geomspace": {
        "start": "s;1;np.abs(v) + 1;2.0;1 + s * 1j;-s;f[0, 0] * f[0, 0] + 1",
        "stop": "3.0;s + 2;v * v + 3;100;-3.0",
        "num": "5;1;0;2",
        "endpoint": TRUTH,
        "dtype": DTYPE,
        "axis": "0;-1",
    },
    "np.logspace": {
        "start": "s;0;v;1.0;n",
        "stop": "2.0;s;2 * v;3",
        "num": "4;1;0",
        "endpoint": TRUTH,
        "base": "2.0;s;10;np.abs(v)",
        "dtype": DTYPE,
        "axis": "0;-1",
    },
    "np.meshgrid": {
        "*": "v, w;v;v, w, s;n, v;w, w, w;[1, 2], v;x, v",
        "copy": TRUTH,
        "sparse": TRUTH,
        "indexing": "'xy';'ij';'xx'",
    },
    "np.polyval": {
        "p": "v;[1, 2, 3];n[0];z[0];f[0];s;[s, 1.0];e[:, 0]",
        "x": "s;x;2;n;z;f;q;[s, 2]",
    },
    "np.convolve": {
        "a": "v;w;n[0];z[0];f[0];s;[1, 2];v[:0];x",
        "v": "w;v;[1, 2.0];c;s;3;i",
        "mode": "'full';'same';'valid';'none';0;1;2",
    },
    "np.correlate": {
        "a": "v;w;n[0];z[0];f[0];s;[1, 2];v[:0];x",
        "v": "w;v;[1, 2.0];c;s;3;i",
        "mode": "'full';'same';'valid';'none'",
    },
    "np.vander": {
        "x": "v;w;n[0];z[0];f[0];x;i;[s, 1];v[:0];b[0]",
        "N": "3;0;1;None;6",
        "increasing": TRUTH,
    },
    "np.clip": {
        "a": ANY,
        "a_min": "None;0;-0.5;v;s;[0, 0.1, 0.2, 0.3];np.float32(0.1)",
        "a_max": "None;1;0.5;v + 1;s;q;y",
        "min": "None;0;s;v",
        "max": "None;1;s;v",
        "**": "dtype=np.float32;casting='unsafe';casting='no'",
    },
    "np.round": {"a": ANY, "decimals": "0;1;-1;3"},
    "np.around": {"a": ANY, "decimals": "0;1;-1;3"},
    "np.fix": {"x": REAL + ";z;b;2.0"},
    "np.sinc": {"x": ANY + ";0.0 * s;[0.0, s]"},
    "np.angle": {"z": ANY, "deg": TRUTH},
    "np.nan_to_num": {
        "x": ANY + ";np.where(b, x, np.nan);x / b;-x / b;np.where(b, x, np.inf)",
        "copy": "True",
        "nan": "0.0;1.5;s;v;w",
        "posinf": "None;9.0;s;v",
        "neginf": "None;-9.0;s;v",
    },
    "np.where": {
        "condition": "b;x > 0;True;x;n;[True, False, True, True];b[0];s > 0;s",
        "x": "x;v;s;1;z;f;2.0;n;[1, 2, 3, 4]",
        "y": "y;0;s;v;1j;f;b",
    },
    "np.select": {
        "condlist": "[b, x > 1];[x > 0, x < -1];[b[0], b];[True, False];[b, n]",
        "choicelist": "[x, y];[x, 1];[v, s];[f, 2.0];[1, 2];[x]",
        "default": "0;s;1.5;np.nan;1j;v",
    },
    "np.dot": {"a": "x;v;s;t;z;n;f;[1.0, 2, 3];q;e", "b": "v;w;y.T;s;t;2.0;m;c;[v, v]"},
    "np.matmul": {
        "x1": "x;v;t;z;n;f;[1.0, 2, 3];m;e",
        "x2": "v;w;y.T;t;m;c;x;np.swapaxes(t, 1, 2);s",
        "casting": "'same_kind';'no';'unsafe'",
        "order": "'K';'C';'F'",
        "dtype": "np.float32;complex;float;int",
        "subok": TRUTH,
        "axes": (
            "[(0, 1), (0, 1), (0, 1)];[(-1, -2), (-1, -2), (-2, -1)];[(-2, -1), (-1, 0), (-2, -1)]"
        ),
        "axis": "0",
        "keepdims": TRUTH,
        "signature": "'dd->d';'ff->f'",
    },
    "np.vecdot": {
        "x1": "x;v;t;z;n;f;m;e",
        "x2": "v;w;y;z;m;c;x;t",
        "casting": "'same_kind';'no'",
        "order": "'K'",
        "dtype": "np.float32;complex",
        "subok": TRUTH,
        "axes": "[0, 0, ()];[-1, -1, ()];[0, 0];[0, 0, 0]",
        "axis": "0;-1;5",
        "keepdims": TRUTH,
        "signature": "'dd->d'",
    },
    "np.linalg.vecdot": {"x1": "x;v;t;z;n;f;m;[v, v]", "x2": "v;w;y;z;m;c;x;t", "axis": "0;-1;5"},
    "np.vdot": {"a": "x;v;z;n;s;f;[s, 1.0]", "b": "y;v;z;c;s;2.0;x"},
    "np.inner": {"a": "x;v;s;t;z;n;f;[1.0, 2, 3]", "b": "v;w;y;s;t;2.0;m;c"},
    "np.outer": {"a": "x;v;s;z;n;f;[1.0, 2]", "b": "v;w;y;s;2.0;c"},
    "np.linalg.outer": {"x1": "x;v;s;z;n;f", "x2": "v;w;y;s;c"},
    "np.tensordot": {
        "a": "x;v;t;z;n;f;s",
        "b": "x;v;t;y.T;m;s;p",
        "axes": "0;1;2;(0, 0);([0], [0]);([1, 0], [1, 0]);"
        "([1], [0]);(-1, 0);3;([0, 1], [0]);-1;5;[[], []];np.array([[1], [0]])",
    },
    "np.kron": {"a": "x;v;s;t;z;n;f;e", "b": "v;w;y;s;2.0;t;m"},
    "np.cross": {
        "a": "w;m;t;z;n;f[:, :3];[1.0, 2, 3];x;p",
        "b": "w;m;[1, 0, 2];p;x;z",
        "axisa": "0;-1;1",
        "axisb": "0;-1;1",
        "axisc": "0;-1;1",
        "axis": "0;-1;1;None;5",
    },
    "np.linalg.cross": {
        "x1": "w;m;z;n;[1.0, 2, 3];x",
        "x2": "w;m;[1, 0, 2];p;x",
        "axis": "0;-1;1;5",
    },
    "np.einsum": {
        "*": "'ij,ij', x, y;'ij->ji', x;'ij,j->i', x, v;'ii->i', m;'ii', m;'...j,j->...', t, w[:2];"
        "'ij,jk,k', x, y.T, w;'i,j->ji', v, w;x, [0, 1], v, [1], [0];x, [0, 1];x, [0, 1], [1, 0];"
        "'ij,jk', z, m;'ij,ij', n, n;'ij,kj', f, x;'i,i', s, v;',i', s, v;'...', x;"
        "x, [..., 0], v, [0], [...];"
        "'ij,jk', x, x;'iij', x;'ij->k', x;'i->ii', v;'ij->', b;'i,i,i->i', v, v, v;"
        "m, [0, 0];'ij,ij->ij', x[:1], y",
        "**": (
            "optimize=True;optimize=False;optimize='greedy';optimize='optimal';"
            "dtype=np.float32;order='F';casting='unsafe';dtype=complex;casting='no'"
        ),
    },
    "np.linalg.multi_dot": {"arrays": "[w, x, v];[x, y.T];[x, y.T, x, v];(w, m, m, w);[x];[x, x]"},
    "np.linalg.norm": {
        "x": "x;v;t;z;n;f;s;c;e;[s, 1.0];m;v[:0]",
        "ord": "None;1;2;np.inf;-np.inf;3;0.5;0;-1;-2;'fro';'nuc';'abc';2.5",
        "axis": "None;0;-1;(0, 1);(1, 0);(0, 0);5;(0, 1, 2);(1,)",
        "keepdims": TRUTH,
    },
    "np.linalg.vector_norm": {
        "x": "x;v;t;z;n;f;s;c;e;[s, 1.0]",
        "axis": "None;0;-1;(0, 1);5;(0, 1, 2)",
        "keepdims": TRUTH,
        "ord": "1;2;np.inf;-np.inf;3;0.5;0;-1;'fro'",
    },
    "np.linalg.trace": {"x": "x;t;n;z;v;m", "offset": "0;1;-1", "dtype": DTYPE},
    "np.linalg.diagonal": {"x": "x;t;n;z;v", "offset": "0;1;-1"},
    "np.linalg.solve": {
        "a": "m;np.stack([m, m + 1]);n @ n.T;x;m + 1j;m.astype(np.float32)",
        "b": "w;m;x;[1, 2, 3];w + 1j;w[:2];k",
    },
    "np.linalg.inv": {"a": "m;np.stack([m, m + 1]);m + 1j;x;v;0 * m;m.astype(np.float32);n @ n.T"},
    "np.linalg.det": {"a": "m;np.stack([m, m + 1]);m + 1j;x;v;0 * m;m.astype(np.float32);n @ n.T"},
    "np.linalg.slogdet": {"a": "m;np.stack([m, m + 1]);m + 1j;x;v;m.astype(np.float32);n @ n.T"},
    "np.linalg.cholesky": {
        "a": "m @ m.T;np.stack([m @ m.T] * 2);x;v;-m @ m.T;z @ z.conj().T + np.eye(2)",
        "upper": TRUTH,
    },
    "np.linalg.matrix_power": {
        "a": "m;np.stack([m, m]);m + 1j;x;n @ n.T;0 * m",
        "n": "0;1;2;3;-1;-2;5;np.int64(2)",
    },
    "np.isclose": {
        "a": "x;v;s;z;n",
        "b": "y;x;v;0.7;z",
        "rtol": "1e-3;0.5;v",
        "atol": "1e-3;1.0;0",
        "equal_nan": TRUTH,
    },
    "np.allclose": {
        "a": "x;v;s;z;n",
        "b": "y;x;v;0.7;z",
        "rtol": "1e-3;0.5",
        "atol": "1e-3;1.0;0",
        "equal_nan": TRUTH,
    },
    "np.array_equal": {"a1": "x;v;s;z;n", "a2": "y;x;v;0.7;z", "equal_nan": TRUTH},
    "np.polynomial.polynomial.polyval": {
        "x": "s;x;v;n;z;[s, 2]",
        "c": "v;w;x;[1, 2];n",
        "tensor": TRUTH,
    },
    "np.polynomial.legendre.legval": {"x": "s;x;v;n", "c": "v;w;x;[1, 2]", "tensor": TRUTH},
    "np.polynomial.chebyshev.chebval": {"x": "s;x;v;n", "c": "v;w;x;[1, 2]", "tensor": TRUTH},
    "np.polynomial.polynomial.polyvalfromroots": {
        "x": "s;x;v;n;z",
        "r": "v;w;x;[1, 2]",
        "tensor": TRUTH,
    },
}
