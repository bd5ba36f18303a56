"""Every form of writing into an array: the values are NumPy's, the derivatives differences."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from tests.capture.comparing import captured_value, same_derivative, same_values

X = np.array([[0.5, -1.0, 2.0], [1.5, 0.3, -0.7], [0.1, 0.2, 0.3]])
# What is done to `a`, a copy of `x`, by name. It is returned.
FORMS = """
mask_iadd: a[a > 0] += 2 * x[0, 0]
mask_isub_vec: m = a > 0; a[m] -= x[m] ** 2
mask_row: a[np.array([True, False, True])] *= x[1]
mask_mixed: a[np.array([True, False, True]), 1] = x[0, :2]
mask_two: a[a[:, 0] > 0.3, 1:] *= 2
sort: a.sort()
sort0: a.sort(axis=0)
sort_kind: a.sort(axis=1, kind="stable")
partition: a.partition(1)
partition0: a.partition(1, axis=0)
add_at: np.add.at(a, ([0, 0, 1], [1, 1, 2]), x[0])
add_at_slice: np.add.at(a, (slice(None), [0, 0]), x[:, :2])
sub_at: np.subtract.at(a, [0, 0], x[:2])
mul_at: np.multiply.at(a, [0, 0, 2], x[1, 1])
mul_at2: np.multiply.at(a, ([0, 0], [1, 1]), x[0, :2])
div_at: np.divide.at(a, [0, 1], 1 + x[1]**2)
max_at: np.maximum.at(a, [0, 0, 1], x[2] + 0.11)
min_at: np.minimum.at(a, [0, 0, 1], x[2] + 0.11)
power_at: np.power.at(a, 0, 2)
negative_at: np.negative.at(a, [0, 1])
exp_at: np.exp.at(a, [0, 1])
neg_at_repeat: np.negative.at(a, [0, 0])
put: np.put(a, [0, 4], [x[1, 1], x[0, 2]])
put_mode: np.put(a, [0, 14], x[0, :2], mode="wrap")
put_clip: np.put(a, [-5, 14], x[0, :2], mode="clip")
put_method: a.put([1, 2], x[0, 0])
copyto: np.copyto(a, x[0])
copyto_where: np.copyto(a, 2 * x, where=x > 0)
place: np.place(a, a > 0, [x[0, 0], x[1, 0]])
place_short: np.place(a, x > 0.15, x[0, :1])
putmask: np.putmask(a, a > 0, x**2)
putmask_rep: np.putmask(a, x > 0, [x[0, 0], x[0, 1]])
filldiag: np.fill_diagonal(a, x[0, 1])
filldiag_vec: np.fill_diagonal(a, x[0])
filldiag_wrap: b = np.zeros((5, 2)); np.fill_diagonal(b, x[0, 0], wrap=True); a = b
filldiag_3d: b = np.zeros((2, 2, 2)); np.fill_diagonal(b, x[0, 0]); a = b
put_along: np.put_along_axis(a, np.array([[0], [1], [2]]), x[:, :1] ** 2, axis=1)
put_along_none: np.put_along_axis(a, np.array([0, 4]), x[0, :2], axis=None)
out_add: np.add(x, 1, out=a)
out_tuple: np.add(x, 1, out=(a,))
out_row: np.multiply(x[0], x[1], out=a[2])
out_dot: np.dot(x, x, out=a)
out_matmul: np.matmul(x, x, out=a)
out_sum: b = np.zeros(3); np.sum(x, axis=0, out=b); a = b
out_mean: b = np.zeros(3); np.mean(x, axis=0, out=b); a = b
out_cumsum: np.cumsum(x, axis=0, out=a)
out_clip: np.clip(a, 0, 1, out=a)
out_meth_clip: a.clip(0, 1, out=a)
out_where: np.exp(x, where=x < 1, out=a)
out_max: b = np.zeros(3); np.max(x, axis=1, out=b); a = b
out_std: b = np.zeros(3); np.std(x, axis=1, out=b); a = b
out_prod: b = np.zeros(3); x.prod(axis=1, out=b); a = b
out_take: b = np.zeros((2, 3)); np.take(x, [0, 2], axis=0, out=b, mode="clip"); a = b
out_concat: b = np.zeros((6, 3)); np.concatenate([x, x], out=b); a = b
out_stack: b = np.zeros((2, 3, 3)); np.stack([x, x * 2], out=b); a = b
out_choose: b = np.zeros(3); np.choose([0, 1, 2], x, out=b); a = b
out_einsum: np.einsum("ij,jk->ik", x, x, out=a)
out_outer: np.outer(x[0], x[1], out=a)
out_modf: b = np.zeros_like(a); np.modf(x * 3.3, out=(a, b)); a += b
out_round: np.round(x, 1, out=a)
out_trace: b = np.zeros(()); np.trace(x, out=b); a = b
out_add_reduce: b = np.zeros(3); np.add.reduce(x, axis=0, out=b); a = b
out_accumulate: np.add.accumulate(x, axis=1, out=a)
out_nan: np.nan_to_num(a, copy=False); a *= 2
out_sqrt_self: np.abs(a, out=a); np.sqrt(a, out=a)
view_view: b = a[1:]; c = b[:, ::2]; c *= x[0, 0]
view_T: a.T[0] = x[1]
view_T2: b = a.T; b += x
view_swap: np.swapaxes(a, 0, 1)[1] *= 3
view_reshape: b = a.reshape(-1); b[4] = x[0, 0] ** 2
view_ravel: b = a.ravel(); b[1:4] += x[0]
view_flat_idx: a.flat[4] = x[0, 1]
view_flat_slice: a.flat[::4] = x[0]
view_flat_all: a.flat = x[1]
view_flat_iadd: a.flat[2] += x[0, 0]
view_flat_fancy: a.flat[[0, 2]] = x[0, :2]
view_real: z = a + 0j; z.real[0] = x[1]; z.imag += x; a = np.stack([z.real, z.imag])
view_real_set: z = a + 0j; z.real = x * 2; z.imag = x * 3; a = np.stack([z.real, z.imag])
view_newaxis: b = a[:, None]; b[:, 0, 1] = x[0]
view_moveaxis: b = np.moveaxis(a, 0, 1); b[0] = x[2]
view_squeeze: b = a[:1].squeeze(); b *= 2
view_split: p, q, r = np.split(a, 3); q += p; r[:] = q
view_hsplit: p, q = np.hsplit(a, [1]); q *= p
view_vsplit_unpack: u, v, w = a; u += v; w[:] = u
view_broadcast: b, c = np.broadcast_arrays(a, x); a = b + c
view_rot: b = np.rot90(a); b[0] = x[0]
view_flip: b = a[::-1, ::-1]; b[0] = x[0]
view_fliplr: b = np.fliplr(a); b[:, 0] += x[0]
view_atleast: b = np.atleast_3d(a); b *= 2
view_as: b = np.asarray(a); b[0] = x[1]
view_array_nocopy: b = np.array(a, copy=False); b[0] = x[1]
view_method: b = a.view(); b[0] = x[1]
view_diagonal_ro: b = a.diagonal(); a[0, 0] = 5 * x[1, 1]; a = a + b
swap_rows: a[[0, 1]] = a[[1, 0]]
swap_rows3: a[[0, 1, 2]] = a[[2, 0, 1]]
swap_cols: a[:, [0, 2]] = a[:, [2, 0]]
swap_names: b = x * 2; a, b = b, a; a[0] += b[0]
swap_views: a[0], a[1] = a[1], a[0]
swap_copy: a[0], a[1] = a[1].copy(), a[0].copy()
swap_elem: a[0, 0], a[1, 1] = a[1, 1], a[0, 0]
neg_stride: a[::-1][0] = x[0]
neg_stride2: a[::-1] = a
neg_stride3: a[::-1] += a
overlap: a[1:] = a[:-1]
overlap2: a[:-1] = a[1:]
overlap_add: a[1:] += a[:-1]
plus_T: a += a.T
minus_T: a -= a.T
mul_T: a *= a[::-1]
set_T: a[...] = a.T
matmul_in: a @= x
ipow: a **= 2
idiv: a /= (1 + a[0] ** 2)
ifloor: a //= 0.37
imod: a %= 0.72
attr: C = type("S", (), {}); s = C(); s.v = a; s.v += x; s.v[0] *= 2
dict: d = {"v": a}; d["v"] += x; d["v"][0] *= 2
dict_scalar: d = {"v": x[0, 0]}; d["v"] += 1; d["v"] *= d["v"]; a = a * d["v"]
list: l = [a, x[0, 0]]; l[0] += 1; l[1] += 3; a = a * l[1]
nested: l = [[a]]; l[0][0][1:] -= 2
aug_elem: a[1, 1] += a[0, 0] * a[2, 2]; a[1][2] *= 3
shape_set: a.shape = (9,)
shape_set2: a.shape = 1, 9
shape_after: b = a; b.shape = (9,); a = a * 1
resize: b = np.resize(a, (2, 2)); b[0] = x[0, 0]; a = b
resize_m: a.resize((1, 9), refcheck=False)
scalar0d: b = np.zeros(()); b[()] = x[0, 0]; b += x[0, 1]; a = a * b
scalar0d2: b = np.array(x[0, 0]); b += 1; b[...] *= 2; a = a * b
iter_rows: list(map(lambda r: r.__iadd__(1), a))
for_rows:
 for r in a: r *= r
