"""What adjoint does not do as NumPy does, each with its reason."""

from __future__ import annotations

import re

from tests.capture.shapes.grid import Row

# What is said of a row, and why it is so.
EXPECTED: tuple[tuple[str, str, str], ...] = (
    (
        r"^sp\.",
        "MissingRuleError.* has no derivative in its argument",
        "the table of special ufuncs",
    ),
)


def is_expected(row: Row, said: str) -> bool:
    """Whether what is said of a row is listed."""
    return any(re.search(call, row[0]) and re.search(text, said) for call, text, _ in EXPECTED)
