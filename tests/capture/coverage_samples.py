"""Sample calls for the tables of `adjoint.capture.numpy.coverage`, where `rows.py` has none.

Differentiable: functions of x (2, 3), positive, v (3,), z complex (3,), s a scalar. Constant: of
the same. Refused: calls that hand a traced array over.
"""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO, StringIO
from typing import Any

import numpy as np

RNG = np.random.default_rng(5)
POINTS: dict[str, Any] = {
    "x": RNG.uniform(0.3, 0.9, (2, 3)),
    "v": np.array([0.7, 0.25, 0.45]),
    "z": RNG.uniform(0.3, 0.9, 3) + 1j * RNG.uniform(0.2, 0.8, 3),
    "s": 0.6,
}


def names(text: str) -> list[str]:
    """Names, apart."""
    return text.split()


_UNARY = names(
    "abs absolute arccos acos arcsin asin arctan atan arctanh atanh arcsinh asinh cbrt ceil "
    "conj conjugate cos cosh deg2rad degrees exp exp2 expm1 fabs floor log log10 log1p log2 "
    "negative positive rad2deg radians reciprocal rint sign sin sinc sinh spacing sqrt square tan "
    "tanh trunc fix round around nan_to_num angle i0 modf frexp sort ravel copy median"
)
_BINARY = names(
    "add subtract multiply divide true_divide power pow arctan2 atan2 hypot logaddexp logaddexp2 "
    "maximum minimum fmax fmin copysign heaviside floor_divide fmod mod remainder divmod "
    "float_power nextafter"
)
SAMPLES = {name: f"np.{name}(x)" for name in _UNARY}
SAMPLES |= {name: f"np.{name}(x, v)" for name in _BINARY}
SAMPLES |= {
    "arccosh": "np.arccosh(1 + x)",
    "acosh": "np.acosh(1 + x)",
    "place": "written(np.place, x, lambda a: a > 0.5, v)",
    "put": "written(np.put, x, lambda a: [0, 4], v[:2])",
    "putmask": "written(np.putmask, x, lambda a: a > 0.5, 2 * x)",
    "copyto": "written(np.copyto, x, lambda a: 3 * v)",
    "fill_diagonal": "written(np.fill_diagonal, x, lambda a: s)",
    "put_along_axis": "written(np.put_along_axis, x, lambda a: np.array([[0], [2]]), s, 1)",
    "ldexp": "np.ldexp(x, 2)",
    "double": "np.double(x)",
    "from_dlpack": "np.from_dlpack(x)",
    "float64": "np.float64(x) * x",
    "float32": "np.float64(np.float32(x))",
    "single": "np.float64(np.single(x))",
    "float16": "np.float64(np.float16(x))",
    "half": "np.float64(np.half(x))",
    "complex128": "np.complex128(x) * z",
    "cdouble": "np.cdouble(x)",
    "complex64": "np.complex128(np.complex64(x))",
    "csingle": "np.complex128(np.csingle(x))",
    "concat": "np.concat([x, x])",
    "matrix_transpose": "np.matrix_transpose(x)",
    "permute_dims": "np.permute_dims(x, (1, 0))",
    "poly": "np.poly(v)",
    "roots": "np.roots(v)",
    "polyfit": "np.polyfit(np.arange(3.0), v, 1)",
    "trapz": "np.trapz(x)",
    "row_stack": "np.row_stack([x, v])",
    "real": "np.real(z)",
    "imag": "np.imag(z * z)",
    "histogram": "np.histogram(x, 3, (0.0, 1.0), weights=x * x)",
    "unique_values": "np.unique_values(v)",
    "vectorize": "np.vectorize(lambda u, r: u * r + r)(x, v)",
    "unique_all": "np.unique_all(v).values",
    "unique_counts": "np.unique_counts(v).values",
    "unique_inverse": "np.unique_inverse(v).values",
    "intersect1d": "np.intersect1d(v * v, np.concatenate([v[1:] ** 2, [9.0]]))",
    "setdiff1d": "np.setdiff1d(v * v, [9.0])",
    "linalg.cholesky": "np.linalg.cholesky(x @ x.T)",
    "linalg.cond": "np.linalg.cond(x @ x.T + 0.3 * np.eye(2))",
    "linalg.cross": "np.linalg.cross(v, x[0])",
    "linalg.det": "np.linalg.det(x @ x.T)",
    "linalg.diagonal": "np.linalg.diagonal(x @ x.T)",
    "linalg.eig": "np.linalg.eig(x @ x.T).eigenvalues",
    "linalg.eigh": "np.linalg.eigh(x @ x.T).eigenvalues",
    "linalg.eigvals": "np.linalg.eigvals(x @ x.T)",
    "linalg.eigvalsh": "np.linalg.eigvalsh(x @ x.T)",
    "linalg.inv": "np.linalg.inv(x @ x.T + np.eye(2))",
    "linalg.lstsq": "np.linalg.lstsq(x.T, v)[0]",
    "linalg.matmul": "np.linalg.matmul(x, v)",
    "linalg.matrix_norm": "np.linalg.matrix_norm(x)",
    "linalg.matrix_power": "np.linalg.matrix_power(x @ x.T, 3)",
    "linalg.matrix_transpose": "np.linalg.matrix_transpose(x)",
    "linalg.multi_dot": "np.linalg.multi_dot([x.T, x, v])",
    "linalg.norm": "np.linalg.norm(x)",
    "linalg.outer": "np.linalg.outer(v, v)",
    "linalg.pinv": "np.linalg.pinv(x)",
    "linalg.qr": "np.linalg.qr(x.T).R",
    "linalg.slogdet": "np.linalg.slogdet(x @ x.T)[1]",
    "linalg.solve": "np.linalg.solve(x @ x.T + np.eye(2), x)",
    "linalg.svd": "np.linalg.svd(x, compute_uv=False)",
    "linalg.svdvals": "np.linalg.svdvals(x)",
    "linalg.tensordot": "np.linalg.tensordot(x, v, axes=1)",
    "linalg.tensorinv": "np.linalg.tensorinv(np.reshape(x @ x.T + np.eye(2), (2, 1, 2)), 1)",
    "linalg.tensorsolve": "np.linalg.tensorsolve(x @ x.T + np.eye(2), v[:2])",
    "linalg.trace": "np.linalg.trace(x @ x.T)",
    "linalg.vecdot": "np.linalg.vecdot(x, v)",
    "linalg.vector_norm": "np.linalg.vector_norm(x, axis=1)",
}
# Values decide how many results there are: not for the many values of `vmap`.
COUNTED = frozenset(
    names(
        "unique unique_all unique_counts unique_inverse unique_values union1d intersect1d "
        "setdiff1d setxor1d trim_zeros extract arange polydiv roots real_if_close "
        "asarray_chkfinite "
        "compress poly poly1d bincount "
        "linalg.eig linalg.eigvals linalg.lstsq polyfit"
    )
)


