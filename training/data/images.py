"""A set of labelled images as a frozen value: what it is, where it comes from, and its hash."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lntheory.base.validation import as_count
from lntheory.errors import FileFormatError, InvalidInputError

from .labels import RandomLabels

__all__ = ["ImageData", "RawImages", "Split", "checked_count", "data_sha256", "of_files", "unit_pixels"]

Bytes = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Split:
    """Images and labels, read-only (``torch.tensor(split.X)`` copies them; ``from_numpy`` would warn).

    Parameters
    ----------
    X : ndarray of float32, shape (n_samples, channels, height, width)
    y : ndarray of int64, shape (n_samples,)

    Raises
    ------
    InvalidInputError
        For other shapes or types, no samples, or pixels that are not finite.

    Examples
    --------
    >>> import numpy as np
    >>> split = Split(np.zeros((2, 1, 8, 8), np.float32), np.array([0, 1]))
    >>> len(split), split.flat.shape
    (2, (2, 64))
    """

    X: NDArray[np.float32]
    y: NDArray[np.int64]

    def __post_init__(self) -> None:
        X, y = np.asarray(self.X), np.asarray(self.y)
        if X.dtype != np.float32 or X.ndim < 2 or X.size == 0:
            raise InvalidInputError(
                f"X is {X.dtype} of shape {X.shape}; expected float32 of shape (n_samples, ...), not empty"
            )
        if y.dtype != np.int64 or y.shape != (len(X),):
            raise InvalidInputError(f"y is {y.dtype} of shape {y.shape}; expected int64 of shape ({len(X)},)")
        with np.errstate(invalid="ignore"):  # infinities of both signs
            finite = np.isfinite(X.sum(dtype=np.float64))
        if not finite:
            raise InvalidInputError("X holds NaN or infinite values; remove those samples")
        for name, array in (("X", X), ("y", y)):
            view = array.view()
            view.setflags(write=False)
            object.__setattr__(self, name, view)

    def __len__(self) -> int:
        return len(self.X)

    @property
    def flat(self) -> NDArray[np.float32]:
        """One row a sample: shape (n_samples, n_features)."""
        return self.X.reshape(len(self.X), -1)


@dataclass(frozen=True, eq=False)
class ImageData:
    """One set of labelled images, and where it comes from.

    Parameters
    ----------
    name : str
        As `training.data.load` knows it.
    train : Split
    test : Split or None
    n_classes : int
        Labels are 0 .. n_classes - 1.
    embedded : bool
        Whether this is an embedded or stand-in set, which every table has to say.
    sha256 : str
        `data_sha256` of exactly these samples, subset and scaling included.
    origin : str
        In words, for records and tables.
    published : bool
        Whether every file was checked to be the published one, by its hash.

    Raises
    ------
    InvalidInputError
        If the splits do not fit together or a label is out of range.

    Examples
    --------
    >>> from training.data import load
    >>> data = load("digits")
    >>> data
    ImageData('digits', train=1438, test=359, shape=(1, 8, 8), n_classes=10)
    >>> data.with_random_labels(RandomLabels(seed=0)).train.y[:6].tolist()
    [4, 6, 5, 2, 3, 7]
    """

    name: str
    train: Split
    test: Split | None
    n_classes: int
    embedded: bool
    sha256: str
    origin: str
    published: bool = False

    def __post_init__(self) -> None:
        for name, split in (("train", self.train), ("test", self.test)):
            if split is None:
                continue
            if split.X.shape[1:] != self.shape:
                raise InvalidInputError(
                    f"{self.name}: {name} images of shape {split.X.shape[1:]}, "
                    f"training images of shape {self.shape}"
                )
            wrong = np.flatnonzero((split.y < 0) | (split.y >= self.n_classes))
            if wrong.size:
                raise InvalidInputError(
                    f"{self.name}: label {split.y[wrong[0]]} of {name} sample {wrong[0]}; "
                    f"expected 0 to {self.n_classes - 1}"
                )

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one image: (channels, height, width)."""
        return self.train.X.shape[1:]

    @property
    def n_features(self) -> int:
        """Numbers in one image."""
        return int(np.prod(self.shape))

    def with_random_labels(self, labels: RandomLabels, *, corrupt_test: bool = False) -> ImageData:
        """The same images with random labels for training and, only if `corrupt_test`, for testing too."""
        train, test, n_classes = (
            Split(self.train.X, labels.labels(len(self.train))),
            self.test,
            labels.n_classes,
        )
        if test is not None and corrupt_test:
            test = Split(test.X, labels.labels(len(test), "test"))
        elif test is not None:
            n_classes = max(n_classes, self.n_classes)
        where = "of both splits" if corrupt_test and test is not None else "of the training split"
        origin = f"{self.origin}; labels {where} drawn at random (seed {labels.seed})"
        return replace(self._with(train, test, n_classes), origin=origin)

    def standardized(self) -> ImageData:
        """Every channel centred and divided by its standard deviation, both of the training images."""
        axes = (0, *range(2, self.train.X.ndim))
        mean = self.train.X.mean(axes, dtype=np.float64, keepdims=True)
        deviation = self.train.X.std(axes, dtype=np.float64, keepdims=True)
        if not deviation.all():
            raise InvalidInputError(f"{self.name}: a channel is constant, so it cannot be scaled; drop it")
        train, test = (
            split and Split(((split.X - mean) / deviation).astype(np.float32), split.y)
            for split in (self.train, self.test)
        )
        assert train is not None
        return self._with(train, test, self.n_classes)

    def _with(self, train: Split, test: Split | None, n_classes: int) -> ImageData:
        return replace(self, train=train, test=test, n_classes=n_classes, sha256=data_sha256(train, test))

    def __repr__(self) -> str:
        return (
            f"ImageData({self.name!r}, train={len(self.train)}, "
            f"test={len(self.test) if self.test else None}, shape={self.shape}, n_classes={self.n_classes})"
        )


