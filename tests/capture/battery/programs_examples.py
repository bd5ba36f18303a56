"""The programs of `tests.capture.programs_*`: un-jitted twice, and over a batch."""

from __future__ import annotations

from tests.capture import (
    programs_fields,
    programs_in_place,
    programs_learning,
    programs_models,
    programs_numerics,
    programs_objects,
    programs_physics,
    programs_python,
)
from tests.capture.battery.registry import program
from tests.capture.programs import EXAMPLES

FILES = (
    *(programs_fields, programs_in_place, programs_learning, programs_models),
    *(programs_numerics, programs_objects, programs_physics, programs_python),
)

for _example in EXAMPLES:
    program(*_example.args, smooth=1, ways=("grad", "vmap"))(_example.function)
