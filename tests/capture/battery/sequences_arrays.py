"""Arrays of outside, whose contents, shapes, dtypes and flags change between calls."""

from __future__ import annotations

import numpy as np

from tests.capture.battery.registry import sequence

ROW = np.array([0.7, 1.3])


@sequence
def one_entry_by_one():
    data = np.arange(4.0)

    def f(x):
        return np.sum(np.sin(data * x))

    for k in range(4):
        yield f, 0.7
        data[k] += 1.5
    yield f, 0.7


@sequence
def a_long_array():
    data = np.ones(5000)

    def f(x):
        return np.sum(data * x)

    for data[4321] in (1.0, 1.0, 8.0, 1.0):
        yield f, 0.7


@sequence
def a_view_of_an_array_that_changes():
    base = np.arange(1.0, 7.0)
    part = base[::2]

    def f(x):
        return np.sum(part * x**2)

    for base[2] in (3.0, 3.0, 9.0):
        yield f, 0.7


@sequence
def the_base_of_a_view_that_changes():
    base = np.arange(1.0, 7.0)
    part = base.reshape(2, 3)

    def f(x):
        return np.sum(base * x**2) + x

    for part[1, 1] in (5.0, 5.0, 9.0):
        yield f, 0.7


@sequence
def the_dtype_of_an_array():
    def f(x):
        return np.sum(data * x / 3)

    for dtype in (float, float, int, np.uint8, np.float32, bool, float):
        data = np.array([1, 2]).astype(dtype)
        yield f, ROW


@sequence
def the_shape_of_an_array():
    def f(x):
        return np.sum(data @ x) if data.ndim else np.sum(data * x)

    for shape in ((2,), (2,), (3, 2), (1, 2), (), (2, 2), (2,)):
        data = np.arange(1.0, 1 + np.prod(shape)).reshape(shape)
        yield f, ROW


@sequence
def the_shape_set_in_place():
    def f(x):
        return np.sum(data[0] * x)

    for shape in ((4,), (4,), (2, 2), (4,)):
        data = np.arange(1.0, 5.0)
        data.shape = shape
        yield f, ROW


@sequence
def a_resized_array():
    data = np.arange(1.0, 4.0)

    def f(x):
        return np.sum(data * x)

    for n in (3, 3, 5, 2):
        data.resize(n, refcheck=False)
        yield f, 0.7


@sequence
def writeable_or_not():
    data = np.ones(2)

    def f(x):
        try:
            data[0] = 3.0
        except ValueError:
            return np.sum(x) * 7
        return np.sum(data) * x[0]

    yield f, ROW
    data.flags.writeable = False
    yield f, ROW
    yield f, ROW
    data.flags.writeable = True
    yield f, ROW


@sequence
def the_layout_of_an_array():
    def f(x):
        return data.ravel("K")[1] * x[0] + data.flags.f_contiguous * x[1]

    for order in "CCFC":
        data = np.array([[1.0, 2.0], [3.0, 4.0]], order=order)
        yield f, ROW


@sequence
def a_workspace():
    work = np.zeros(2)

    def f(x):
        np.multiply(work, 0.5, out=work)
        return np.sum(work + x**2)

    yield f, ROW
    work[:] = 8.0
    yield f, ROW
    yield f, ROW
    work[:] = 8.0
    yield f, ROW


@sequence
def a_workspace_that_depends_on_the_point():
    class Model:
        def __init__(self):
            self.work = np.zeros(2)

        def loss(self, x):
            self.work[:] = x
            self.work *= 2
            return np.sum(self.work**2)

    model = Model()
    for point in (ROW, ROW, 2 * ROW, -ROW):
        yield model.loss, point
        yield (lambda x: np.sum(model.work * x)), ROW


@sequence
def an_accumulator():
    total = np.zeros(())

    def f(x):
        total[...] += 1.0
        return np.sum(x) * total

    for _ in range(4):
        yield (lambda x: float(total + 1) * np.sum(x) if total > 9 else np.sum(f(x))), ROW


@sequence
def a_ring_buffer():
    ring, place = np.zeros(3), 0

    def f(x):
        nonlocal place
        ring[place % 3] = place
        place += 1
        return np.sum(x) * np.sum(ring)

    for _ in range(6):
        yield f, ROW


@sequence
def constants_that_become_nan():
    data = np.ones(2)

    def f(x):
        return np.nansum(data * x)

    for data[0] in (1.0, np.nan, 1.0, 2.0):
        yield f, ROW


@sequence
def a_matrix_that_becomes_singular():
    matrix = np.eye(2)

    def f(x):
        return np.sum(np.linalg.solve(matrix, x))

    for matrix[1, 1] in (1.0, 1.0, 0.0, 2.0):
        yield f, ROW


@sequence
def a_matrix_that_becomes_indefinite():
    matrix = 2 * np.eye(2)

    def f(x):
        try:
            factor = np.linalg.cholesky(matrix)
        except np.linalg.LinAlgError:
            return np.sum(x)
        return np.sum(factor @ x) ** 2

    for matrix[0, 1] in (0.0, 0.0, 0.5):
        matrix[1, 0] = matrix[0, 1]
        yield f, ROW
    matrix[0, 0] = -1.0
    yield f, ROW
    matrix[0, 0] = 2.0
    yield f, ROW


@sequence
def questions_to_a_constant():
    data = np.array([1.0, 2.0])

    def f(x):
        return np.sum(x**2) if data[0] > data[1] else np.sum(x)

    for data[0] in (1.0, 1.0, 3.0, 1.0):
        yield f, ROW


