"""Two recordings of one signal, of different speed: an average by soft dynamic time warping.

The cost of the best alignment is the last entry of a table of dynamic programming, which is filled
entry by entry, with a soft minimum (Cuturi and Blondel, 2017). Its gradient with respect to the
distances is the expected alignment. Jitted, the two loops of Python run as machine code.

    python examples/alignment.py
    adjoint check examples/alignment.py:alignment
"""

import numpy as np

import adjoint as ad

SMOOTHNESS = 0.1


def soft_minimum(values):
    least = values.min()
    return least - SMOOTHNESS * np.log(np.sum(np.exp((least - values) / SMOOTHNESS)))


def cost(distances):
    """Of the best path from one corner to the other, by steps to the right, down, or both."""
    n, m = distances.shape
    table = np.full((n + 1, m + 1), np.inf)
    table[0, 0] = 0.0
    for i in range(n):
        for j in range(m):
            before = np.array([table[i, j], table[i, j + 1], table[i + 1, j]])
            table[i + 1, j + 1] = distances[i, j] + soft_minimum(before)
    return table[n, m]


def recording(n, speed):
    return np.sin(2 * np.pi * np.linspace(0, 1, n) ** speed)


SHORT, LONG = recording(24, 1.5), recording(32, 0.7)
inputs = (recording(5, 1.0),)


def alignment(x, others=(SHORT[::6], LONG[::6])):
    """How far `x` is from the recordings, however they are stretched."""
    return sum(cost(np.subtract.outer(x, other) ** 2) / len(other) for other in others)


def expected_path():
    """For each pair of entries, the share of the alignments that goes through it."""
    return ad.jit(ad.grad(cost))(np.subtract.outer(SHORT, LONG) ** 2)


def averages(steps=101):
    """Steepest descent from the plain average: in each step the distance and where it is taken."""
    descent = ad.jit(ad.value_and_grad(alignment))
    x = (SHORT + LONG[:: len(LONG) // 24][:24]) / 2
    for _ in range(steps):
        value, gradient = descent(x, (SHORT, LONG))
        yield value, x
        x = x - 0.3 * gradient


def main():
    for row in expected_path()[::3]:
        print("".join(" .:*#"[int(4.99 * share)] for share in row))
    for step, (value, _) in enumerate(averages()):
        if step % 25 == 0:
            print(f"step {step:3d}   distance {value:.4f}")


if __name__ == "__main__":
    main()
