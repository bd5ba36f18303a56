"""The counterparts in NumPy and SciPy of torch's operators, by torch's name and variant."""

from __future__ import annotations

from tests.torch_operators.counterpart import Counterpart
from tests.torch_operators.elementwise import ELEMENTWISE
from tests.torch_operators.fourier import FOURIER
from tests.torch_operators.learning import LEARNING
from tests.torch_operators.linear_algebra import LINEAR_ALGEBRA
from tests.torch_operators.reductions import REDUCTIONS
from tests.torch_operators.structure import STRUCTURE

COUNTERPARTS: dict[str, Counterpart] = {
    name: entry if isinstance(entry, Counterpart) else Counterpart(entry)
    for family in (ELEMENTWISE, REDUCTIONS, STRUCTURE, LINEAR_ALGEBRA, FOURIER, LEARNING)
    for name, entry in family.items()
}

# Where both differ and shall, and what is to be counted then instead of an agreement.
_CUTOFF = (
    "value refused",
    "A cutoff that drops more than rounding is refused: the derivative is not known there.",
)
DIFFERENCES: dict[tuple[str, str], tuple[str, str]] = {
    ("linalg.pinv", "float64"): _CUTOFF,
    ("linalg.pinv", "complex128"): _CUTOFF,
    ("logcumsumexp", "complex128"): (
        "value disagreed",
        "Torch's logarithms of complex sums go on from branch to branch; NumPy's are principal.",
    ),
}
