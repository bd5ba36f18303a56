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
