"""What adjoint does not do as NumPy and SciPy do it, each with its reason."""

from __future__ import annotations

import re

from tests.capture.shapes.grid import Row

_SCIPY = r"^s[lspifn]\."
# A call and its specimen, what is said of them, and why it is so.
EXPECTED: tuple[tuple[str, str, str], ...] = (
    (
        r"^sp\.",
        "has no derivative in its argument|not analytic|zeta of complex|takes a plain number",
        "the table of scipy.special's ufuncs says which derivatives there are",
    ),
    (
        r"^left|\.fill|\.put\(",
        "truncates them and loses|drops the imaginary|Cannot cast ufunc",
        "a write that would lose a derivative is refused",
    ),
    (
        r"\.resize\(",
        "keeps its size",
        "from Python 3.14 on NumPy sees that nothing else refers to the array of these rows",
    ),
    (
        r"\.(byteswap|view)\(",
        "method|its own dtype",
        "methods that reinterpret memory",
    ),
    (
        r"np\.(hanning|hamming|bartlett|blackman)",
        "takes a number of points",
        "the number of points of a window is no variable",
    ),
    (
        r"frompyfunc",
        "TYPE|VALUE|otypes",
        "what frompyfunc gives has the dtype of its values, and not object",
    ),
    (r"", r"^TYPE (?!Traced)", "a result without axes may be a scalar, or an array without axes"),
    (r"swapped", r"'>|>f8|>c16", "a swapped array without axes is a scalar, which is native"),
    (r"^np\.v?stack.*swapped", "VALUE", "an array of arrays is taken as it is, bytes included"),
    (r"\.flat\[1\.0\]", "valid indices", "a float as an index, which NumPy warns of"),
    (
        r"axis=1\.0|axis=\(0,\)|np\.piecewise",
        "record cannot be made|rows|cannot be broadcast|could not be broadcast",
        "axes and conditions that NumPy takes by leniency, refused by type",
    ),
    (
        r"^s[oi]\.",
        r"^NumPy raises .*, we raise",
        "both refuse: ours names the equation or the integrand, SciPy raises inside its iterations",
    ),
    (
        r"^so\.(fsolve|root|newton)",
        r"(complex|not a proper array|mismatch between|boolean|Improper).*we give|at least one",
        "equations in complex numbers, in matrices and in no unknowns are solved here",
    ),
    (
        r"^so\.",
        r"we raise (Shape|NotDifferentiable|UnsupportedFunction|LinearAlgebra)Error",
        "an equation has as many parts as unknowns, and a function to be minimised is one number",
    ),
    (
        r"^so\.(newton|brent|toms|ridder|bisect|root_scalar|curve_fit|minimize_scalar)",
        r"only 0-dim.*scalars|Unable to parse|record|VALUE \(dtype",
        "an unknown that is one number; found in double precision, as SciPy's iterations are",
    ),
    (
        r"^so\.minimi[sz]e",
        r"VALUE \(\(\), \(1,\)\)|VALUE \(dtype",
        "a minimum has the shape of its start, and is computed in double precision",
    ),
    (
        r"^si\.(odeint|solve_ivp)",
        r"VALUE Not equal|complex.*we give|must be 1-dimensional.*we give",
        "steps are chosen to a tolerance; states of any shape, and complex ones, are followed",
    ),
    (
        r"^si\.(quad|dblquad|tplquad|quad_vec|fixed_quad)",
        r"we raise (Shape|NotDifferentiable|UnsupportedFunction)Error|only 0-dim|"
        r"VALUE \(dtype|(ambiguous|not 'complex').*we give",
        "ends are numbers; an integral has the dtype of its integrand, and one of an array is one",
    ),
    (
        _SCIPY,
        "its record would be a traced",
        "SciPy computes in more digits than the argument has, and the record would not",
    ),
    (
        _SCIPY,
        "record cannot be made|takes square matrices|takes one matrix|do not fit right-hand|"
        "too many indices|could not be broadcast|cannot reshape|real parts of complex",
        "numbers as matrices of one entry, empty signals, and right-hand sides broadcast",
    ),
    (
        r"^sl\.(lu|cho)_",
        r"takes one matrix|we raise|VALUE \(\(\), \(\d",
        "factors of what is no matrix are refused where they are made, not where they are used",
    ),
    (r"^sl\..*swapped", "VALUE", "SciPy's own numbers for swapped matrices are wrong"),
    (r"^sl\.(det|lu_solve).*uint8", "VALUE", "SciPy computes it in single precision"),
    (
        r"^sn\.",
        "imaginary|complex|outside",
        "interpolation at complex places, of which SciPy drops the imaginary parts",
    ),
    (r"^np\.lexsort.*swapped complex", "VALUE", "NumPy's own order of swapped complex numbers"),
    (r"^sn\.interp1d.*bool", "boolean subtract", "places that are truths are 0 and 1"),
    (
        r"broadcast\(",
        "linearly independent|Singular|REVERSE|coincide",
        "a matrix of equal rows is singular up to rounding",
    ),
    (
        r"^np\.(roots|unique.*complex|union1d|setxor1d)",
        "DIFFERENCES",
        "an order that neighbours do not keep",
    ),
    (r"^sl\.fractional.*broadcast", "VALUE", "powers of eigenvalues that are rounding alone"),
    (r"^sl\.lu.*broadcast", "VALUE", "a matrix of equal rows has no pivots"),
    (r"^sp\.(log_)?softmax.*uint8", "VALUE", "SciPy subtracts the largest without a sign"),
    (r"^sn\.CubicHermite.*bool", "VALUE", "SciPy subtracts truths as exclusive or"),
    (
        r"^np\.(einsum|full|polydiv|ravel_multi|insert|ix_)|^a\.(tolist|item)",
        "we raise",
        "axes of length 0 and 1 broadcast, remainders of truths, small unsigned numbers, "
        "complex numbers among real ones",
    ),
    (r"^np\.(power|polymul|vecmat|var|histogram|nanquantile)", "we raise", "truths and no values"),
    (r"^s(f|s)\.", "Invalid number of FFT", "transforms without a point"),
    (
        r"^(np\.linalg|sl)\.(qr|pinv|lstsq)",
        "DERIVATIVE raises",
        "bases that LAPACK chose, and cutoffs that drop more than rounding, have no derivative",
    ),
    (r"^sl\.solve_sylvester.*complex", "VALUE", "SciPy's own solution of mixed dtypes is wrong"),
    (r"^np\.gradient.*broadcast", "VALUE", "places that are equal: quotients by zero"),
    (r"^sl\.solve_.*broadcast", "VALUE", "a singular equation has no one solution"),
    (r"^sp\.chndtr", "nan", "a derivative that overflows in SciPy's own formula"),
    (r"^sp\.(boxcox1p|rel_entr)", "DERIVATIVE|DIFFERENCES", "of truths, at their corners"),
)
# Types, files and settings, whose arguments are no arrays.
NOT_SHAPED = frozenset(
    [
        "bool",
        "byte",
        "complexfloating",
        "diag_indices",
        "dtype",
        "empty",
        "errstate",
        "fft.test",
        "flatiter",
        "floating",
        "frombuffer",
        "fromfile",
        "fromregex",
        "fromstring",
        "generic",
        "genfromtxt",
        "get_include",
        "get_printoptions",
        "getbufsize",
        "geterr",
        "geterrcall",
        "iinfo",
        "inexact",
        "info",
        "int16",
        "int32",
        "int_",
        "intc",
        "integer",
        "linalg.LinAlgError",
        "linalg.test",
        "load",
        "loadtxt",
        "long",
        "longlong",
        "mintypecode",
        "ndarray",
        "number",
        "printoptions",
        "promote_types",
        "set_printoptions",
        "setbufsize",
        "seterr",
        "seterrcall",
        "short",
        "show_config",
        "show_runtime",
        "signedinteger",
        "test",
        "tril_indices",
        "triu_indices",
        "typename",
        "ubyte",
        "ufunc",
        "uint",
        "uint16",
        "uint32",
        "uint64",
        "uintc",
        "uintp",
        "ulong",
        "ulonglong",
        "unsignedinteger",
        "ushort",
    ]
)


def is_expected(row: Row, said: str) -> bool:
    """Whether what is said of a row is listed."""
    name = " | ".join(row)
    return any(re.search(call, name) and re.search(text, said) for call, text, _ in EXPECTED)
