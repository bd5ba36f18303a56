"""The ground state of helium by variational Monte Carlo: the local energy of a wave function.

Both electrons are drawn from the square of a wave function with three parameters. What is averaged
is the local energy

    E(r) = -(Δ log ψ + |∇ log ψ|²) / 2 + V(r),

for which `ad.value_grad_laplacian` gives the three derivatives in one go; the slope of the mean in
the parameters follows from the local energies and ∂ log ψ alone.

    python examples/local_energy.py
    adjoint check examples/local_energy.py:local_energy
"""

import numpy as np

import adjoint as ad

EXACT = -2.903724  # Hartree
START = np.array([1.4, 1.0, 0.0])


def log_psi(r, parameters):
    """Of two electrons, the rows of r, around a nucleus of charge 2."""
    decay, width, screening = parameters
    first, second = np.sqrt(np.sum(r**2, axis=-1))
    apart = np.sqrt(np.sum((r[0] - r[1]) ** 2))
    # The cusp of two electrons that meet: ψ grows by half their distance at first.
    jastrow = apart / (2 * (1 + np.exp(width) * apart))
    return -decay * (first + second) + jastrow + screening * first * second / (1 + first + second)


def potential(r):
    first, second = np.sqrt(np.sum(r**2, axis=-1))
    return -2 / first - 2 / second + 1 / np.sqrt(np.sum((r[0] - r[1]) ** 2))


def local_energy(r, parameters=START):
    _, slope, laplacian = ad.value_grad_laplacian(log_psi)(r, parameters)
    return -(laplacian + np.sum(slope**2)) / 2 + potential(r)


inputs = (np.array([[0.5, -0.3, 0.2], [-0.4, 0.6, 0.1]]),)


@ad.jit
def energies_and_slopes(walkers, parameters):
    """The local energies of all walkers, and ∂ log ψ in the parameters."""
    energies = ad.vmap(lambda r: local_energy(r, parameters))(walkers)
    slopes = ad.vmap(lambda r: ad.grad(log_psi, argnums=1)(r, parameters))(walkers)
    return energies, slopes


@ad.jit
def log_densities(walkers, parameters):
    return 2 * ad.vmap(lambda r: log_psi(r, parameters))(walkers)


def moved(walkers, parameters, generator, moves=10, reach=0.4):
    """Some steps of Metropolis: the walkers spread like the square of the wave function."""
    before = log_densities(walkers, parameters)
    for _ in range(moves):
        trial = walkers + reach * generator.standard_normal(walkers.shape)
        after = log_densities(trial, parameters)
        taken = np.log(generator.random(len(walkers))) < after - before
        walkers = np.where(taken[:, None, None], trial, walkers)
        before = np.where(taken, after, before)
    return walkers


def descent(steps=60, walkers=1000, seed=0):
    """Natural gradient descent: in each step the parameters, and the energies of all walkers."""
    generator = np.random.default_rng(seed)
    parameters = START
    points = moved(generator.standard_normal((walkers, 2, 3)), parameters, generator, 100)
    for _ in range(steps):
        points = moved(points, parameters, generator)
        energies, slopes = energies_and_slopes(points, parameters)
        yield parameters, energies
        centred = slopes - np.mean(slopes, axis=0)
        force = centred.T @ (energies - np.mean(energies)) / walkers
        metric = centred.T @ centred / walkers + 1e-3 * np.eye(len(parameters))
        parameters = parameters - 0.3 * np.linalg.solve(metric, force)


def main():
    for step, (_, energies) in enumerate(descent()):
        if step % 10 == 0 or step == 59:
            error = np.std(energies) / np.sqrt(len(energies))
            print(f"step {step:2d}   energy {np.mean(energies):.4f} ± {error:.4f}")
    print(f"exact     energy {EXACT:.4f}")


if __name__ == "__main__":
    main()
