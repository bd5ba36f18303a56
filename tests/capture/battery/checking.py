"""Calls that fail, as programs: once with the error going out, and once with it caught."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.capture.battery.registry import program

POINT = np.array([0.7, 1.3, 2.1])


def add_calls(names: dict[str, Any]) -> None:
    """Add all functions of a file whose names begin with one underscore."""
    for name, value in list(names.items()):
        own = getattr(value, "__module__", None) == names["__name__"]
        if own and callable(value) and name.startswith("_") and not name.startswith("__"):
            _alone(value)
            _caught(value)


def _alone(call: Callable[..., Any]) -> None:
    """The call, whose error goes out."""

    def program_of_the_call(x: Any) -> Any:
        return call(x)

    _add(program_of_the_call, call, "")


def _caught(call: Callable[..., Any]) -> None:
    """The call, whose error is caught by kind, and another value given."""

    def program_that_catches(x: Any) -> Any:
        try:
            return call(x)
        except np.linalg.LinAlgError:
            return np.sum(x) * 2
        except IndexError:
            return np.sum(x) * 3
        except ValueError:
            return np.sum(x) * 4
        except TypeError:
            return np.sum(x) * 5
        except ZeroDivisionError:
            return np.sum(x) * 6

    _add(program_that_catches, call, "caught_")


def _add(function: Callable[..., Any], call: Callable[..., Any], before: str) -> None:
    function.__name__ = before + call.__name__.strip("_")
    function.__module__ = call.__module__
    # Where it fails at the point alone, there is no derivative.
    program(POINT, smooth=0 if "cancel" in call.__name__ else 2)(function)
