"""What becomes of every public callable of numpy, numpy.linalg and numpy.fft on traced arrays.

Three tables, by name: what is differentiable, whose results are constants, and what is refused,
with the reason. Names of newer or older versions of NumPy may be among them. A test holds the
tables against the NumPy that is installed, and runs every one of them.
"""

from __future__ import annotations

from typing import Any, Final


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


DIFFERENTIABLE: Final = _names(
    """
    abs absolute acos acosh add amax amin angle append apply_along_axis apply_over_axes arange
    arccos arccosh arcsin arcsinh arctan arctan2 arctanh around array array_split asanyarray
    asarray asarray_chkfinite ascontiguousarray asfortranarray asin asinh astype atan atan2 atanh
    atleast_1d atleast_2d atleast_3d average bincount block broadcast_arrays broadcast_to cbrt
    cdouble ceil choose clip column_stack complex128 complex64 compress concat concatenate conj
    conjugate convolve copy copysign copyto corrcoef correlate cos cosh cov cross csingle cumprod
    cumsum cumulative_prod cumulative_sum deg2rad degrees delete diag diagflat diagonal diff
    divide divmod dot double dsplit dstack ediff1d einsum exp exp2 expand_dims expm1 extract fabs
    fill_diagonal fix flip fliplr flipud float16 float32 float64 float_power floor floor_divide
    fmax fmin fmod frexp from_dlpack fromfunction fromiter frompyfunc full full_like geomspace
    gradient half heaviside histogram histogram2d histogram_bin_edges histogramdd hsplit hstack
    hypot i0 imag inner insert interp intersect1d kaiser kron ldexp linspace log log10 log1p
    log2 logaddexp logaddexp2 logspace matmul matrix_transpose matvec max maximum mean median
    meshgrid min minimum mod modf moveaxis multiply nan_to_num nancumprod nancumsum nanmax
    nanmean nanmedian nanmin nanpercentile nanprod nanquantile nanstd nansum nanvar ndenumerate
    negative nextafter outer pad partition percentile permute_dims piecewise place poly poly1d
    polyadd polyder polydiv polyfit polyint polymul polysub polyval positive pow power prod ptp
    put put_along_axis putmask quantile rad2deg radians ravel real real_if_close reciprocal
    remainder repeat require reshape resize rint roll rollaxis roots rot90 round row_stack
    select setdiff1d setxor1d sign sin sinc single sinh sort sort_complex spacing split sqrt
    square squeeze stack std subtract sum swapaxes take take_along_axis tan tanh tensordot tile
    trace transpose trapezoid trapz tril trim_zeros triu true_divide trunc union1d unique
    unique_all unique_counts unique_inverse unique_values unstack unwrap vander var vdot vecdot
    vecmat vectorize vsplit vstack where
    linalg.cholesky linalg.cond linalg.cross linalg.det linalg.diagonal linalg.eig linalg.eigh
    linalg.eigvals linalg.eigvalsh linalg.inv linalg.lstsq linalg.matmul linalg.matrix_norm
    linalg.matrix_power linalg.matrix_transpose linalg.multi_dot linalg.norm linalg.outer
    linalg.pinv linalg.qr linalg.slogdet linalg.solve linalg.svd linalg.svdvals linalg.tensordot
    linalg.tensorinv linalg.tensorsolve linalg.trace linalg.vecdot linalg.vector_norm
    fft.fft fft.fft2 fft.fftfreq fft.fftn fft.fftshift fft.hfft fft.ifft fft.ifft2 fft.ifftn
    fft.ifftshift fft.ihfft fft.irfft fft.irfft2 fft.irfftn fft.rfft fft.rfft2 fft.rfftfreq
    fft.rfftn
    """
)

