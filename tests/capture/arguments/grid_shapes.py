"""Arguments of NumPy's functions that sort, pick, arrange, join and make arrays."""

from __future__ import annotations

from tests.capture.arguments.kinds import ANY, AXIS, DTYPE, ONE, PLACE, TRUTH

SHAPES: dict[str, dict[str, str]] = {
    "np.sort": {
        "a": ANY,
        "axis": ONE,
        "kind": "'stable';'quicksort';'mergesort';'heapsort';'none'",
        "order": "None;'f'",
        "stable": TRUTH + ";None",
        "descending": TRUTH,  # from NumPy 2.5 on
    },
    "np.argsort": {
        "a": ANY,
        "axis": ONE,
        "kind": "'stable';'quicksort'",
        "order": "None;'f'",
        "stable": TRUTH + ";None",
        "descending": TRUTH,  # from NumPy 2.5 on
    },
    "np.argpartition": {
        "a": "v;f[0];x",
        "kth": "0;-1;[0, 1];9",
        "axis": ONE,
        "kind": "'introselect'",
        "order": "None",
    },
    "np.lexsort": {"keys": "(v, v);x;[v, i]", "axis": PLACE},
    "np.searchsorted": {
        "a": "np.sort(v);[0, 1, 2];np.array([0.0, 0.5]);v",
        "v": "s;x;0.3;[0.1, 0.2];n",
        "side": "'left';'right';'none'",
        "sorter": "np.argsort(v);None;[3, 2, 1, 0]",
    },
    "np.digitize": {
        "x": "x;s;n;[0.1, 0.5]",
        "bins": "[0.0, 1.0];np.sort(v);[1.0, 0.0];v",
        "right": TRUTH,
    },
    "np.unique": {
        "ar": "v;n;i;np.round(x)",
        "return_index": TRUTH,
        "return_inverse": TRUTH,
        "return_counts": TRUTH,
        "axis": "None;0;-1;5",
        "equal_nan": TRUTH,
        "sorted": "True",
    },
    "np.isin": {
        "element": "n;np.round(x)",
        "test_elements": "[0, 1];np.round(v);i",
        "assume_unique": TRUTH,
        "invert": TRUTH,
        "kind": "None;'sort';'table'",
    },
    "np.bincount": {
        "x": "k;i;n;[0, 2, 0]",
        "weights": "w;[1.0, 2.0, 3.0];v;z[0];None",
        "minlength": "0;5;-1",
    },
    "np.nonzero": {"a": "x;b;n;s;x > 0;z"},
    "np.flatnonzero": {"a": "x;b;n;x > 0"},
    "np.argwhere": {"a": "x;b;n;x > 0;q"},
    "np.extract": {"condition": "b;x > 0;[True, False];b[0]", "arr": "x;v;f;y[0]"},
    "np.compress": {
        "condition": "b[0];[True, False];[True, False, True];v > 0;[True] * 9;b",
        "a": "x;v;z;f;t",
        "axis": ONE,
    },
    "np.take": {
        "a": ANY,
        "indices": "0;-1;[0, 1];k;[[0, 1], [1, 0]];9;[9, -9];[];np.array(1);1.0;i",
        "axis": ONE,
        "mode": "'raise';'wrap';'clip';'none'",
    },
    "np.take_along_axis": {
        "arr": "x;v;t;z;f",
        "axis": ONE,
        "indices": (
            "np.argsort(x, 1);np.argsort(x, 0);k;np.array([[0], [1], [2]]);"
            "np.argsort(v);np.array([[0.0]])"
        ),
    },
    "np.repeat": {
        "a": ANY,
        "repeats": "2;0;[1, 2, 3];[1, 0, 2, 1];-1;[2];k;1.5;np.int8(2)",
        "axis": ONE,
    },
    "np.tile": {"A": ANY, "reps": "2;(2, 1);(1, 2, 3);0;();-1;[2, 1];k"},
    "np.roll": {"a": ANY, "shift": "1;-2;(1, 2);0;9;[1]", "axis": ONE + ";(0, 1);(0, 0)"},
    "np.rot90": {
        "m": "x;t;z;v;n;f",
        "k": "0;1;2;3;-1;5",
        "axes": "(0, 1);(1, 0);(-1, 0);(0, 0);(0, 5);(1, 2);[0, 1]",
    },
    "np.flip": {"m": ANY, "axis": AXIS},
    "np.flipud": {"m": ANY},
    "np.fliplr": {"m": ANY},
    "np.rollaxis": {"a": "x;t;v;q", "axis": "0;1;-1;2;5", "start": "0;1;2;3;-1;9"},
    "np.moveaxis": {
        "a": "x;t;v",
        "source": "0;-1;(0, 1);[2, 0];5;(0, 0)",
        "destination": "-1;0;(1, 0);(0, -1);5",
    },
    "np.swapaxes": {"a": "x;t;v;[v, v]", "axis1": "0;-1;5", "axis2": "1;-1;0;-9"},
    "np.transpose": {"a": ANY, "axes": "None;(1, 0);(0, 1);(2, 0, 1);(-1, 0);(0, 0);[1, 0];(0,)"},
    "np.matrix_transpose": {"x": "x;t;z;v"},
    "np.squeeze": {"a": "x[None];x[:, :1];s;q;v[:1];x;t[:, :1];e[None];[[s]]", "axis": AXIS},
    "np.expand_dims": {"a": ANY, "axis": "0;-1;(0, 1);(0, -1);5;(0, 0);1;[0]"},
    "np.reshape": {
        "a": ANY,
        "shape": "-1;(4, 3);(2, -1);(12,);(3, 4);(1, -1, 1);();(5, 5);(-1, -1);6;[2, 6]",
        "order": "'C';'F';'A';'K';'none'",
        "copy": "None;True;False",
    },
    "np.ravel": {"a": ANY, "order": "'C';'F';'A';'K';'none'"},
    "np.broadcast_to": {
        "array": ANY,
        "shape": "(3, 4);(2, 3, 4);4;();(4,);(3, 1);(-1,);[3, 4]",
        "subok": TRUTH,
    },
    "np.broadcast_arrays": {"*": "v, w[:, None];x, v;s, 1.0;v, w;x;[1, 2], s", "subok": TRUTH},
    "np.concatenate": {
        "arrays": (
            "[x, y];(v, w);[x, n.T[:, :1]];[z, p];[f, x];[v, [1, 2]];[s, 1.0];"
            "[n, b[:2, :3]];[e, p];[f, f]"
        ),
        "axis": ONE,
        "dtype": DTYPE,
        "casting": "'same_kind';'unsafe';'no';'safe';'equiv';'none'",
    },
    "np.stack": {
        "arrays": "[x, y];(v, v);[z, p];[f, x];[s, 1.0];[v, w];[n, p];[q, s];x",
        "axis": ONE + ";2",
        "dtype": DTYPE,
        "casting": "'same_kind';'unsafe';'no';'safe'",
    },
    "np.hstack": {
        "tup": "[x, y];(v, w);[s, v];[z, p];[f, x];[s, 1.0];x",
        "dtype": DTYPE,
        "casting": "'same_kind';'unsafe';'safe'",
    },
    "np.vstack": {
        "tup": "[x, y];(v, v);[s, 1.0];[z, p];[f, x];[x, v];x",
        "dtype": DTYPE,
        "casting": "'same_kind';'unsafe';'safe'",
    },
    "np.dstack": {"tup": "[x, y];(v, v);[s, 1.0];[z, p];[f, x];[t, t]"},
    "np.column_stack": {"tup": "[x, y];(v, v);[s, 1.0];[z, p];[f, v];[x, w];x"},
    "np.append": {"arr": ANY, "values": "1.0;v;[1, 2];x;y[:1];s;1j", "axis": ONE},
    "np.split": {
        "ary": "x;v;t;z",
        "indices_or_sections": "2;3;[1];[1, 2];[5];[-1];(0, 2);0;k;[2, 1]",
        "axis": PLACE,
    },
    "np.array_split": {
        "ary": "x;v;t;[s, 1.0]",
        "indices_or_sections": "2;3;[1];[5, 9];9;0;-1;[2, 1]",
        "axis": PLACE,
    },
    "np.hsplit": {"ary": "x;v;t;s", "indices_or_sections": "2;[1];3"},
    "np.vsplit": {"ary": "x;v;t", "indices_or_sections": "3;[1];2"},
    "np.unstack": {"x": "x;v;t;z;q", "axis": PLACE},
    "np.insert": {
        "arr": ANY,
        "obj": "0;1;-1;[0, 2];[1, 1];9;slice(0, 2);k;[];b[0];np.array([1])",
        "values": "1.0;s;v;w;[1, 2];x[:, 0];y;1j",
        "axis": ONE,
    },
    "np.delete": {
        "arr": ANY,
        "obj": "0;-1;[0, 1];slice(0, 2);9;[];b[0];k;slice(None, None, -2);[True, False]",
        "axis": ONE,
    },
    "np.diag": {"v": "v;x;t;s;[s, 1.0];z;n;v[:0]", "k": "0;1;-2;5"},
    "np.diagonal": {
        "a": "x;t;z;v;[v, v]",
        "offset": "0;1;-1;9",
        "axis1": "0;-1;2;5",
        "axis2": "1;0;-2",
    },
    "np.trace": {
        "a": "x;t;n;z;v;f;b;[v, v]",
        "offset": "0;1;-1;9",
        "axis1": "0;-1;2;5",
        "axis2": "1;0;-2",
        "dtype": DTYPE,
    },
    "np.triu": {"m": "x;t;v;n;z;f;s;b", "k": "0;1;-1;9"},
    "np.tril": {"m": "x;t;v;n;z;f;b", "k": "0;1;-1;-9"},
    "np.pad": {
        "array": "x;v;t;n;f;z;s;e;w[:1];[s, 1.0];b",
        "pad_width": "1;(1, 2);((1, 0), (0, 2));0;5;{0: 1};{-1: (2, 1)};-1;[[1, 2]]",
        "mode": "'constant';'edge';'linear_ramp';'maximum';'mean';'median';'minimum';'reflect';"
        "'symmetric';'wrap';'none'",
        "**": (
            "constant_values=s;constant_values=(1.0, s);"
            "constant_values=((1, 2), (3, 4));end_values=s;end_values=(1, 2);"
            "stat_length=2;stat_length=((1, 2), (2, 1));reflect_type='odd';"
            "reflect_type='even';stat_length=0;constant_values=2"
        ),
    },
    "np.block": {
        "arrays": (
            "[x, y];[[x], [y]];[[x, w[:, None]], [v, s]];s;[v, w];[[s, 1.0], [0, s]];x;[[z, p]];[]"
        )
    },
    "np.real": {"val": ANY},
    "np.imag": {"val": ANY},
    "np.copy": {"a": ANY, "order": "'C';'F';'A';'K'", "subok": TRUTH},
    "np.asarray": {
        "a": ANY,
        "dtype": DTYPE,
        "order": "'C';'F';'A';'K';None",
        "device": "'cpu';None;'gpu'",
        "copy": "True;None",
        "like": "None",
    },
    "np.asanyarray": {
        "a": ANY,
        "dtype": DTYPE,
        "order": "'C';'F';'A';'K'",
        "device": "'cpu';None",
        "copy": "True;None",
        "like": "None",
    },
    "np.ascontiguousarray": {"a": ANY, "dtype": DTYPE, "like": "None"},
    "np.astype": {
        "x": "x;z;n;f;b;t",
        "dtype": DTYPE + ";np.int8;object;str;np.float16;np.longdouble",
        "copy": TRUTH,
        "device": "'cpu';None",
    },
    "np.zeros_like": {
        "prototype": ANY,
        "a": ANY,
        "dtype": DTYPE,
        "order": "'C';'F';'K'",
        "subok": TRUTH,
        "shape": "None;3;(2, 2);()",
        "device": "'cpu';None",
    },
    "np.ones_like": {
        "prototype": ANY,
        "a": ANY,
        "dtype": DTYPE,
        "order": "'C';'F';'K'",
        "subok": TRUTH,
        "shape": "None;3;(2, 2)",
        "device": "'cpu';None",
    },
    "np.full_like": {
        "a": ANY,
        "fill_value": "s;2;v;q;1j;x;[1, 2, 3, 4]",
        "dtype": DTYPE,
        "order": "'C';'F';'K'",
        "subok": TRUTH,
        "shape": "None;3;(2, 4);()",
        "device": "'cpu';None",
    },
    "np.shape": {"a": ANY},
    "np.ndim": {"a": ANY},
    "np.size": {"a": ANY, "axis": "0;-1;None;5;(0, 1)"},
    "np.iscomplexobj": {"x": ANY},
    "np.isrealobj": {"x": ANY},
    "np.isreal": {"x": ANY},
    "np.atleast_1d": {"*": "s;x;s, v;2.0, s;[s, 1.0]"},
    "np.atleast_2d": {"*": "s;x;s, v;v"},
    "np.atleast_3d": {"*": "s;x;s, v;t"},
}
