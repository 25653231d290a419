"""The input of a construction: distinct samples with labels, and how much work it may take."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lntheory.base.types import FloatArray, Progress

__all__ = ["Codes", "Problem"]

Codes = NDArray[np.int64]


@dataclass(frozen=True)
class Problem:
    """Distinct samples, their labels, and the work allowed.

    Attributes
    ----------
    X : ndarray of float64, shape (n_samples, n_features)
        Distinct samples.
    codes : ndarray of int, shape (n_samples,)
        Labels ``0 .. C - 1``, C >= 2, all present. Affine scores that separate them were not found.
    rng : numpy Generator
        The only source of randomness.
    budget : int or None
        Units of work that a search may spend; None for the construction's own default.
    time_limit : float or None
        Seconds after which a search ends; None for no limit.
    target : {"float64", "float32"}
        The arithmetic in which the net of a search has to be right.
    n_jobs : int
        Number of threads, without influence on the net.
    progress : callable or None
    """

    X: FloatArray
    codes: Codes
    rng: np.random.Generator
    budget: int | None = None
    time_limit: float | None = None
    target: str = "float64"
    n_jobs: int = 1
    progress: Progress | None = None

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.codes.max()) + 1

    @property
    def class_sizes(self) -> list[int]:
        """The number of distinct samples in each class."""
        sizes: list[int] = np.bincount(self.codes).tolist()
        return sizes

    def report(self, done: int, total: int) -> None:
        """Call `progress`, if there is one."""
        if self.progress is not None:
            self.progress(done, total)


def free_class(codes: Codes) -> int:
    """The code of the most frequent class, which a construction may leave where it is."""
    return int(np.argmax(np.bincount(codes)))