CONSTANT: Final = _names(
    """
    all allclose any argmax argmin argpartition argsort argwhere array2string array_equal
    array_equiv array_repr array_str bartlett base_repr binary_repr bitwise_and bitwise_count
    bitwise_invert bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor
    blackman bool bool_ broadcast_shapes byte can_cast common_type complexfloating count_nonzero
    diag_indices diag_indices_from digitize dtype einsum_path empty empty_like equal errstate eye
    finfo flatiter flatnonzero floating format_float_positional format_float_scientific frombuffer
    fromfile fromregex fromstring gcd generic genfromtxt get_include get_printoptions getbufsize
    geterr geterrcall greater greater_equal hamming hanning identity iinfo in1d indices inexact
    info int16 int32 int64 int8 int_ intc integer intp invert iscomplex iscomplexobj isclose
    isdtype isfinite isfortran isin isinf isnan isneginf isposinf isreal isrealobj isscalar
    issubdtype iterable ix_ lcm left_shift less less_equal lexsort load loadtxt logical_and
    logical_not logical_or logical_xor long longlong mask_indices may_share_memory min_scalar_type
    mintypecode nanargmax nanargmin ndarray ndim ndindex nonzero not_equal number ones ones_like
    packbits printoptions promote_types ravel_multi_index result_type right_shift searchsorted
    set_printoptions setbufsize seterr seterrcall shape shares_memory short show_config
    show_runtime signbit signedinteger size test tri tril_indices tril_indices_from triu_indices
    triu_indices_from typename ubyte ufunc uint uint16 uint32 uint64 uint8 uintc uintp ulong
    ulonglong unpackbits unravel_index unsignedinteger ushort zeros zeros_like
    fft.test linalg.LinAlgError linalg.matrix_rank linalg.test
    """
)

_REASONS: Final = {
    "dates and times are no numbers to differentiate": (
        "busday_count busday_offset busdaycalendar datetime64 datetime_as_string datetime_data "
        "is_busday isnat timedelta64"
    ),
    "matrices of the class numpy.matrix are not made of traced arrays; use arrays of two axes, "
    "which multiply by @, and numpy.block": "asmatrix bmat matrix",
    "a file would hold values of one run, and no derivative; return the array and save that": (
        "memmap save savetxt savez savez_compressed"
    ),
    "its steps happen outside of Python's sight; go through numpy.ndindex(x.shape), "
    "numpy.ndenumerate(x) or x.flat": "nditer nested_iters",
    "it goes through values that are not known yet; numpy.broadcast_shapes and "
    "numpy.broadcast_arrays say the same": "broadcast",
    "records with named fields are not traced; use one array for each field": "recarray record",
    "text and objects are no numbers to differentiate": (
        "bytes_ character flexible object_ str_ void"
    ),
    "derivatives are computed in single and double precision, not in extended precision": (
        "clongdouble complex256 float128 longdouble"
    ),
}

REFUSED: Final = {name: reason for reason, names in _REASONS.items() for name in names.split()}


def short_name(function: Any) -> str:
    """A callable of NumPy's as the tables name it: "sum", "linalg.solve", "fft.rfft"."""
    module = getattr(function, "__module__", None) or "numpy"
    name = getattr(function, "__name__", "")
    part = module.removeprefix("numpy").lstrip(".")
    return f"{part}.{name}" if part in ("linalg", "fft") else name


def refusal(function: Any) -> str | None:
    """Why a callable of NumPy's takes no traced arrays; None where it does, or is not known."""
    return REFUSED.get(short_name(function))


def as_markdown() -> str:
    """The three tables, as the manual shows them."""
    parts = []
    for title, names in (("Differentiable", DIFFERENTIABLE), ("Constant", CONSTANT)):
        parts.append(f"### {title}\n\n{_listed(names)}")
    rows = [
        f"| {', '.join(f'`{name}`' for name in sorted(names.split()))} | {reason} |"
        for reason, names in _REASONS.items()
    ]
    parts.append("### Refused\n\n| functions | because |\n|---|---|\n" + "\n".join(rows))
    return "\n\n".join(parts) + "\n"


def _listed(names: frozenset[str]) -> str:
    rooms = {"numpy": "", "numpy.linalg": "linalg.", "numpy.fft": "fft."}
    lines = []
    for room, prefix in rooms.items():
        own = sorted(
            name.removeprefix(prefix)
            for name in names
            if (name.startswith(prefix) if prefix else "." not in name)
        )
        if own:
            lines.append(f"- `{room}`: " + ", ".join(f"`{name}`" for name in own))
    return "\n".join(lines)
