"""Random labels: drawn once, a pure function of (seed, split, index)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lntheory.base.validation import as_count
from lntheory.errors import InvalidInputError

__all__ = ["SPLITS", "RandomLabels", "labels_sha256", "random_words"]

SPLITS = ("train", "test")


def random_words(purpose: str, n: int) -> NDArray[np.uint64]:
    """The first `n` 64-bit words of the random stream called `purpose`.

    Philox in counter mode, its key the first 128 bits of SHA-256 of the name: word i depends on `purpose` and
    i alone. Raw words, since numpy fixes those of a bit generator for good, not what Generator makes of them.

    Examples
    --------
    >>> import numpy as np
    >>> bool(np.all(random_words("example", 9)[:4] == random_words("example", 4)))
    True
    """
    key = np.frombuffer(hashlib.sha256(purpose.encode()).digest()[:16], dtype="<u8").astype(np.uint64)
    return np.random.Philox(key=key).random_raw(n)


def labels_sha256(labels: NDArray[np.int64]) -> str:
    """SHA-256 of labels as 64-bit little-endian integers.

    Examples
    --------
    >>> import numpy as np
    >>> labels_sha256(np.array([3, 1, 4]))[:16]
    '0057aef4fe5ef616'
    """
    return hashlib.sha256(np.ascontiguousarray(labels, dtype="<i8").tobytes()).hexdigest()


@dataclass(frozen=True)
class RandomLabels:
    """Uniform labels 0 .. n_classes - 1 that know nothing of the images.

    ::

        seed ─┐
        split ┼─ SHA-256 ─► key ─► Philox ─► word 0, word 1, word 2, ...   (64 bits each)
        n_classes ┘                             │       │       │
                                             mod n_classes: label 0, label 1, label 2, ...

    Label i depends on (seed, n_classes, split, i) alone: those of the first n samples do not depend on n, on
    who asks, in which order, or with how many workers. The two splits are unrelated. The modulus prefers
    some classes by less than n_classes / 2^64.

    Parameters
    ----------
    seed : int
        At least 0.
    n_classes : int
        At least 1.

    Raises
    ------
    InvalidInputError
        For another seed, number of classes, number of labels or split.

    Examples
    --------
    >>> drawn = RandomLabels(seed=0, n_classes=10)
    >>> drawn.labels(8).tolist()
    [4, 6, 5, 2, 3, 7, 8, 6]
    >>> drawn.labels(3).tolist() == drawn.labels(8)[:3].tolist()
    True
    >>> drawn.labels(8, split="test").tolist()
    [5, 9, 9, 2, 0, 5, 8, 1]
    """

    seed: int
    n_classes: int = 10

    def __post_init__(self) -> None:
        object.__setattr__(self, "seed", as_count(self.seed, "seed"))
        object.__setattr__(self, "n_classes", as_count(self.n_classes, "n_classes", 1, 2**63 - 1))

    def labels(self, n: int, split: str = "train") -> NDArray[np.int64]:
        """The labels of samples 0 .. n - 1 of a split, shape (n,)."""
        if split not in SPLITS:
            raise InvalidInputError(f"split = {split!r}; choose one of {', '.join(SPLITS)}")
        words = random_words(f"lntheory random labels {self.seed} {self.n_classes} {split}", as_count(n, "n"))
        return (words % np.uint64(self.n_classes)).astype(np.int64)

    def sha256(self, n: int, split: str = "train") -> str:
        """SHA-256 of `labels(n, split)`, which records keep."""
        return labels_sha256(self.labels(n, split))
