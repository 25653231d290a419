"""Random labels: drawn once, a pure function of (seed, split, index)."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lntheory.base.files import replaced_file
from lntheory.errors import FileFormatError, InvalidInputError

__all__ = ["SPLITS", "RandomLabels", "labels_sha256", "load_labels", "random_words", "save_labels"]

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
        for name, least in (("seed", 0), ("n_classes", 1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
                raise InvalidInputError(f"{name} = {value!r}; give an integer of at least {least}")
            object.__setattr__(self, name, int(value))
        if self.n_classes >= 2**63:
            raise InvalidInputError(f"n_classes = {self.n_classes}; give an integer below 2**63")

    def labels(self, n: int, split: str = "train") -> NDArray[np.int64]:
        """The labels of samples 0 .. n - 1 of a split, shape (n,)."""
        if split not in SPLITS:
            raise InvalidInputError(f"split = {split!r}; choose one of {', '.join(SPLITS)}")
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 0:
            raise InvalidInputError(f"n = {n!r} labels; give an integer of at least 0")
        words = random_words(f"lntheory random labels {self.seed} {self.n_classes} {split}", int(n))
        return (words % np.uint64(self.n_classes)).astype(np.int64)

    def sha256(self, n: int, split: str = "train") -> str:
        """SHA-256 of `labels(n, split)`, which records keep."""
        return labels_sha256(self.labels(n, split))


def save_labels(path: str | os.PathLike[str], labels: Mapping[str, NDArray[np.int64]]) -> None:
    """Write the labels of one or both splits to an ``.npz``, each with its hash; `load_labels` reads it back.

    The file appears whole or not at all.

    Examples
    --------
    >>> import tempfile
    >>> drawn = RandomLabels(seed=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_labels(Path(folder, "labels.npz"), {"train": drawn.labels(5)})
    ...     load_labels(Path(folder, "labels.npz"))
    {'train': array([4, 6, 5, 2, 3])}
    """
    if Path(path).suffix != ".npz":
        raise InvalidInputError(f"{path}: labels are saved to a file named *.npz")
    if not labels or not set(labels) <= set(SPLITS):
        raise InvalidInputError(f"splits {sorted(labels)}; give labels of {' or '.join(SPLITS)}")
    arrays = {split: np.asarray(values) for split, values in labels.items()}
    for split, values in arrays.items():
        if values.dtype != np.int64 or values.ndim != 1:
            raise InvalidInputError(
                f"{split} labels are {values.dtype} of shape {values.shape}; expected int64 (n,)"
            )
    hashes = {f"{split}_sha256": np.array(labels_sha256(values)) for split, values in arrays.items()}
    with replaced_file(path) as beside:
        np.savez_compressed(beside, allow_pickle=False, **arrays, **hashes)


def load_labels(path: str | os.PathLike[str]) -> dict[str, NDArray[np.int64]]:
    """The labels that `save_labels` wrote, by split.

    Raises
    ------
    FileFormatError
        If the file is damaged, holds anything else, or labels do not have the hash stored with them.
    OSError
        If the file cannot be opened.
    """
    with open(path, "rb") as stream:
        try:
            with np.load(stream, allow_pickle=False) as archive:
                arrays = {name: np.asarray(archive[name]) for name in archive.files}
        except Exception as error:  # a damaged archive can raise anything
            raise FileFormatError(
                f"{path}: expected an .npz archive of labels, found data that is none or is damaged ({error})"
            ) from None
    labels = {split: arrays.pop(split) for split in SPLITS if split in arrays}
    if not labels or set(arrays) != {f"{split}_sha256" for split in labels}:
        raise FileFormatError(
            f"{path}: expected labels of {' or '.join(SPLITS)}, each with its hash, found labels of "
            f"{sorted(labels)} beside {sorted(arrays)}"
        )
    for split, values in labels.items():
        if values.dtype != np.int64 or values.ndim != 1:
            raise FileFormatError(
                f"{path}: expected {split} labels int64 (n,), found {values.dtype} of shape {values.shape}"
            )
        expected, found = str(arrays[f"{split}_sha256"]), labels_sha256(values)
        if found != expected:
            raise FileFormatError(
                f"{path}: expected {split} labels of SHA-256 {expected[:64]}, found {found}; they were "
                "changed after they had been drawn"
            )
    return labels
