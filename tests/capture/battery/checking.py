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

    program_of_the_call.__name__ = call.__name__.strip("_")
    program_of_the_call.__module__ = call.__module__
    program(POINT, ways=("grad", "jit", "vmap"))(program_of_the_call)


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

    program_that_catches.__name__ = "caught_" + call.__name__.strip("_")
    program_that_catches.__module__ = call.__module__
    smooth = 0 if "cancel" in call.__name__ else 2  # it fails at the point alone
    ways = ("grad", "jvp", "jit", "vmap", "nested")
    program(POINT, smooth=smooth, ways=ways)(program_that_catches)