for_enum:
 for i, r in enumerate(a): r[i] = x[0, 0]
for_flat:
 for k in range(a.size): a.flat[k] **= 2
ndindex:
 for i in np.ndindex(a.shape): a[i] = a[i] ** 2
ndenumerate:
 for i, v in np.ndenumerate(x): a[i] += v
byte: a = a.astype(a.dtype, copy=False); a[0] = 1
delitem: b = [x[0, 0], x[1, 1]]; del b[0]; a = a * b[0]
ellipsis: a[..., 0] = x[..., 1]
newaxis_set: a[:, None, 0] = x[:, :1]
bool_scalar_idx: a[True] = x * 2
bool_scalar_false: a[False] = 7
fancy_2d: a[[[0, 1], [1, 2]], [[0, 0], [2, 2]]] = x[:2, :2]
fancy_dup: a[[0, 0, 1]] = x
fancy_dup_iadd: a[[0, 0, 1]] += x
fancy_mixed: a[[0, 2], 1:] = x[:2, :2]
ix: a[np.ix_([0, 2], [1, 2])] += x[:2, :2]
where_idx: a[np.where(x > 0)] = x[x > 0] * 2
nonzero: i, j = np.nonzero(x > 0); a[i, j] *= 3
argmax_idx: a[np.arange(3), x.argmax(axis=1)] = 0
tri: a[np.triu_indices(3)] = x[np.tril_indices(3)]
diag_idx: a[np.diag_indices(3)] += x[0]
setitem_list: a[0] = [x[0, 0], 1.0, x[1, 1] ** 2]
setitem_nested: a[:2, :2] = [[x[0, 0], 2], [3, x[1, 1]]]
setitem_tuple: a[1] = x[0, 0], x[0, 1], 3
setitem_gen: a[:] = 0; a[0] = np.fromiter((v * 2 for v in x[0]), float)
int_arr: b = np.zeros(3, int); b[0] = 2; b += 1; a[b[0] - 3] = x[1]
lexsort: a = a[np.lexsort((x[:, 0],))]; a[0] = x[0]
unravel: a[np.unravel_index(4, (3, 3))] = x[0, 0]
apply_out: np.subtract(a, a.mean(), out=a); np.divide(a, a.std(), out=a)
inplace_fn: f = lambda v: v.__setitem__(0, x[1]); f(a)
readonly: b = np.broadcast_to(a[0], (3, 3)); a = b + a
ma: b = a.copy(); b[b < 0] = 0; b[np.isnan(b)] = 1; a = b
setfield: a[0:2][1][0:1] = x[0, 0]
chained: a[0] = a[1] = x[2]
chained2: b = c = a; b += 1; c *= 2
unpack_star: p, *rest = a; rest[0] += p
zip_rows:
 for r, s in zip(a, x): r += s