def data_sha256(train: Split, test: Split | None = None) -> str:
    """SHA-256 of samples and labels; docs/training-data.md gives the bytes.

    Examples
    --------
    >>> import numpy as np
    >>> data_sha256(Split(np.zeros((1, 2), np.float32), np.array([1])))[:16]
    'd208d25df022382a'
    """
    digest = hashlib.sha256()
    for split in (train, test):
        if split is None:
            continue
        digest.update((" ".join(map(str, split.X.shape)) + "\n").encode())
        digest.update(np.ascontiguousarray(split.X, dtype="<f4").data)
        digest.update(np.ascontiguousarray(split.y, dtype="<i8").data)
    return digest.hexdigest()


# ------------------------------------------------------------------------------------------- from files


@dataclass(frozen=True, eq=False)
class RawImages:
    """Two splits as files hold them: images (n, channels, height, width) and labels (n,), unsigned bytes.

    Parameters
    ----------
    train_images, train_labels, test_images, test_labels : ndarray of uint8
    published : bool
        Whether every file is the published one, by its SHA-256.
    """

    train_images: Bytes
    train_labels: Bytes
    test_images: Bytes
    test_labels: Bytes
    published: bool


def of_files(
    name: str,
    title: str,
    read: Callable[[str | os.PathLike[str] | None, bool], RawImages],
    root: str | os.PathLike[str] | None,
    n_samples: int | None,
    n_test_samples: int | None,
    published_only: bool,
) -> ImageData:
    """The set that `read` finds below `root`."""
    raw = read(root, published_only)
    train = _split(raw.train_images, raw.train_labels, n_samples)
    test = _split(raw.test_images, raw.test_labels, n_test_samples)
    which = "the published files, by their SHA-256" if raw.published else "not the published files"
    origin = f"{title}: {which}"
    return ImageData(name, train, test, 10, False, data_sha256(train, test), origin, raw.published)


def without_root(
    name: str, make: Callable[[int | None, int | None], ImageData]
) -> Callable[[str | os.PathLike[str] | None, int | None, int | None, bool], ImageData]:
    """The loader of a set that needs no files."""

    def load(root: object, n_samples: int | None, n_test_samples: int | None, _: bool) -> ImageData:
        if root is not None:
            raise InvalidInputError(f"{name} needs no files, but root = {str(root)!r}; leave it out")
        return make(n_samples, n_test_samples)

    return load


def _split(images: Bytes, labels: Bytes, n: int | None) -> Split:
    n = checked_count(n, len(images))
    return Split(unit_pixels(images[:n]), labels[:n].astype(np.int64))


def checked_count(n: int | None, available: int) -> int:
    """How many samples `n` asks for, None for all that there are."""
    return available if n is None else as_count(n, "n_samples", 1, available)


def unit_pixels(pixels: Bytes) -> NDArray[np.float32]:
    """Bytes as float32 in [0, 1]."""
    unit = pixels.astype(np.float32)
    unit /= np.float32(255)
    return unit


def require_labels(labels: Bytes, where: str, n_classes: int = 10) -> None:
    """Raise FileFormatError naming the first label that is no class."""
    wrong = np.flatnonzero(labels >= n_classes)
    if wrong.size:
        raise FileFormatError(
            f"{where}: expected labels 0 to {n_classes - 1}, found {labels[wrong[0]]} at sample {wrong[0]} "
            f"({wrong.size} such labels in all); the file is damaged, or of another data set"
        )
