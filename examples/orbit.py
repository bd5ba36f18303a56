"""The speed that closes an orbit: Newton's method through a time-stepping loop.

The loop is plain NumPy: it writes into an array, and knows nothing of derivatives.

    python examples/orbit.py
    adjoint check examples/orbit.py:orbit
"""

import numpy as np

import adjoint as ad

inputs = (1.1,)
PERIOD = 2 * np.pi


def trajectory(speed, steps):
    """Leapfrog around a unit mass at the origin, from (1, 0)."""
    h = PERIOD / steps
    path = np.zeros((steps + 1, 2))
    path[0] = [1.0, 0.0]
    velocity = np.array([0.0, speed])
    for step in range(steps):
        velocity = velocity - h / 2 * path[step] / np.linalg.norm(path[step]) ** 3
        path[step + 1] = path[step] + h * velocity
        velocity = velocity - h / 2 * path[step + 1] / np.linalg.norm(path[step + 1]) ** 3
    return path


def orbit(speed, steps=40):
    """How far above the start it ends after one period."""
    return trajectory(speed, steps)[-1, 1]


def newton(speed=1.1, iterations=6):
    """In each iteration the speed, and by how much its orbit misses the start."""
    for _ in range(iterations):
        value, slope = ad.value_and_grad(orbit)(speed, steps=400)
        yield speed, value
        speed = speed - value / slope


def main():
    for speed, miss in newton():
        print(f"speed {speed:.9f}   miss {miss: .2e}")


if __name__ == "__main__":
    main()
