"""A deep-equilibrium classifier of scikit-learn's handwritten digits, and the same layer unrolled.

The layer returns the fixed point y = g(x, y) = tanh(W y + U x + b) of a recursion (E.1.71): as deep
as it needs to be, with the parameters of one layer. `ad.implicit.fixed_point` finds y; the backward
pass solves another fixed point, t = A* t + v with A = ∂_y g (E.1.75), and keeps nothing of how y
was found. Unrolling the recursion instead, and differentiating all its steps, takes memory in
proportion to them. The rows of W are scaled so that the recursion is a contraction.

    pip install 'adjoint[examples]'
    python examples/deep_equilibrium.py
"""

import time
import tracemalloc

import numpy as np

import adjoint as ad

HIDDEN, BATCH, EPOCHS, RATE = 128, 128, 60, 6e-3
NOISE = 0.1  # added to the pixels in training, against learning them by heart
CONTRACTION = 0.9
ITERATION = ad.implicit.Iteration(tolerance=1e-10)


def digits():
    """Pixels in [0, 1] and classes, a quarter of them held out."""
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise ad.errors.MissingPackageError(
            "The digits come with scikit-learn: pip install 'adjoint[examples]'"
        ) from None
    x, label = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(label))
    x, label = x[order] / 16, label[order]
    held = len(label) // 4
    return x[held:], label[held:], x[:held], label[:held]


def start(seed=1):
    """Random parameters. Over seeds 1 to 5, 97.8 to 98.2 % of the held-out digits end up right."""
    generator = np.random.default_rng(seed)

    def normal(*shape):
        return generator.standard_normal(shape) / np.sqrt(shape[-1])

    return {
        "W": normal(HIDDEN, HIDDEN),
        "U": normal(HIDDEN, 64),
        "b": np.zeros(HIDDEN),
        "V": normal(10, HIDDEN),
        "c": np.zeros(10),
    }


def layer(y, x, p):
    """g(x, y) for a batch, (examples, HIDDEN). In the maximum norm it contracts by CONTRACTION."""
    rows = np.sum(np.abs(p["W"]), axis=1, keepdims=True)
    W = CONTRACTION * p["W"] / np.maximum(rows, CONTRACTION)
    return np.tanh(y @ W.T + x @ p["U"].T + p["b"])


def equilibrium(x, p):
    """y = g(x, y), and the backward pass by iteration too."""
    begin = np.zeros((len(x), HIDDEN))
    return ad.implicit.fixed_point(layer, begin, x, p, solver=ITERATION, linear_solver=ITERATION)


def unrolled(steps):
    """The same by so many steps that are all differentiated (E.1.70)."""

    def find(x, p):
        y = np.zeros((len(x), HIDDEN))
        for _ in range(steps):
            y = layer(y, x, p)
        return y

    return find


def loss(p, x, label, find=equilibrium):
    """The cross-entropy."""
    score = find(x, p) @ p["V"].T + p["c"]
    largest = np.max(score, axis=1, keepdims=True)
    spread = np.log(np.sum(np.exp(score - largest), axis=1)) + largest[:, 0]
    return np.mean(spread - score[np.arange(len(label)), label])


def accuracy(p, x, label):
    """The share of the examples whose class scores most."""
    score = equilibrium(x, p) @ p["V"].T + p["c"]
    return np.mean(np.argmax(score, axis=1) == label)


def train(p, x, label, x_test, label_test):
    """Adam (Kingma and Ba 2015); prints the loss and the accuracy on what is held out."""
    slope = ad.value_and_grad(loss)
    mean = {name: np.zeros_like(each) for name, each in p.items()}
    square = {name: np.zeros_like(each) for name, each in p.items()}
    generator, step = np.random.default_rng(2), 0
    print("epoch   loss     held-out accuracy")
    for epoch in range(1, EPOCHS + 1):
        order = generator.permutation(len(label))
        rate = RATE * (1 + np.cos(np.pi * epoch / EPOCHS)) / 2 + 1e-5
        for first in range(0, len(label) - BATCH + 1, BATCH):
            chosen = order[first : first + BATCH]
            seen = x[chosen] + NOISE * generator.standard_normal((BATCH, 64))
            value, gradient = slope(p, seen, label[chosen])
            step += 1
            for name, g in gradient.items():
                mean[name] += 0.1 * (g - mean[name])
                square[name] += 0.001 * (g**2 - square[name])
                size = np.sqrt(square[name] / (1 - 0.999**step)) + 1e-8
                p[name] = p[name] - rate * mean[name] / (1 - 0.9**step) / size
        if epoch % 10 == 0:
            print(f"{epoch:5d} {value:9.5f}   {accuracy(p, x_test, label_test):.4f}")
    return p


def seconds(p, x, label, find):
    """How long a gradient takes."""
    slope = ad.grad(loss)
    for _ in range(40):  # by then it is machine code
        slope(p, x, label, find)
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        slope(p, x, label, find)
        times.append(time.perf_counter() - begin)
    return min(times)


def memory(p, x, label, finds):
    """The most memory, in MB, that the gradient by each of these holds.

    They are run on NumPy, where `tracemalloc` sees all arrays, the one that needs least first,
    since memory is kept between runs.
    """
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    peaks = []
    for find in finds:
        tracemalloc.reset_peak()
        with ad.config(native=False):
            ad.grad(loss)(p, x, label, find)
        peaks.append((tracemalloc.get_traced_memory()[1] - before) / 2**20)
    tracemalloc.stop()
    return peaks


def distance(one, other):
    """How far two gradients are apart, relative to the second."""
    apart = sum(np.sum((one[name] - other[name]) ** 2) for name in one)
    return np.sqrt(apart / sum(np.sum(each**2) for each in other.values()))


def compare(p, x, label, steps=(5, 10, 20, 40, 80)):
    """The implicit gradient, and those of ever more steps unrolled; rows of a table."""
    names = ["implicit", *(f"{count} steps unrolled" for count in steps)]
    finds = [equilibrium, *map(unrolled, steps)]
    peaks = memory(p, x, label, finds)
    gradients = [ad.grad(loss)(p, x, label, find) for find in finds]
    apart = [distance(each, gradients[0]) for each in gradients]
    times = [seconds(p, x[:BATCH], label[:BATCH], find) for find in finds]
    return list(zip(names, times, peaks, apart, strict=True))


def main():
    """Train, and compare with unrolling."""
    x, label, x_test, label_test = digits()
    p = train(start(), x, label, x_test, label_test)
    print(f"held-out accuracy: {100 * accuracy(p, x_test, label_test):.2f} %\n")
    print(f"gradient             ms ({BATCH} examples)  MB ({len(x)} examples)  apart")
    for name, time_, peak, apart in compare(p, x, label):
        print(f"{name:20s} {1e3 * time_:17.2f} {peak:18.1f}   {apart:.1e}")


if __name__ == "__main__":
    main()