while_swap:
 i = 0
 while i < 2: a[i], a[i + 1] = a[i + 1].copy(), a[i].copy(); i += 1
fftw: a[:, 0] = np.cumsum(a[:, 1]); a[:, 1] = np.diff(a[:, 0], prepend=0)
roll: a[:] = np.roll(a, 1, axis=0)
delete: b = np.delete(a, 1, axis=0); b[0] = x[0]; a = b
insert: b = np.insert(a, 1, x[0], axis=0); b[0] *= 2; a = b
append: b = np.append(a, x); b[0] = x[1, 1]; a = b
tile: b = np.tile(a, 2); b[0] = 0; a = b
empty_like: b = np.empty_like(x); b[:] = x; b[0] = 1; a = b
zeros_like_int: b = np.zeros_like(x); b[0] += x[0]; a = b
full_like: b = np.full_like(x, x[0, 0]); b[1] = 2; a = b
ones: b = np.ones((3, 3)); b[1] = x[0]; b[:, 1] *= x[1]; a = b
identity: b = np.identity(3); b += x; a = b
eye_T: b = np.eye(3).T; b[0] = x[0]; a = b
arange: b = np.arange(9.0).reshape(3, 3); b[1] = x[0]; a = b
linspace: b = np.linspace(0, 1, 3); b[1] = x[0, 0]; a = b
meshgrid: u, v = np.meshgrid([1.0, 2], [3.0, 4]); u[0] = x[0, 0]; a = u + v
meshgrid_tr: u, v = np.meshgrid(x[0], x[1]); u[0] = 1; a = u * v
indices: b = np.indices((2, 2)).astype(float); b[0] = x[0, 0]; a = b
array_copy: b = np.array(x); b[0] = 0; a = a * b
array_list: b = np.array([x[0], x[1]]); b[0] = 0; a = b
empty: b = np.empty(0); b = np.append(b, x[0, 0]); a = b
slice_of_slice: b = np.zeros((3, 3)); b[0] = x[0]; v = b[1:]; w = v[0]; w[1] = x[0, 1]; a = b * w
slice_grows: b = np.zeros((3, 3)); b[0] = x[0]; v = b[1:]; v[0] += x[1]; v[1, 2] -= x[1, 1]; a = b
siblings: u = a[0]; v = a[:, 0]; u += v; v *= 2; u[1:] = v[:-1]; a = a + u
siblings_of_known: b = np.zeros((3, 3)); u = b[0]; v = b[:, 0]; u[0] = x[1, 1]; v += x[2]; a = b + u
onto_itself: a[0] = a[0]; a[1:] = a[:-1]; a[::-1, 0] = a[:, 0]; v = a[0]; v += 1; a[0] = v; a[1] = v
other_part: v = a[0]; v += x[1]; a[1] = v; a[0, 1:] = v[:-1]; a[2][...] = v
same_again: v = a[0]; w = a[0]; v += x[1]; a[0] = w; w *= 2; a[0, :] = v
whole: a[0] = 3; a[1, 1] = 2; k = np.ones(3); a[0] += k; k[0] = 5; a[:, 1] = k
from_known: k = np.ones(3); a[0] = k; k[1] = x[0, 0]; a[1] = k; k[2] = 7; a[2] = k
new_axis: v = a[None]; v += x; w = a[0, None]; w *= x[1]; w[0] = x[0]; w[0, 1] = 2
end_of_slice: v = a[0, ...]; v[...] = x[1]; c = a[1, 1, ...]; c += x[0, 0]; c[...] = 4 * c
written_base: v = a[0]; a[0] = x[1] ** 2; v += a[1]; a *= 2; v[0] = x[2, 2]; a[0, 0] += v[0]
index_changed: i = np.array([0, 1]); b = x[i]; i[0] = 2; a[:2] = b * x[i]; a[2] *= x[[0, -1]][1]
mask_changed: m = x > 0.123; b = x[m].sum(); m[0, 0] = ~m[0, 0]; a = b * x[m]
seen_otherwise: b = a.T; b[0] = x[1, 1]; c = a.reshape(9); c[1] *= x[0, 0]; a = a * c.reshape(-1, 3)
seen_as_copy: d = a.T.reshape(9); d[0] = 0; d[1] *= x[1, 1]; a = a * d.reshape((3, 3)).T
kinds: b = np.zeros((2, 3), complex); b[0] = 1; b[1, 1] = x[0, 0]; v = b[1]; v *= 2j; a = b.imag
"""


def programs() -> dict[str, Any]:
    """A function for each form."""
    found: dict[str, Any] = {}
    for part in FORMS.strip().replace("\n ", "\0").split("\n"):
        name, _, body = part.partition(":")
        plain = body.strip("\0 ")
        lines = plain.split("\0") if "\0" in body or "lambda" in body else plain.split("; ")
        source = "\n    ".join([f"def {name}(x):", "a = x * 1.0", *lines, "return a"])
        names: dict[str, Any] = {"np": np}
        exec(source, names)
        found[name] = names[name]
    return found


PROGRAMS = programs()


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_form_of_writing(name: str) -> None:
    function = PROGRAMS[name]
    same_values(captured_value(function, X), function(X.copy()))
    same_derivative(function, (X,), 1e-5)


def aliases(x: Any) -> Any:
    """A view of a view of a transpose, and writes through each of them."""
    a = x * 1.0
    b = a.T[1:]
    c = b[:, ::-1]
    c[0] *= x[0]
    b += a[:2, 0][:, None]
    a[0] = c[1]
    return a, b, c


def flat_parts_are_copies(x: Any) -> Any:
    a = x * 1.0
    part = a.flat[2:5]
    part[0] = 100.0
    whole = a.flat
    whole[0] = x[1, 1]
    return a, part


def shapes(x: Any) -> Any:
    made = np.zeros(6)
    made[:3] = x[0]
    made.shape = (2, 3)
    made[1] = x[1]
    a = x + 1
    a.shape = -1
    a[4] = 0.0
    return made, a


@pytest.mark.parametrize("function", [aliases, flat_parts_are_copies, shapes])
def test_sharing(function: Any) -> None:
    same_values(captured_value(function, X), function(X.copy()))
    same_derivative(function, (X,), 1e-5)


def reshaped_under_a_view(x: Any) -> Any:
    a = x * 1.0
    row = a[0]
    a.shape = (9,)
    return row


def grown(x: Any) -> Any:
    a = x * 1.0
    a.resize((4, 4), refcheck=False)
    return a


def reinterpreted(x: Any) -> Any:
    return (x * 1.0).view(int)


def iterated(x: Any) -> Any:
    return [v * 2 for v in np.nditer(x * 1.0)]


@pytest.mark.parametrize("function", [reshaped_under_a_view, grown, reinterpreted, iterated])
def test_what_is_refused_says_what_to_write(function: Any) -> None:
    with pytest.raises(ad.errors.UnsupportedFunctionError, match="x"):
        ad.jvp(function, (X,), (X,))


def test_wrong_shapes_are_numpys_errors() -> None:
    def function(x: Any) -> Any:
        a = x * 1.0
        a.shape = (2, 2)
        return a

    with pytest.raises(ValueError, match="reshape"):
        function(X)
    with pytest.raises(ValueError, match="reshape"):
        ad.jit(function)(X)


def test_the_parts_of_an_infinity() -> None:
    x = np.array([np.inf, -np.inf, 1.5, -2.25])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for one, other in zip(ad.jit(np.modf)(x), np.modf(x), strict=True):
            np.testing.assert_array_equal(one, other)
            np.testing.assert_array_equal(np.signbit(one), np.signbit(other))
