"""Width-3 layers and small nets written down in plane coordinates, so that tests know their centres."""

import math

import numpy as np

from lntheory.network import Layer, LNNet

E = np.array([[1.0, 1.0], [-1.0, 1.0], [0.0, -2.0]]) / [math.sqrt(2), math.sqrt(6)]
"""Columns: an orthonormal basis of the plane orthogonal to (1, 1, 1), that of lntheory.circle."""

CENTRING = np.array([[2.0, -1.0, -1.0], [-1.0, 2.0, -1.0], [-1.0, -1.0, 2.0]])
"""Three times the projection onto that plane: exact in floats."""


def lift(A, c):
    """First layer: x in R^2 to the direction of A x + c."""
    return Layer(E @ np.asarray(A, dtype=float), E @ np.asarray(c, dtype=float))


def look_from(o):
    """A later layer, without re-spacing: z to the direction of z - o."""
    return Layer(CENTRING, -3 * math.sqrt(3) * (E @ np.asarray(o, dtype=float)))


def xor_net(**fields):
    """XOR by one layer: from (-1, -1) the diagonal is one direction, between those of the other two points.

    ::

        1 | .     0 .     (1,1) and (0,0) are seen at 45 degrees, (1,0) and (0,1) at 27 and 63;
        0 | 0     1       the read-out's chord cuts off the 45 degrees: class 0.
        o
    """
    towards = np.array([1.0, 1.0]) / math.sqrt(2)
    readout = Layer([-(E @ towards) / math.sqrt(3)], [0.97])
    return LNNet([lift(np.eye(2), [1.0, 1.0])], readout, (0, 1), **fields)


XOR_X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
XOR_Y = np.array([0, 1, 1, 0])


def merging_net(n_samples, depth, n_classes=2, seed=0):
    """A net whose later layers look from a point on the line of two samples of one label, far enough apart.

    Where there are none left a layer looks from inside the circle and merges nothing. What the read-out
    says is arbitrary. Returns net, X, y.
    """
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n_samples, 2)), np.arange(n_samples) % n_classes
    layers, merges = [lift(np.eye(2), [0.3, 0.1])], [None]
    z = X + [0.3, 0.1]
    for k in range(1, depth):
        z = z / np.hypot(*z.T)[:, None]
        pairs = [(i, i + n_classes) for i in rng.permutation(n_samples - n_classes).tolist()]
        pair = next((p for p in pairs if np.hypot(*(z[p[0]] - z[p[1]])) > 0.2), None)
        o = np.array([0.3, 0.4]) if pair is None else z[pair[0]] + (z[pair[0]] - z[pair[1]]) * 5.0 ** (k % 2)
        layers.append(look_from(o))
        merges.append(pair)
        z = z - o
    readout = Layer(rng.normal(size=(n_classes, 3)), np.zeros(n_classes))
    provenance = {"method": "by hand", "seed": seed, "merges": merges}
    return LNNet(layers, readout, range(n_classes), provenance=provenance), X, y
