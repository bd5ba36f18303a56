"""Code with its own `except`: what we refuse must not be taken for an error of the code's."""

from __future__ import annotations

import contextlib
import ctypes
import io
import json
import pickle
import struct

import numpy as np
import scipy.optimize
import scipy.stats

import adjoint as ad
from tests.capture.battery.registry import fresh, program

ROW = np.array([0.7, 1.3])


@program(0.7)
def density_with_a_fallback(x):
    try:
        return scipy.stats.norm.logpdf(x)
    except TypeError:
        return 0 * x


@program(0.7)
def density_with_a_bare_except(x):
    try:
        return scipy.stats.gamma(2.0).pdf(x)
    except:  # noqa: E722
        return 0 * x


@program(0.7)
def density_suppressed(x):
    y = 0 * x
    with contextlib.suppress(TypeError, ValueError):
        y = scipy.stats.t(3.0).logpdf(x)
    return y


@program(ROW)
def a_solver_with_a_fallback(x):
    try:
        return scipy.optimize.brentq(lambda y: y**3 - x[0], 0, 2)
    except Exception:
        return 0.0 * x[0]


@program(ROW)
def a_minimiser_with_a_fallback(x):
    try:
        found = scipy.optimize.minimize_scalar(lambda y: (y - x[0]) ** 2 + 1)
        return found.fun + x[1]
    except Exception:
        return 0.0 * x[0]


@program(ROW)
def packing_bytes(x):
    try:
        return struct.unpack("d", struct.pack("d", x[0]))[0] * x[1]
    except Exception:
        return 0.0 * x[0]


@program(ROW)
def a_buffer_of_bytes(x):
    try:
        return np.frombuffer(x.tobytes())[0] * x[1]
    except Exception:
        return 0.0 * x[0]


@program(ROW, smooth=0)
def an_array_as_text(x):
    try:
        return np.array(json.loads(json.dumps(x.tolist())))[0] * x[1]
    except Exception:
        return 0.0 * x[0]


@program(ROW)
def an_array_pickled(x):
    try:
        return np.sum(pickle.loads(pickle.dumps(x)) * x)
    except Exception:
        return 0.0 * x[0]


@program(ROW)
def a_view_as_whole_numbers(x):
    try:
        return x[0] * float((x.view(np.int64) >> 63)[0] + 2)
    except Exception:
        return 0.0 * x[0]


@program(ROW)
def a_pointer_to_the_data(x):
    try:
        return x[0] * (2.0 if x.ctypes.data_as(ctypes.c_void_p) else 3.0)
    except Exception:
        return 0.0 * x[0]


@program(ROW)
def saved_to_a_stream(x):
    try:
        stream = io.BytesIO()
        np.save(stream, x)
        return x[0] * len(stream.getvalue())
    except Exception:
        return 0.0 * x[0]


@program(ROW)
def a_function_without_a_rule(x):
    try:
        return np.sum(np.apply_along_axis(np.cumsum, 0, x) ** 2)
    except Exception:
        return 0.0 * x[0]


@program(ROW)
def an_object_array(x):
    try:
        return np.sum(np.array([x[0], x[1]], dtype=object))
    except Exception:
        return 0.0 * x[0]


@program(ROW)
def a_vectorised_function(x):
    try:
        return np.sum(np.vectorize(lambda v: v**2 if v > 1 else v)(x))
    except Exception:
        return 0.0 * x[0]


@program(ROW)
def a_function_of_an_array_of_functions(x):
    try:
        return np.sum(np.frompyfunc(lambda v: v**2, 1, 1)(x).astype(float))
    except Exception:
        return 0.0 * x[0]


@program(ROW)
def a_structured_array(x):
    try:
        table = np.zeros(2, [("a", float), ("b", int)])
        table["a"] = x
        return np.sum(table["a"] ** 2)
    except Exception:
        return 0.0 * x[0]


@program(ROW)
def refused_in_a_loop(x):
    total = 0.0
    for v in x:
        try:
            total = total + scipy.stats.norm.cdf(v)
        except Exception:
            continue
    return total


@program(ROW)
def refused_in_finally(x):
    total = np.sum(x)
    try:
        try:
            total = total + scipy.stats.norm.sf(x[0])
        finally:
            total = total * 2
    except Exception:
        total = total * 0
    return total


@program(ROW)
def refused_in_a_generator(x):
    def values():
        for v in x:
            try:
                yield scipy.stats.norm.ppf(v / 2)
            except Exception:
                yield 0.0 * v

    return sum(values())


@fresh(ROW)
def a_list_of_implementations():
    def first(v):
        return scipy.stats.expon.pdf(v)

    def second(v):
        return np.zeros_like(v)

    def f(x):
        for each in (first, second):
            try:
                return np.sum(each(x))
            except TypeError:
                continue
        return 0.0

    return f


@fresh(0.7)
def stop_gradient_is_no_refusal():
    return lambda x: float(ad.stop_gradient(x) > 0.5) * x**2


@program(ROW)
def a_type_error_of_ones_own(x):
    try:
        return np.sum(x + "word")
    except TypeError:
        return np.sum(x**2)


@program(ROW)
def a_value_error_of_numpy(x):
    try:
        return np.sum(x + np.ones(3))
    except ValueError:
        return np.sum(x**2)


@program(ROW)
def nested_attempts(x):
    try:
        try:
            return np.sum(np.linalg.cholesky(-np.diag(x)))
        except ValueError:
            return np.sum(x) * 2
    except np.linalg.LinAlgError:
        return np.sum(x) * 3


@program(ROW)
def the_argument_of_the_error_is_used(x):
    try:
        raise ValueError(x[0] * 2)
    except ValueError as error:
        return error.args[0] ** 2


@program(ROW)
def solved_with_more_jitter(x):
    matrix = np.outer(x, x)
    for k in range(10):
        try:
            return np.sum(np.linalg.cholesky(matrix - 1e-3 * np.eye(2) + 0.01 * k * np.eye(2)))
        except np.linalg.LinAlgError:
            continue
    return 0.0


@program(ROW)
def inverse_or_pseudoinverse(x):
    matrix = np.array([[1.0, 2.0], [2.0, 4.0]])
    try:
        y = np.linalg.inv(matrix) @ x
    except np.linalg.LinAlgError:
        y = np.linalg.pinv(matrix) @ x
    return np.sum(y**2)


@program(ROW)
def the_next_of_flat(x):
    y = x * 2
    places = y.flat
    first = next(places)
    return first + next(places) * 3


@program(ROW)
def the_next_of_an_iterator_over_flat(x):
    places = iter((x * 2).flat)
    return next(places) + next(places) * 3 + next(places, 1.0)


@program(ROW)
def the_next_of_an_array_raises(x):
    return next(x * 2)


@program(ROW)
def the_next_of_a_scalar_raises(x):
    return next(x[0])
