"""Optimal control of the Poisson equation: the gradient's inner product decides what it costs.

A control u heats a rod, or a plate; the temperature y solves -Δy = u, with y = 0 on the boundary.
The u that brings y near to d minimises J(u) = ½‖y - d‖² + ½α‖u‖², norms being those of L2. Steepest
descent looks for it on meshes that are ever finer in one place. Under the plain product of the
coefficients, which counts the many small elements as much as the few large ones, the number of
iterations grows as the sizes of the elements differ. Under the inner product of L2, whose Riesz map
solves with the mass matrix, the gradient is a function, and the mesh does not matter.

The first of the three problems is the least: to find d itself, J(u) = ½‖u - d‖².

    pip install 'adjoint[fem]'
    python examples/poisson_control.py

After Schwedes, Ham, Funke, Piggott, "Mesh Dependence in PDE-Constrained Optimisation" (2017).
"""

import numpy as np
from scipy.sparse.linalg import splu

import adjoint as ad

ALPHA = 1e-2
REFINEMENTS = (1, 2, 4, 8, 16, 32, 64)


def rod(refinement, elements=16):
    """Piecewise linear functions on [0, 1], with smaller elements in the middle quarter."""
    nodes = np.linspace(0, 1, elements + 1)
    first, last = 3 * elements // 8, 5 * elements // 8
    fine = np.linspace(nodes[first], nodes[last], (last - first) * refinement + 1)
    nodes = np.concatenate([nodes[:first], fine, nodes[last + 1 :]])
    boundary = np.array([0, len(nodes) - 1])
    return ad.spaces.Functions.grid(nodes), boundary


def plate(levels):
    """Piecewise linear functions on [0, 1]², with triangles halved so many times at a corner."""
    import skfem

    mesh = skfem.MeshTri().refined(3)
    for _ in range(levels):
        centres = np.mean(mesh.p[:, mesh.t], axis=1)  # (2, triangles)
        mesh = mesh.refined(np.flatnonzero(np.max(centres, axis=0) < 0.25))
    basis = skfem.Basis(mesh, skfem.ElementTriP1())
    return ad.spaces.Functions.elements(basis), basis.get_dofs().flatten()


def distance(space, seed=0):
    """½‖u - d‖² for a random d."""
    target = space.random(seed)
    return lambda u: half_square(space, u - target)


def control(space, boundary):
    """The function J of the control."""
    mass, stiffness = space.mass, space.stiffness
    inside = np.setdiff1d(np.arange(space.dimension), boundary)
    factors = splu(stiffness.tocsc()[inside][:, inside].tocsc())

    def temperature(u):
        y = np.zeros_like(u)
        y[inside] = factors.solve((mass @ u)[inside])
        return y

    def transposed(covector):
        inner = np.zeros_like(covector)
        inner[inside] = factors.solve(covector[inside])
        return mass @ inner

    state = ad.linear(temperature, transposed)
    target = space.interpolate(lambda x, *_: np.sin(np.pi * x) + (x > 0.5))

    def objective(u):
        return half_square(space, state(u) - target) + ALPHA * half_square(space, u)

    return objective


def half_square(space, u):
    return space.inner(u, u) / 2


def iterations(objective, space, tolerance):
    """How many iterations steepest descent takes, under the plain product and that of L2."""
    start = np.zeros(space.dimension)
    plain = ad.spaces.Euclidean(space.dimension)
    return [
        ad.optimize.descend(objective, start, each, tolerance=tolerance, max_iterations=5000)
        for each in (plain, space)
    ]


def study():
    """For each problem: its refinements, and the results under both inner products."""
    problems = {}
    rods = [rod(refinement) for refinement in REFINEMENTS]
    problems["distance from a random function"] = [
        (refinement, *iterations(distance(space), space, 1e-7))
        for refinement, (space, _) in zip(REFINEMENTS, rods, strict=True)
    ]
    problems["control of a rod"] = [
        (refinement, *iterations(control(space, boundary), space, 1e-6))
        for refinement, (space, boundary) in zip(REFINEMENTS, rods, strict=True)
    ]
    plates = [plate(levels) for levels in range(5)]
    problems["control of a plate"] = [
        (2**levels, *iterations(control(*plate), plate[0], 1e-6))
        for levels, plate in enumerate(plates)
    ]
    return problems


def main():
    for name, rows in study().items():
        print(f"\n{name}\nrefinement   unknowns   iterations: plain     L2")
        for refinement, plain, weighted in rows:
            size = np.size(plain.x)
            print(f"{refinement:10d} {size:10d} {plain.iterations:17d} {weighted.iterations:6d}")


if __name__ == "__main__":
    main()
