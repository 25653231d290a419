"""The labelled samples that the pages share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from lntheory.data import load_dataset, random_labels


@dataclass(frozen=True, eq=False)
class Problem:
    """Samples with random labels."""

    name: str
    X: NDArray[np.float64]
    y: NDArray[np.int64]

    @property
    def n_classes(self) -> int:
        """Number of labels that were drawn from."""
        return len(np.unique(self.y))


def planar(n_samples: int, seed: int = 0) -> Problem:
    """Points of the plane, normally distributed, two labels: little room, so the hard case."""
    X = np.random.default_rng(seed).normal(size=(n_samples, 2))
    return Problem(f"planar Gaussian, {n_samples}", X, random_labels(X, 2, seed))


def digits(n_samples: int, seed: int = 0) -> Problem:
    """The first images of scikit-learn's digits, ten labels."""
    X = load_dataset("digits").X[:n_samples]
    return Problem(f"digits, {n_samples}", X, random_labels(X, 10, seed))


@cache
def problems() -> tuple[Problem, ...]:
    """The problems that construction and training are compared on."""
    return tuple(kind(size) for kind in (planar, digits) for size in (100, 1000, 1797))
