"""The sweep of shapes, layouts and dtypes, a share: `python -m tests.capture.shapes` is all."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy import interpolate, special

import adjoint as ad
from adjoint.capture.numpy.coverage import CONSTANT, DIFFERENTIABLE
from adjoint.capture.scipy.table import SCIPY_FUNCTIONS
from adjoint.scipy import linalg  # fills the table of SciPy's functions
from tests.capture.shapes import checking
from tests.capture.shapes.checking import check
from tests.capture.shapes.grid import NAMES, functions_of, rows
from tests.capture.shapes.refusals import NOT_SHAPED, is_expected
from tests.sampling import one_in

# SciPy's compiled code complains of swapped bytes where nobody can catch it.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
SHARE = 80
ROWS = rows()
CALLED = {name for call in {call for call, _ in ROWS} for name in functions_of(call)}


@pytest.fixture(autouse=True)
def plain_programs() -> object:
    """Programs are checked after every pass elsewhere; here there are thousands."""
    with ad.config(debug=False, native=False):
        yield


@pytest.mark.parametrize("start", one_in(SHARE, range(SHARE)))
def test_what_numpy_does(start: int) -> None:
    found = []
    for row in ROWS[start::SHARE]:
        kind, said = check(row)
        if said and not is_expected(row, said):
            found.append(f"{kind} {row}: {said}")
    assert not found, "\n".join(found)


MENDED = (
    ("np.mean(a, axis=1, keepdims=True)", "swapped complex(2, 3, 3)"),
    ("np.cumsum(a, axis=-2)", "byte-swapped(2, 3, 3)"),
    ("np.apply_over_axes(np.sum, a, (0,2))", "byte-swapped(2, 3, 3)"),
    ("np.apply_along_axis(np.sum, 1.0, a)", "float64(2, 3)"),
    ("left(np.copyto, a, 2.0)", "int64(3,)"),
    ("left(np.putmask, a, a > 0.5, b)", "bool(3,) float64(3,)"),
    ("left(np.put, a, 0, b)", "() ()"),
    ("np.piecewise(a, [b > 0.5], [1.0, 2.0])", "(2, 3, 3) (2, 3)"),
    ("np.piecewise(a, [b > 0.5], [1.0, 2.0])", "(0, 3) (1, 3)"),
    ("np.partition(a, 1, axis=0)", "float64(2, 3, 3)"),
    ("a.partition(1)", "float64(3, 0)"),
    ("np.polymul(a, b)", "(5,) (0,)"),
    ("a.item(0)", "uint8(2, 3, 3)"),
    ("si.simpson(a, x=b)", "float64(3,) int64(3,)"),
    ("ss.sawtooth(a, b)", "(3, 3) (3, 3)"),
    ("sl.cho_factor(a)", "complex128(3, 3)"),
    ("sl.block_diag(a, b)", "int64(3, 3) int64(3, 3)"),
    ("sl.circulant(a)", "float64()"),
    ("sl.det(a)", "float32(3, 3)"),
    ("sl.qr(a)", "bool(2, 3, 3)"),
    ("sp.jvp(1, a)", "float32(2, 3, 3)"),
    ("sp.spherical_jn(1, a, True)", "float32()"),
    ("sp.polygamma(1, a)", "float32(3,)"),
    ("sp.logsumexp(a, axis=1)", "uint8(2, 3, 3)"),
    ("sp.logsumexp(a, b=b)", "bool(3,) float64(3,)"),
    ("so.fsolve(lambda t: t - a, a)", "float32(3,)"),
    ("so.bisect(lambda t: t - a, -1, 3)", "float64(1, 1)"),
    ("so.minimize(lambda t: np.sum((t - a) ** 2), a).x", "float64(2, 0, 2)"),
    ("si.quad(lambda t: t * a, 0, 1)[0]", "float64(3, 0)"),
    ("ss.fftconvolve(a, b)", "() ()"),
)


@pytest.mark.parametrize("row", MENDED, ids=" of ".join)
def test_what_was_not_numpys_answer(row: tuple[str, str]) -> None:
    assert check(row)[1] == ""


def test_what_has_no_weight_in_a_sum_of_exponentials_does_not_hide_the_rest() -> None:
    a, b = np.array([1000.0, 0.0]), np.array([0.0, 1.0])
    assert ad.jit(lambda a: special.logsumexp(a, b=b))(a) == 0.0
    np.testing.assert_array_equal(ad.grad(lambda a: special.logsumexp(a, b=b))(a), [0.0, 1.0])


def test_an_interpolant_refuses_complex_points() -> None:
    spline = interpolate.CubicSpline([0, 1, 2], [0, 1, 4])
    with pytest.raises(ad.errors.UnsupportedFunctionError, match="imaginary"):
        ad.jvp(spline, (np.array([0.5j]),), (np.array([1j]),))


def test_every_function_of_numpys_tables_is_called() -> None:
    public = {name for name in DIFFERENTIABLE | CONSTANT if _exists(np, name)}
    assert {name for name in public if f"np.{name}" not in CALLED} <= NOT_SHAPED


def test_every_function_of_scipys_table_is_called() -> None:
    assert linalg is not None
    rooms = {value.__name__: key for key, value in NAMES.items() if hasattr(value, "__name__")}
    left = {
        f"{part}.{name}"
        for part, name in SCIPY_FUNCTIONS
        if f"{rooms.get(f'scipy.{part}')}.{name}" not in CALLED
        and not part.startswith(("sparse", "spatial", "_lib", "_external", "ndimage"))
        and not re.match(r"rosen|i?d[cs]tn?$|pinvh|signm|solve_\w+_are|upfirdn|rq$|bisplev", name)
    }
    assert not left  # those have tests of their own in tests/scipy, as has what SciPy's code calls


def _exists(room: object, name: str) -> bool:
    for part in name.split("."):
        room = getattr(room, part, None)
    return room is not None


def test_a_wrong_answer_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sweep itself: a shape, a type, an error and a refusal that NumPy does not give."""
    assert checking._difference(np.ones((1,)), np.ones(()), ())
    assert checking._difference(np.ones(()), np.float64(1.0), ())
    assert checking._of_errors(ValueError(), TypeError())[0] == "differs"
    assert checking._of_errors(np.ones(2), TypeError())[0] == "differs"
    assert checking._of_errors(IndexError(), np.ones(2))[0] == "differs"
    assert checking._of_errors(ad.errors.DTypeError(), np.ones(2))[0] == "refused"
