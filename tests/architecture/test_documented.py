"""Every public name says what it is for, takes, returns and raises; most of them show it."""

from dataclasses import dataclass
from enum import Enum
from types import ModuleType

import pytest

import adjoint
from adjoint.base.errors import ArgumentError
from adjoint.calculus.inputs.arguments import check_callable
from tests.architecture.documented import documentation_violations, public_names

NAMES = ["", "spaces", "maps", "tensors", "manifolds", "optimize", "implicit", "testing", "errors"]


@pytest.mark.parametrize("name", NAMES)
def test_public_names_are_documented(name: str) -> None:
    module = getattr(adjoint, name) if name else adjoint
    assert public_names(module) != []
    assert documentation_violations(module) == []


# --- the rule -------------------------------------------------------------------------------------


def planted(**names: object) -> ModuleType:
    module = ModuleType("planted", "A module.")
    vars(module).update(names, __all__=sorted(names))
    return module


def bare():  # type: ignore[no-untyped-def]
    pass


def without_example() -> None:
    """Do nothing."""


def with_example() -> None:
    """Do nothing.

    >>> with_example()
    """


def with_arguments(x: float, *others: float, **options: float) -> None:
    """Do nothing.

    Args:
        x: a number.
            of one word: in a line that goes on.
        others, options: more of them.

    >>> with_arguments(1.0)
    """


def without_returns(x: float) -> float:
    """Do nothing.

    Args:
        x: a number.

    >>> without_returns(1.0)
    """
    return x


def without_raises(x: float) -> None:
    """Do nothing.

    Args:
        x: a number.

    >>> without_raises(1.0)
    """
    if x < 0:
        raise ArgumentError("x is negative.")


def without_raises_of_a_checker(f: object) -> None:
    """Do nothing.

    Args:
        f: a function.

    Raises:
        ArgumentError: it is none.

    >>> without_raises_of_a_checker(abs)
    """
    check_callable(f, "without_raises_of_a_checker")


class WithMethods:
    """A class.

    >>> WithMethods().told()
    """

    def told(self, x: float) -> float:
        """Do nothing.

        Args:
            x: a number.

        Returns:
            The number.

        Raises:
            ArgumentError: it is negative.
        """
        if x < 0:
            raise ArgumentError("x is negative.")
        return x


class WithSilentMethods(WithMethods):
    """A class that overrides a method, and has one of its own.

    >>> WithSilentMethods().own()
    """

    def told(self, x: float) -> float:
        """The same."""
        return x

    def own(self, x: float) -> None:
        """Do nothing."""


def without_arguments(x: float, y: float) -> None:
    """Do nothing.

    Args:
        x: a number.

    >>> without_arguments(1.0, 2.0)
    """


@dataclass
class Record:
    """A number.

    Attributes:
        number: the number.

    >>> Record(1.0).number
    1.0
    """

    number: float
    _cache: float = 0.0


class Choice(Enum):
    """One of two.

    >>> Choice.LEFT.value
    1
    """

    LEFT = 1
    RIGHT = 2


class Undocumented(Exception):
    pass


class DocumentedError(Exception):
    """A thing went wrong."""


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        (bare, "no docstring"),
        (without_example, "no example"),
        (type("Plain", (), {}), "no docstring"),
        (type("Plain", (), {"__doc__": "A class."}), "no example"),
        (without_arguments, "what y is"),
        (without_returns, "what it returns"),
        (without_raises, "when it raises ArgumentError"),
        (without_raises_of_a_checker, "when it raises ArgumentTypeError"),
        (Undocumented, "no docstring"),
    ],
)
def test_a_missing_text_is_found(value: object, fault: str) -> None:
    (found,) = documentation_violations(planted(value=value))
    assert found.startswith("planted.value: ")
    assert fault in found


def test_a_method_that_is_silent_is_found() -> None:
    (found,) = documentation_violations(planted(value=WithSilentMethods))
    assert found == "planted.value.own: does not say in its docstring what x is"


def test_a_name_that_does_not_exist_is_found() -> None:
    module = planted()
    vars(module)["__all__"] = ["gone"]
    assert documentation_violations(module) == ["planted.gone: is in __all__ and does not exist"]


@pytest.mark.parametrize(
    "value", [with_example, with_arguments, WithMethods, Record, Choice, DocumentedError, 3.0]
)
def test_documented_names_are_fine(value: object) -> None:
    assert documentation_violations(planted(value=value)) == []
