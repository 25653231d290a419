"""The rank over the rationals of float64 data, computed modulo a prime."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from flint import nmod_mat

from lntheory.base.types import FloatArray, IntArray

PRIME = 2_147_483_629  # the largest prime below 2**31 that is not of the form 2**k - 1
_POWERS_OF_TWO: IntArray = np.array([pow(2, e, PRIME) for e in range(-1200, 1100)], dtype=np.int64)


def residues(x: FloatArray) -> IntArray:
    """Finite float64 numbers modulo PRIME, each as the dyadic rational that it is.

    Examples
    --------
    >>> int(residues(np.array([0.5]))[0]) * 2 % PRIME
    1
    """
    fraction, exponent = np.frexp(x)
    mantissa = np.ldexp(fraction, 53).astype(np.int64)
    reduced: IntArray = mantissa % PRIME * _POWERS_OF_TWO[exponent - 53 + 1200] % PRIME
    return reduced


class ModularRowSpace:
    """The space spanned, modulo PRIME, by all rows added so far.

    Its dimension never exceeds the rank of the rows over the rationals, since a minor that is not zero modulo
    PRIME is not zero. It is smaller only if PRIME divides all minors of full rank or a random test misses a
    row, which happens with a probability of about rank/2**31.

    Rows are tested by their inner product with a random vector orthogonal to the space; for a row outside
    the space it is zero with probability 1/PRIME. So a row inside costs one inner product and no elimination.
    """

    def __init__(self, n_features: int) -> None:
        self._basis: IntArray = np.zeros((0, n_features), dtype=np.int64)
        self._pivots: IntArray = np.zeros(0, dtype=np.int64)
        self._random = np.random.default_rng(0)

    @property
    def rank(self) -> int:
        """Dimension of the space."""
        return len(self._basis)

    @property
    def basis(self) -> IntArray:
        """Reduced echelon basis, shape (rank, n_features), residues modulo PRIME."""
        return self._basis

    def add(self, rows: IntArray) -> None:
        """Add rows of residues, shape (n_rows, n_features)."""
        n_features = rows.shape[1]
        while self.rank < n_features:
            outside = np.flatnonzero(_inner_products(rows, self._orthogonal_vector()))
            if not len(outside):
                return
            self._extend(rows[outside[: n_features - self.rank]])

    def _orthogonal_vector(self) -> IntArray:
        vector = np.asarray(self._random.integers(1, PRIME, self._basis.shape[1]), dtype=np.int64)
        vector[self._pivots] = 0
        vector[self._pivots] = -_inner_products(self._basis, vector) % PRIME
        return vector

    def _extend(self, rows: IntArray) -> None:
        stacked = np.vstack([self._basis, rows])
        reduced, rank = nmod_mat(stacked.shape[0], stacked.shape[1], stacked.ravel().tolist(), PRIME).rref()
        entries = np.array([int(entry) for entry in reduced.entries()], dtype=np.int64)
        self._basis = entries.reshape(stacked.shape)[:rank]
        self._pivots = (self._basis != 0).argmax(axis=1)


def _inner_products(rows: IntArray, vector: IntArray) -> npt.NDArray[np.int64]:
    # A product of 31-bit residues fits in 62 bits, but a sum of products may not: reduce before adding.
    products: IntArray = (rows * vector % PRIME).sum(axis=1) % PRIME
    return products