def written(write: Callable[..., Any], x: Any, second: Callable[[Any], Any], *rest: Any) -> Any:
    """What a function leaves in a copy of an array."""
    copy = np.array(x)
    write(copy, second(copy), *rest)
    return copy


def saved() -> BytesIO:
    """A file of NumPy's, in memory."""
    file = BytesIO()
    np.save(file, np.arange(3.0))
    file.seek(0)
    return file


ABSTRACT = names(
    "complexfloating floating generic inexact integer number signedinteger unsignedinteger"
)
_COMPARED = names(
    "equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor "
    "isclose allclose array_equal array_equiv isin searchsorted"
)
_INTEGERS = names(
    "bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift left_shift "
    "right_shift gcd lcm"
)
_ASKED = names(
    "all any argmax argmin argsort argwhere array2string array_repr array_str count_nonzero "
    "empty_like flatnonzero iscomplex iscomplexobj isfinite isinf isnan isneginf isposinf isreal "
    "isrealobj isscalar iterable logical_not nanargmax nanargmin ndim nonzero ones_like shape "
    "signbit size zeros_like diag_indices_from tril_indices_from triu_indices_from "
    "min_scalar_type result_type"
)
_MADE = names("empty eye identity ones tri zeros indices bartlett blackman hamming hanning")
_WHOLE = names(
    "bool bool_ byte int16 int32 int64 int8 int_ intc intp long longlong short ubyte uint uint16 "
    "uint32 uint64 uint8 uintc uintp ulong ulonglong ushort"
)
CONSTANTS = {name: f"np.{name}(x, v)" for name in _COMPARED}
CONSTANTS |= {name: f"np.{name}(np.int64(9 * x), np.int64(3 * v))" for name in _INTEGERS}
CONSTANTS |= {name: f"np.{name}(x)" for name in _ASKED}
CONSTANTS |= {name: f"np.{name}(int(5 * s))" for name in _MADE}
CONSTANTS |= {name: f"np.{name}(9 * x)" for name in _WHOLE}
CONSTANTS |= {name: f"np.issubdtype(x.dtype, np.{name})" for name in ABSTRACT}
CONSTANTS |= {
    "empty": "np.empty(int(5 * s)).shape",
    "empty_like": "np.empty_like(x).shape",
    "searchsorted": "np.searchsorted([0.4, 0.6], x)",
    "in1d": "np.in1d(x, v)",
    "indices": "np.indices((int(5 * s), 2))",
    "diag_indices_from": "np.diag_indices_from(x[:, :2])",
    "min_scalar_type": "np.min_scalar_type(x).name",
    "result_type": "np.result_type(x, np.float32(1)).name",
    "argpartition": "np.argpartition(x, 1)",
    "base_repr": "np.base_repr(np.int64(9 * s))",
    "binary_repr": "np.binary_repr(np.int64(9 * s))",
    "bitwise_count": "np.bitwise_count(np.int64(9 * x))",
    "bitwise_invert": "np.bitwise_invert(np.int64(9 * x))",
    "bitwise_not": "np.bitwise_not(np.int64(9 * x))",
    "invert": "np.invert(np.int64(9 * x))",
    "broadcast_shapes": "np.broadcast_shapes(x.shape, (int(5 * s), 1, 1))",
    "can_cast": "np.can_cast(x, complex)",
    "common_type": "np.common_type(x, z).__name__",
    "diag_indices": "np.diag_indices(int(5 * s))",
    "digitize": "np.digitize(x, [0.4, 0.6])",
    "dtype": "np.dtype(x.dtype).name",
    "einsum_path": "np.einsum_path('ij,j', x, v)[0]",
    "errstate": "np.errstate(all='ignore').__enter__() or x.ndim",
    "finfo": "float(np.finfo(x.dtype).eps)",
    "isfortran": "np.isfortran(x.T)",
    "may_share_memory": "np.may_share_memory(x, x[1:])",
    "shares_memory": "np.shares_memory(x, 2 * x)",
    "iinfo": "int(np.iinfo(np.int64(9 * x).dtype).max)",
    "flatiter": "isinstance(x, np.flatiter)",
    "format_float_positional": "np.format_float_positional(s)",
    "format_float_scientific": "np.format_float_scientific(s)",
    "frombuffer": "np.frombuffer(b'ab', np.uint8)",
    "fromfile": "np.fromfile(FILE, float)",
    "fromregex": "np.fromregex(StringIO('1 2'), r'(\\d)', [('a', int)])['a']",
    "fromstring": "np.fromstring('1 2', sep=' ')",
    "genfromtxt": "np.genfromtxt(StringIO('1 2'))",
    "loadtxt": "np.loadtxt(StringIO('1 2'))",
    "load": "np.load(saved())",
    "get_include": "len(np.get_include()) > 0",
    "get_printoptions": "np.get_printoptions()['precision']",
    "getbufsize": "np.getbufsize()",
    "geterr": "np.geterr()['over']",
    "geterrcall": "np.geterrcall() is None",
    "info": "np.info(x, output=StringIO()) is None",
    "isdtype": "np.isdtype(x.dtype, 'real floating')",
    "issubdtype": "np.issubdtype(x.dtype, np.floating)",
    "ix_": "np.ix_([0, 1], np.int64(2 * v))",
    "lexsort": "np.lexsort((v, x[0]))",
    "mask_indices": "np.mask_indices(int(5 * s), np.triu)",
    "mintypecode": "np.mintypecode([x.dtype.char])",
    "ndarray": "np.ndarray((int(5 * s), 2)).shape",
    "ndindex": "list(np.ndindex(*x.shape))",
    "packbits": "np.packbits(x > 0.5)",
    "printoptions": "np.printoptions(precision=3).__class__.__name__",
    "promote_types": "np.promote_types(x.dtype, np.complex64).name",
    "ravel_multi_index": "np.ravel_multi_index((np.int64(2 * v), np.int64(3 * v)), (2, 3))",
    "set_printoptions": "np.set_printoptions() is None",
    "setbufsize": "np.setbufsize(8192)",
    "seterr": "np.seterr()['over']",
    "seterrcall": "np.seterrcall(None) is None",
    "show_config": "len(np.show_config('dicts')) > 0",
    "show_runtime": "callable(np.show_runtime)",
    "test": "callable(np.test)",
    "linalg.test": "callable(np.linalg.test)",
    "fft.test": "callable(np.fft.test)",
    "tril_indices": "np.tril_indices(int(5 * s))",
    "triu_indices": "np.triu_indices(int(5 * s))",
    "typename": "np.typename(x.dtype.char)",
    "ufunc": "isinstance(np.add, np.ufunc) and x.ndim == 2",
    "unpackbits": "np.unpackbits(np.uint8(9 * v))",
    "unravel_index": "np.unravel_index(np.argmax(x), x.shape)",
    "linalg.LinAlgError": "str(np.linalg.LinAlgError('no'))",
    "linalg.matrix_rank": "np.linalg.matrix_rank(x)",
}

REFUSALS = {
    "busday_count": "np.busday_count(x, x)",
    "busday_offset": "np.busday_offset(x, x)",
    "save": "np.save(BytesIO(), x)",
    "savetxt": "np.savetxt(StringIO(), x)",
    "savez": "np.savez(BytesIO(), x)",
    "savez_compressed": "np.savez_compressed(BytesIO(), x)",
    "may_share_memory": "np.may_share_memory(x, x)",
    "shares_memory": "np.shares_memory(x, x)",
    "nested_iters": "np.nested_iters(x, [[0], [1]])",
}
# Callables that cannot be called with an array at all, or are called by nobody.
UNCALLED = frozenset({"character", "flexible"})

NAMES = {
    "np": np,
    "written": written,
    "StringIO": StringIO,
    "BytesIO": BytesIO,
    "saved": saved,
}
