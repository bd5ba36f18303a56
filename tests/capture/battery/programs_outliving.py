"""What outlives the call: histories, attributes, exceptions, files. It is NumPy's and Python's."""

from __future__ import annotations

import collections
import copy
import io
import json
import logging
import pickle
import queue
import types

import numpy as np

from tests.capture.battery.registry import fresh

ROW = np.array([0.7, 1.3])


@fresh(ROW)
def a_history_of_losses():
    history = []

    def loss(x):
        y = np.sum(x**2)
        history.append(float(y))
        return y

    return loss, lambda: history


@fresh(ROW)
def a_history_as_json():
    history = []

    def loss(x):
        y = np.sum(x**2)
        history.append({"loss": float(y), "n": len(x), "point": x.tolist()})
        return y

    return loss, lambda: json.dumps([{**each, "loss": round(each["loss"], 9)} for each in history])


@fresh(ROW)
def a_history_of_scalars():
    history = []

    def loss(x):
        y = np.sum(x**2)
        history.append(y)
        return y

    return loss, lambda: history


@fresh(ROW)
def a_history_of_points():
    history = []

    def loss(x):
        history.append(x.copy())
        return np.sum(x**2)

    return loss, lambda: history


@fresh(ROW)
def a_history_of_points_without_copies():
    history = []

    def loss(x):
        history.append(x)
        return np.sum(x**2)

    return loss, lambda: history


@fresh(ROW)
def an_attribute_that_is_pickled():
    class Model:
        def loss(self, x):
            self.last = np.sin(x)
            return np.sum(self.last)

    model = Model()
    return model.loss, lambda: pickle.loads(pickle.dumps(model.__dict__))


@fresh(ROW)
def an_attribute_that_is_copied():
    model = types.SimpleNamespace(last=None)

    def loss(x):
        model.last = {"sin": np.sin(x), "sum": np.sum(x)}
        return np.sum(model.last["sin"]) * model.last["sum"]

    return loss, lambda: copy.deepcopy(model.last)


@fresh(ROW)
def an_attribute_that_is_saved():
    model = types.SimpleNamespace(last=None)

    def loss(x):
        model.last = x * 2
        return np.sum(model.last)

    def saved():
        stream = io.BytesIO()
        np.savez(stream, last=model.last)
        stream.seek(0)
        return np.load(stream)["last"]

    return loss, saved


@fresh(ROW)
def an_attribute_that_is_formatted():
    model = types.SimpleNamespace(last=None)

    def loss(x):
        model.last = np.sum(x)
        return model.last**2

    return loss, lambda: [f"{model.last:.3f}", str(model.last), repr(model.last)]


@fresh(ROW)
def an_intermediate_in_a_closure():
    kept = None

    def loss(x):
        nonlocal kept
        kept = np.exp(x)
        return np.sum(kept)

    return loss, lambda: kept


@fresh(ROW)
def a_dictionary_of_intermediates():
    trace = {}

    def loss(x):
        trace["a"] = a = x * 2
        trace["b"] = b = np.tanh(a)
        trace["shape"] = b.shape
        trace["truth"] = bool(b[0] > 0.5)
        trace["place"] = int(np.argmax(b))
        return np.sum(b)

    return loss, lambda: trace


@fresh(ROW)
def flags_and_counts():
    log = []

    def loss(x):
        log.append(x[0] > 0.5)
        log.append(np.argmax(x))
        log.append(x.shape)
        log.append(int(x[1]))
        log.append(x > 1)
        log.append(len(x))
        return np.sum(x)

    return loss, lambda: log


@fresh(ROW)
def a_message_written():
    stream = io.StringIO()

    def loss(x):
        y = np.sum(x**2)
        print(f"loss {y:.4f} at {x}", file=stream)
        return y

    return loss, lambda: stream.getvalue()


@fresh(ROW)
def a_log_record():
    records = []

    class Handler(logging.Handler):
        def emit(self, record):
            records.append(record.getMessage())

    logger = logging.Logger("battery", logging.INFO)
    logger.addHandler(Handler())

    def loss(x):
        y = np.sum(x**2)
        logger.info("loss %.3f", y)
        logger.debug("not shown %s", x)
        return y

    return loss, lambda: records


@fresh(ROW)
def an_exception_that_holds_a_value():
    kept = []

    def loss(x):
        try:
            raise ValueError("bad", x[0] * 2)
        except ValueError as error:
            kept.append(error.args)
        return np.sum(x)

    return loss, lambda: kept


@fresh(ROW)
def a_state_after_an_error():
    model = types.SimpleNamespace(last=np.zeros(2), calls=0)

    def loss(x):
        model.calls += 1
        model.last = x * 2
        raise RuntimeError("not finished")

    return loss, lambda: [model.last, model.calls]


