"""The eval ht: the distances of measured points from a hand that is posed by 26 numbers.

The hand is a mesh that follows 22 bones: the wrist, four bones for each of five fingers, and the
forearm. Three bones of a finger bend, and the first of these also spreads.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import adjoint as ad
from benchmarks.gradbench.functions import Function, Input, Module, listed


class Hand(NamedTuple):
    """The mesh at rest, and how it follows the bones.

    relatives: of each bone to its parent, at rest. inverses: of the bones' places at rest.
    positions: of the vertices, with a fourth coordinate 1. weights: of the bones for each vertex.
    """

    relatives: Any
    inverses: Any
    positions: Any
    weights: Any


def joint_angles(theta: Any, bones: int) -> Any:
    """The angles of each bone about x, z and y, from the 20 numbers of the fingers."""
    fingers = theta[6:].reshape(5, 4)
    joints = np.zeros((5, 4, 3))
    joints[:, 1:, 0] = fingers[:, [0, 2, 3]]
    joints[:, 1, 1] = fingers[:, 1]
    angles = np.zeros((bones, 3))
    angles[1:21] = joints.reshape(20, 3)
    return angles


def turned(angles: Any) -> Any:
    """The motions by these angles: about x, then y, then z."""
    (cx, cz, cy), (sx, sz, sy) = np.cos(angles).T, np.sin(angles).T
    motion = np.zeros((len(angles), 4, 4))
    motion[:, 0, 0] = cz * cy
    motion[:, 0, 1] = cz * sy * sx - sz * cx
    motion[:, 0, 2] = cz * sy * cx + sz * sx
    motion[:, 1, 0] = sz * cy
    motion[:, 1, 1] = sz * sy * sx + cz * cx
    motion[:, 1, 2] = sz * sy * cx - cz * sx
    motion[:, 2, 0] = -sy
    motion[:, 2, 1] = cy * sx
    motion[:, 2, 2] = cy * cx
    motion[:, 3, 3] = 1.0
    return motion


def rotation(vector: Any) -> Any:
    """The rotation about this axis by its length; none if that is tiny."""
    angle = np.sqrt(np.sum(vector**2))
    if angle < 1e-4:
        return np.eye(3)
    x, y, z = vector / angle
    across = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    along = np.outer(vector, vector) / angle**2
    return np.cos(angle) * np.eye(3) + np.sin(angle) * across + (1 - np.cos(angle)) * along


def vertices(theta: Any, hand: Hand, parents: tuple[int, ...], mirrored: bool) -> Any:
    """The places of the mesh in a pose."""
    relatives = hand.relatives @ turned(joint_angles(theta, len(parents)))
    absolutes: list[Any] = []
    for relative, parent in zip(relatives, parents, strict=True):
        absolutes.append(relative if parent < 0 else absolutes[parent] @ relative)
    motions = np.stack(absolutes) @ hand.inverses
    blended = np.tensordot(hand.weights, motions[:, :3], 1)  # (vertices, 3, 4)
    places = (blended @ hand.positions[:, :, None])[..., 0]
    if mirrored:
        places = places * np.array([-1.0, 1.0, 1.0])
    return places @ rotation(theta[:3]).T + theta[3:6]


def misses(
    theta: Any, us: Any, hand: Hand, parents: Any, mirrored: Any, corners: Any, points: Any
) -> Any:
    """From points to vertices (one corner), or to points within triangles (three), all in a row."""
    places = vertices(theta, hand, parents, mirrored)[corners]
    if len(us) == 0:
        return (points - places[:, 0]).ravel()
    shares = np.stack([us[:, 0], us[:, 1], 1 - us[:, 0] - us[:, 1]], axis=1)
    return (points - np.sum(shares[..., None] * places, axis=1)).ravel()


def jacobian(theta: Any, us: Any, *others: Any) -> Any:
    """By the two shares of its own triangle where there are such, and by theta.

    A distance depends on its own shares alone, so that moving those of all triangles together gives
    the two columns that the eval asks for.
    """
    if len(us) == 0:
        return ad.jacobian(misses)(theta, us, *others)

    def moved(shift: Any, theta: Any) -> Any:
        return misses(theta, us + shift, *others)

    return np.concatenate(ad.jacobian(moved, argnums=(0, 1))(np.zeros(2), theta), axis=1)


def _tracking(given: Input) -> tuple[Any, ...]:
    data, model = given["data"], given["data"]["model"]
    names = ("base_relatives", "inverse_base_absolutes", "base_positions", "weights")
    hand = Hand(*(np.array(model[name], dtype=float) for name in names))
    us = np.array(given["us"], dtype=float)
    found = np.array(data["correspondences"], dtype=int)
    corners = np.array(model["triangles"], dtype=int)[found] if len(us) else found[:, None]
    parents, mirrored = tuple(map(int, model["parents"])), bool(model["is_mirrored"])
    points = np.array(data["points"], dtype=float)
    return np.array(given["theta"], dtype=float), us, hand, parents, mirrored, corners, points


HT: Module = {
    "objective": Function(_tracking, ad.jit(misses), listed),
    "jacobian": Function(_tracking, ad.jit(jacobian), listed),
}
