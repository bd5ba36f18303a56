"""The sweep of shapes, layouts and dtypes, a share: `python -m tests.capture.shapes` is all."""

from __future__ import annotations

import numpy as np
import pytest

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


def test_every_function_of_numpys_tables_is_called() -> None:
    public = {name for name in DIFFERENTIABLE | CONSTANT if _exists(np, name)}
    assert {name for name in public if f"np.{name}" not in CALLED} <= NOT_SHAPED


def test_every_function_of_scipys_table_is_called() -> None:
    assert linalg is not None
    rooms = {value.__name__: key for key, value in NAMES.items() if hasattr(value, "__name__")}
    left = {
        f"{part}.{name}"
        for part, name in SCIPY_FUNCTIONS
        if f"{rooms.get(f'scipy.{part}')}.{name}" not in CALLED and not part.startswith("sparse")
    }
    assert not left  # sparse matrices have a shape of their own, see tests/scipy/test_sparse.py


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