@sequence
def whole_numbers_out_of_a_constant():
    counts = np.array([2, 3])

    def f(x):
        total = x[0]
        for _ in range(counts[0]):
            total = total * x[1]
        return total + x[counts[1] - 3]

    for counts[0] in (2, 2, 4, 0, 2):
        yield f, ROW
    counts[1] = 4
    yield f, ROW


@sequence
def the_length_of_a_constant():
    def f(x):
        return np.sum(x) * len(data) + data.size

    for n in (2, 2, 3, 0):
        data = np.ones(n)
        yield f, ROW


@sequence
def the_items_of_a_constant():
    data = np.array([1.0, 2.0])

    def f(x):
        return sum(w * v for w, v in zip(data.tolist(), x, strict=True)) * float(data[0])

    for data[0] in (1.0, 1.0, 3.0):
        yield f, ROW


@sequence
def keys_out_of_a_constant():
    data, table = np.array([1, 2]), {1: 2.0, 2: 5.0, 3: 7.0}

    def f(x):
        return table[data[0]] * np.sum(x)

    for data[0] in (1, 1, 3, 2):
        yield f, ROW


@sequence
def structured_arrays():
    data = np.array([(1.0, 2)], [("rate", float), ("n", int)])

    def f(x):
        return np.sum(x ** data["n"][0]) * data["rate"][0]

    yield f, ROW
    yield f, ROW
    data["rate"] = 3.0
    yield f, ROW
    data["n"] = 3
    yield f, ROW


@sequence
def arrays_of_objects():
    data = np.array([1.0, "word"], dtype=object)

    def f(x):
        return np.sum(x**2) * data[0] + len(data[1])

    for data[0] in (1.0, 1.0, 2.0):
        yield f, ROW
    data[1] = "longer"
    yield f, ROW


@sequence
def arrays_of_words():
    names = np.array(["sin", "cos"])

    def f(x):
        return np.sum(np.sin(x) if names[0] == "sin" else np.cos(x))

    for names[0] in ("sin", "sin", "cos", "sin"):
        yield f, ROW


@sequence
def dates():
    day = np.datetime64("2024-01-01")

    def f(x):
        return np.sum(x) * ((day - np.datetime64("2024-01-01")) / np.timedelta64(1, "D"))

    for k in (0, 0, 3, 5):
        day = np.datetime64("2024-01-01") + np.timedelta64(k, "D")
        yield f, ROW


@sequence
def masked_arrays():
    data = np.ma.array([1.0, 2.0], mask=[False, True])

    def f(x):
        return np.sum(x**2) * float(data.sum())

    yield f, ROW
    yield f, ROW
    data.mask = [False, False]
    yield f, ROW


@sequence
def an_array_swapped_for_another():
    arrays = [np.ones(2), np.array([3.0, 4.0])]
    data = arrays[0]

    def f(x):
        return np.sum(data * x)

    for k in (0, 1, 0, 1):
        data = arrays[k]
        yield f, ROW


@sequence
def two_names_of_one_array():
    first = np.ones(2)
    second = first

    def f(x):
        return np.sum(first * x) * np.sum(second * x)

    yield f, ROW
    first[0] = 3.0
    yield f, ROW
    second = first.copy()
    yield f, ROW
    second[0] = 5.0
    yield f, ROW


@sequence
def identity_of_arrays():
    first, second = np.ones(2), np.ones(2)

    def f(x):
        return np.sum(x**2) if first is second else np.sum(x)

    yield f, ROW
    yield f, ROW
    kept, second = second, first
    yield f, ROW
    second = kept
    yield f, ROW


@sequence
def memory_shared_or_not():
    base = np.arange(4.0)
    part = base[:2]

    def f(x):
        return np.sum(x**2) if np.shares_memory(base, part) else np.sum(x)

    yield f, ROW
    yield f, ROW
    part = base[:2].copy()
    yield f, ROW
    part = base[1:3]
    yield f, ROW


@sequence
def a_batch_of_data():
    data = np.arange(12.0).reshape(6, 2)

    def loss(x):
        batch = data[start : start + 2]
        return np.sum((batch @ x) ** 2) / len(batch)

    for start in (0, 2, 4, 0, 5, 2):
        yield loss, ROW


@sequence
def a_target_that_moves():
    target = np.zeros(2)

    def loss(x):
        return np.sum((x - target) ** 2)

    for k in range(5):
        yield loss, ROW
        target += 0.1 * k


@sequence
def a_preconditioner_that_is_updated():
    scale = np.ones(2)

    def loss(x):
        return np.sum(scale * x**2)

    for _ in range(4):
        yield loss, ROW
        np.multiply(scale, [0.5, 2.0], out=scale)


@sequence
def gradient_descent_in_place():
    x = ROW.copy()

    def loss(x):
        return np.sum((x - 1) ** 2) + 0.1 * np.sum(x**4)

    for _ in range(6):
        yield loss, x
        x -= 0.1 * (2 * (x - 1) + 0.4 * x**3)


@sequence
def parameters_updated_in_place():
    parameters = {"w": np.array([0.5, -0.2]), "b": np.array(0.1)}

    def loss(p):
        return np.sum(np.tanh(p["w"]) ** 2) + p["b"] ** 2

    for _ in range(4):
        yield loss, parameters
        parameters["w"] *= 0.9
        parameters["b"] -= 0.01


@sequence
def an_image_filtered_by_a_kernel():
    image, kernel = np.arange(16.0).reshape(4, 4), np.ones((2, 2))

    def f(x):
        out = np.zeros((3, 3))
        for i in range(3):
            for j in range(3):
                out[i, j] = np.sum(image[i : i + 2, j : j + 2] * kernel * x)
        return np.sum(np.sqrt(1 + out**2))

    yield f, 0.7
    kernel[0, 0] = -1.0
    yield f, 0.7
    image[:] = image[::-1].copy()
    yield f, 0.7
