"""Exceptions as they are used: control flow, clean-up, classes of one's own, and what goes out."""

from __future__ import annotations

import contextlib
import traceback

import numpy as np

from tests.capture.battery.registry import fresh, program

ROW = np.array([0.7, 1.3])


class Failure(Exception):
    """An error of one's own, with a value."""

    def __init__(self, value, *rest):
        super().__init__(value, *rest)
        self.value = value


class Worse(Failure):
    """A special one."""


@program(ROW)
def an_error_carries_a_value(x):
    try:
        raise Failure(x[0] * 2)
    except Failure as failure:
        return failure.value * x[1]


@program(ROW)
def an_error_leaves_a_recursion(x):
    def search(v, depth):
        if v > 5:
            raise Failure(v, depth)
        search(v * 1.5, depth + 1)

    try:
        search(x[0], 0)
    except Failure as failure:
        return failure.value * failure.args[1]


@program(ROW)
def errors_by_kind(x):
    total = 0.0
    for error in (Worse(x[0]), Failure(x[1]), KeyError("a")):
        try:
            raise error
        except Worse as failure:
            total = total + failure.value * 2
        except Failure as failure:
            total = total + failure.value * 3
        except LookupError:
            total = total + x[0]
    return total


@program(ROW)
def else_and_finally(x):
    log = []
    try:
        y = np.sum(x)
    except ValueError:
        y = 0.0
    else:
        y = y * 2
    finally:
        log.append(1.0)
    return y * len(log)


@program(ROW)
def finally_that_returns(x):
    def f():
        try:
            return x[0]
        finally:
            return x[1] * 2  # noqa: B012

    return f()


@program(ROW)
def finally_after_a_break(x):
    total = 0.0
    for v in x:
        try:
            if v > 1:
                break
            total = total + v
        finally:
            total = total * 2 + 1
    return total * x[1]


@program(ROW)
def an_error_in_finally(x):
    try:
        try:
            raise ValueError("one")
        finally:
            raise KeyError("two")
    except KeyError as error:
        return np.sum(x) * (2 if isinstance(error.__context__, ValueError) else 3)


@program(ROW)
def errors_with_causes(x):
    try:
        try:
            {}["a"]
        except KeyError as error:
            raise Failure(x[0]) from error
    except Failure as failure:
        return failure.value * (2 if isinstance(failure.__cause__, KeyError) else 3)


@program(ROW)
def an_error_raised_again(x):
    try:
        try:
            raise Failure(x[0])
        except Failure:
            raise
    except Failure as failure:
        return failure.value * 3


@program(ROW)
def an_error_that_goes_out(x):
    if x[0] > 0:
        raise Failure("no")
    return np.sum(x)


@program(ROW)
def an_error_with_a_traced_value_goes_out(x):
    raise Failure(x[0])


@program(ROW)
def a_key_error_goes_out(x):
    return {"a": x}["b"]


@program(ROW)
def an_assertion_goes_out(x):
    assert x[0] > 1, f"too small: {x[0]}"
    return np.sum(x)


@program(ROW)
def an_assertion_that_holds(x):
    assert np.all(x > 0)
    assert x.shape == (2,) and x.dtype == float
    return np.sum(x**2)


@program(ROW)
def an_undefined_name_goes_out(x):
    return np.sum(x) * undefined_name  # noqa: F821


@program(ROW)
def a_local_that_is_unbound(x):
    if x[0] > 1:
        y = x * 2
    return np.sum(y)


@program(ROW)
def a_recursion_that_never_ends(x):
    def go(v):
        return go(v + 1)

    try:
        return go(0)
    except RecursionError:
        return np.sum(x) * 2


@program(ROW)
def not_implemented_goes_out(x):
    raise NotImplementedError


@program(ROW)
def stop_iteration_is_caught(x):
    numbers = iter(x)
    total = 0.0
    while True:
        try:
            total = total + next(numbers) ** 2
        except StopIteration:
            return total


@program(ROW)
def keyboard_interrupts_are_not_caught(x):
    try:
        try:
            raise KeyboardInterrupt
        except Exception:
            return np.sum(x) * 2
    except KeyboardInterrupt:
        return np.sum(x) * 3


@program(ROW)
def groups_of_errors(x):
    total = 0.0
    try:
        raise ExceptionGroup("many", [ValueError(1), Failure(x[0]), KeyError(2)])
    except* ValueError:
        total = total + x[1]
    except* Failure as group:
        total = total + group.exceptions[0].value * 2
    except* KeyError:
        total = total * 3
    return total


