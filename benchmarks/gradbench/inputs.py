"""Inputs of the evals, of the shapes that GradBench sends; its data files are not needed."""

from __future__ import annotations

from typing import Any

import numpy as np

Generator = np.random.Generator

BONES, VERTICES, TRIANGLES = 22, 544, 1084


def vector(random: Generator, count: int) -> Any:
    return {"x": random.uniform(size=count).tolist()}


def llsq(random: Generator, n: int, m: int) -> Any:
    return {**vector(random, m), "n": n}


def ode(random: Generator, n: int, s: int) -> Any:
    return {**vector(random, n), "s": s}


def det(random: Generator, ell: int) -> Any:
    return {"A": random.uniform(size=ell * ell).tolist(), "ell": ell}


def gmm(random: Generator, d: int, k: int, n: int, m: int = 0, gamma: float = 1.0) -> Any:
    shapes = {"x": (n, d), "alpha": (k,), "mu": (k, d), "q": (k, d), "l": (k, d * (d - 1) // 2)}
    drawn = {name: random.standard_normal(shape).tolist() for name, shape in shapes.items()}
    return {"d": d, "k": k, "n": n, "m": m, "gamma": gamma, **drawn}


def kmeans(random: Generator, k: int, n: int, d: int) -> Any:
    """The last points are the centroids, so that none is without points."""
    points = random.uniform(size=(n, d)).tolist()
    return {"points": points, "centroids": points[-k:]}


def lstm(random: Generator, layers: int, characters: int, bits: int = 14) -> Any:
    shapes = {"main_params": (2 * layers, 4 * bits), "extra_params": (3, bits)}
    shapes["state"] = (2 * layers, bits)
    drawn = {name: random.uniform(size=shape).tolist() for name, shape in shapes.items()}
    return {**drawn, "sequence": random.integers(0, 2, (characters, bits)).astype(float).tolist()}


def ba(random: Generator, n: int, m: int, p: int) -> Any:
    """One camera, point, weight and feature, which the tool repeats."""
    camera = [*random.uniform(-1, 1, 3), *random.uniform(30, 50, 3), 419.0, 5.9, -8.5, 0.09, 0.003]
    point, feature = random.uniform(0, 7, 3), random.uniform(200, 800, 2)
    weight = float(random.uniform())
    sizes = {"n": n, "m": m, "p": p}
    return {**sizes, "cam": camera, "x": [*point], "w": weight, "feat": [*feature]}


def ht(random: Generator, count: int, shares: bool, mesh: int = VERTICES) -> Any:
    """A hand of random bones, each vertex at some of which."""
    parents = [-1, *(0 if bone % 4 == 1 else bone - 1 for bone in range(1, 21)), 0]
    relatives = _motions(random)
    absolutes: list[Any] = []
    for relative, parent in zip(relatives, parents, strict=True):
        absolutes.append(relative if parent < 0 else absolutes[parent] @ relative)
    weights = random.uniform(size=(mesh, BONES)) * (random.uniform(size=(mesh, BONES)) < 0.1)
    weights[np.arange(mesh), random.integers(0, BONES, mesh)] += 0.1
    weights /= np.sum(weights, 1, keepdims=True)
    triangles = random.integers(0, mesh, (TRIANGLES, 3))
    model = {
        "bone_count": BONES,
        "bone_names": [f"bone {bone}" for bone in range(BONES)],
        "parents": parents,
        "base_relatives": relatives.tolist(),
        "inverse_base_absolutes": np.linalg.inv(absolutes).tolist(),
        "base_positions": np.insert(random.normal(0, 0.1, (mesh, 3)), 3, 1.0, 1).tolist(),
        "weights": weights.tolist(),
        "triangles": triangles.tolist(),
        "is_mirrored": False,
    }
    found = random.integers(0, TRIANGLES if shares else mesh, count).tolist()
    points = random.normal(0, 1, (count, 3)).tolist()
    data = {"model": model, "correspondences": found, "points": points}
    us = random.uniform(0, 0.5, (count, 2)).tolist() if shares else []
    return {"theta": random.standard_normal(26).tolist(), "data": data, "us": us}


def _motions(random: Generator) -> Any:
    """A rotation and a small displacement for each bone."""
    motions = np.zeros((BONES, 4, 4))
    motions[:, :3, :3] = np.linalg.qr(random.standard_normal((BONES, 3, 3)))[0]
    motions[:, :3, 3] = random.normal(0, 0.05, (BONES, 3))
    motions[:, 3, 3] = 1.0
    return motions