@fresh(ROW)
def a_state_after_a_wrong_shape():
    model = types.SimpleNamespace(weights=np.ones(2), last=None)

    def loss(x):
        model.weights = model.weights * 2
        model.last = x + 1
        return np.sum(x + np.ones(3))

    return loss, lambda: [model.weights, model.last]


@fresh(ROW)
def a_workspace_with_the_last_values():
    model = types.SimpleNamespace(work=np.zeros(2))

    def loss(x):
        model.work[:] = x
        model.work *= 3
        return np.sum(model.work**2)

    return loss, lambda: model.work


@fresh(ROW)
def a_matrix_filled_row_by_row():
    table = types.SimpleNamespace(rows=np.zeros((4, 2)), n=0)

    def loss(x):
        table.rows[table.n] = x
        table.n += 1
        return np.sum(table.rows[: table.n] ** 2)

    return loss, lambda: [table.rows, table.n]


@fresh(ROW)
def a_queue_of_values():
    results = queue.Queue()

    def loss(x):
        results.put(float(x[0]))
        return np.sum(x**2)

    return loss, lambda: list(results.queue)


@fresh(ROW)
def a_deque_of_the_last_values():
    window = collections.deque(maxlen=3)

    def loss(x):
        for v in x:
            window.append(v * 2)
        return sum(window)

    return loss, lambda: list(window)


@fresh(ROW)
def a_generator_left_open():
    kept = []

    def numbers(x):
        for v in x:
            yield v**2

    def loss(x):
        generator = numbers(x)
        kept.append(generator)
        return next(generator) * 2

    return loss, lambda: len(kept)


@fresh(ROW)
def a_function_that_closes_over_a_value():
    kept = {}

    def loss(x):
        y = np.sum(x)
        kept["scale"] = lambda v: v * y
        return kept["scale"](y)

    return loss, lambda: kept["scale"](2.0)


@fresh(ROW)
def an_object_made_inside():
    kept = []

    class Result:
        def __init__(self, value, place):
            self.value, self.place = value, place

    def loss(x):
        result = Result(np.sum(x**2), x[1:])
        kept.append(result)
        return result.value

    return loss, lambda: [kept[-1].value, kept[-1].place]


@fresh(ROW)
def a_view_that_is_kept():
    model = types.SimpleNamespace(first=None)

    def loss(x):
        y = x * 2
        model.first = y[:1]
        y += 1
        return np.sum(y)

    return loss, lambda: model.first


@fresh(ROW)
def two_names_of_one_value_are_kept():
    model = types.SimpleNamespace()

    def loss(x):
        model.a = x * 2
        model.b = model.a
        return np.sum(model.a)

    return loss, lambda: [model.a is model.b, np.shares_memory(model.a, model.b)]


@fresh(ROW)
def the_best_point_so_far():
    best = {"value": np.inf, "point": None}

    def loss(x):
        value = np.sum((x - 1) ** 2)
        if value < best["value"]:
            best.update(value=float(value), point=x.copy())
        return value

    return loss, lambda: best


@fresh(0.7)
def numbers_of_python_stay_numbers():
    kept = []

    def f(x):
        kept.extend([x, x * 2, int(x * 10), round(x, 1), x > 0.5, str(round(x, 3)), (x, x)])
        return x**2

    return f, lambda: kept


@fresh(ROW)
def statistics_of_the_calls():
    stats = collections.Counter()

    def loss(x):
        stats["calls"] += 1
        stats["large" if x[1] > 1 else "small"] += 1
        return np.sum(x)

    return loss, lambda: dict(stats)


@fresh(ROW)
def an_average_of_gradients_by_hand():
    model = types.SimpleNamespace(mean=np.zeros(2))

    def loss(x):
        model.mean = 0.9 * model.mean + 0.1 * 2 * x
        return np.sum(x**2)

    return loss, lambda: model.mean


@fresh(ROW)
def an_array_of_objects_is_filled():
    cells = np.empty(2, dtype=object)

    def loss(x):
        cells[0] = "label"
        cells[1] = float(x[1])
        return np.sum(x)

    return loss, lambda: cells.tolist()


@fresh(ROW)
def a_set_of_rounded_values():
    seen = set()

    def loss(x):
        seen.add(round(float(x[0]), 2))
        return np.sum(x) * len(seen)

    return loss, lambda: sorted(seen)


@fresh(ROW)
def bytes_of_a_value():
    kept = []

    def loss(x):
        y = x * 2
        kept.append(np.asarray(y).dtype.str)
        return np.sum(y)

    return loss, lambda: kept


@fresh(ROW, smooth=0)
def a_list_of_an_outer_object_sorted():
    board = []

    def loss(x):
        value = np.sum(x**2)
        board.append((float(value), len(board)))
        board.sort(reverse=True)
        return value * board[0][1] + value

    return loss, lambda: board