@program(ROW)
def suppressed_errors(x):
    y = np.sum(x)
    with contextlib.suppress(ZeroDivisionError):
        y = y * 2
        1 / 0
        y = y * 100
    return y


@program(ROW)
def text_of_a_traceback(x):
    try:
        raise Failure("here")
    except Failure:
        text = traceback.format_exc()
    return np.sum(x) * (2 if "text_of_a_traceback" in text and "Failure" in text else 3)


@program(ROW)
def notes_on_errors(x):
    try:
        error = ValueError("a")
        error.add_note("b")
        raise error
    except ValueError as caught:
        return np.sum(x) * len(caught.__notes__)


@program(ROW)
def tries_until_it_works(x):
    attempts = 0

    def fragile(v):
        if attempts < 3:
            raise ConnectionError("again")
        return v**2

    while True:
        try:
            return np.sum(fragile(x)) * attempts
        except ConnectionError:
            attempts += 1


@program(ROW)
def asking_forgiveness(x):
    total = 0.0
    for thing in (x, 2.0, "word", [x[0], x[1]], None):
        try:
            total = total + np.sum(thing * x)
        except TypeError:
            total = total + 1.0
    return total


@program(ROW)
def asking_permission(x):
    total = 0.0
    for thing in (x, 2.0, "word", [x[0]]):
        if isinstance(thing, (np.ndarray, float)):
            total = total + np.sum(thing * x)
        elif isinstance(thing, list):
            total = total + thing[0]
    return total


@program(np.array([[2.0, 0.3], [0.3, -1.0]]))
def factorisation_with_a_fallback(a):
    try:
        return np.sum(np.linalg.cholesky(a))
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh((a + a.T) / 2)
        return np.sum(np.maximum(values, 0.1)) + vectors[0, 0] ** 2


@program(np.array([[2.0, 0.3], [0.3, 1.0]]))
def factorisation_that_works(a):
    try:
        factor = np.linalg.cholesky(a)
    except np.linalg.LinAlgError:
        return np.trace(a)
    else:
        return 2 * np.sum(np.log(np.diag(factor)))


@program(np.array([[1.0, 2.0], [2.0, 4.0]]))
def a_singular_matrix_goes_out(a):
    return np.sum(np.linalg.inv(a - a))


@program(ROW)
def overflow_error_is_control_flow(x):
    import math

    total = 0.0
    for k in (1.0, 2.0, 2000.0):
        try:
            total = total + math.exp(k * x[0])
        except OverflowError:
            total = total + x[1]
    return total * 1e-3


@program(ROW)
def value_errors_of_lists(x):
    values = x.tolist()
    try:
        return values.index(9.0) * x[0]
    except ValueError:
        values.remove(values[0])
        return values[0] * len(values)


@program(ROW)
def index_errors_end_a_loop(x):
    total, k = 0.0, 0
    while True:
        try:
            total = total + x[k] * (k + 1)
        except IndexError:
            return total
        k += 1


@program(ROW)
def attribute_errors_choose(x):
    class Old:
        def value(self):
            return x[0]

    try:
        return Old().new_value()
    except AttributeError as error:
        return Old().value() * len(error.name)


@program(ROW)
def warnings_turned_into_errors_by_name(x):
    import warnings

    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="mind")
        try:
            warnings.warn("mind this", stacklevel=1)
        except UserWarning:
            return np.sum(x**2)
    return np.sum(x)


@fresh(ROW)
def clean_up_outside():
    log = []

    def f(x):
        try:
            log.append("begin")
            if x[0] > 0.5:
                raise Failure("half way")
            return np.sum(x)
        finally:
            log.append("end")

    return f, lambda: log


@fresh(ROW)
def a_lock_is_released():
    import threading

    lock = threading.Lock()

    def f(x):
        with lock:
            if x[1] > 1:
                raise ValueError("inside the lock")
        return np.sum(x)

    return f, lambda: lock.locked()


@fresh(ROW)
def an_undo_after_an_error():
    stock = {"a": 3, "b": 0}

    def f(x):
        before = dict(stock)
        try:
            for name in stock:
                stock[name] -= 1
                if stock[name] < 0:
                    raise ValueError(name)
        except ValueError:
            stock.update(before)
            return np.sum(x) * 2
        return np.sum(x)

    return f, lambda: stock


@fresh(ROW)
def errors_are_counted():
    failures = []

    def f(x):
        total = 0.0
        for divisor in (1, 0, 2):
            try:
                total = total + np.sum(x) * (6 // divisor)
            except ZeroDivisionError as error:
                failures.append(str(error))
        return total + len(failures)

    return f, lambda: failures
