"""What the arguments of many functions are tried with: texts of a row, set apart by semicolons."""

from __future__ import annotations

ANY = "x;t;z;n;b;f;e;s;q;u;v;c;i;F;R;O;[v, v];2.0;w[:1]"
REAL = "x;t;n;f;s;q;v;i;R;[v, v]"
AXIS = "0;-1;(0, 1);None;();(0, -1);5;(0, 0);np.int64(1)"
ONE = "0;-1;1;None;5;-7;np.int64(0)"
PLACE = "0;-1;1;5;-7"
DTYPE = "np.float32;complex;float;int;np.complex64;bool;'f4'"
WHERE = "b;b[0];True;False;x > 0;np.array(True);b[:, :1];[True, False, True, True]"
TRUTH = "True;False"

REDUCTION = {"a": ANY, "axis": AXIS, "keepdims": TRUTH, "where": WHERE}
