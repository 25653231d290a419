"""Images to train on: the genuine files of MNIST, Fashion-MNIST and CIFAR-10, and sets that need no file.

===================  ===========================  ==============  =====================================
name                 train / test                 image           from
===================  ===========================  ==============  =====================================
``digits``           1,438 / 359                  1 x 8 x 8       scikit-learn, embedded; the split is ours
``synthetic-cifar``  50,000 / 10,000              3 x 32 x 32     drawn from a fixed seed, a stand-in
===================  ===========================  ==============  =====================================

Pixels are float32 in [0, 1]: the byte divided by 255 (digits: the grey level divided by 16), and nothing else is
done to them; `ImageData.standardized` centres and scales the channels.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lntheory.errors import InvalidInputError
from training.labels import RandomLabels, random_words

__all__ = ["DATASETS", "ImageData", "RandomLabels", "Split", "data_sha256", "load"]

DATASETS = ("digits", "synthetic-cifar")

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
        if not np.isfinite(X.sum(dtype=np.float64)):
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

    def first(self, n: int | None) -> Split:
        """The first `n` samples, all of them for None."""
        if n is None or n == len(self):
            return self
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or not 1 <= n <= len(self):
            raise InvalidInputError(f"{n!r} samples asked for; there are {len(self)}: give 1 to {len(self)}")
        return Split(self.X[:n], self.y[:n])


@dataclass(frozen=True, eq=False)
class ImageData:
    """One set of labelled images, and where it comes from.

    Parameters
    ----------
    name : str
        As `load` knows it.
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
                    f"{self.name}: {name} images of shape {split.X.shape[1:]}, training images of {self.shape}"
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
            f"ImageData({self.name!r}, train={len(self.train)}, test={len(self.test) if self.test else None}, "
            f"shape={self.shape}, n_classes={self.n_classes})"
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


def load(
    name: str,
    root: str | os.PathLike[str] | None = None,
    n_samples: int | None = None,
    *,
    n_test_samples: int | None = None,
) -> ImageData:
    """Load a set of images by name."""
    if name == "digits":
        return _digits(n_samples, n_test_samples)
    if name == "synthetic-cifar":
        return _synthetic_cifar(n_samples, n_test_samples)
    raise InvalidInputError(f"data = {name!r}; choose one of {', '.join(DATASETS)}")


def _digits(n_samples: int | None, n_test_samples: int | None) -> ImageData:
    from sklearn.datasets import load_digits  # a second to import: only when asked for

    bunch = load_digits()
    X = (bunch.images / 16).astype(np.float32)[:, None]
    y = bunch.target.astype(np.int64)
    held_out = _held_out(y)
    train = Split(X[~held_out], y[~held_out]).first(n_samples)
    test = Split(X[held_out], y[held_out]).first(n_test_samples)
    origin = "scikit-learn's digits (8 x 8), embedded; our own split into train and test"
    return ImageData("digits", train, test, 10, True, data_sha256(train, test), origin)


def _held_out(y: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which samples are for testing: of every class the fifth with the smallest random keys."""
    keys = random_words("lntheory digits split", len(y))
    held_out = np.zeros(len(y), dtype=bool)
    for label in np.unique(y):
        members = np.flatnonzero(y == label)
        held_out[members[np.argsort(keys[members])[: round(len(members) / 5)]]] = True
    return held_out


_WORDS = (
    3 * 32 * 32 + 3 * 4 * 4
) // 8  # random words of one synthetic image: its pixels' and its blobs' noise


def _synthetic_cifar(n_samples: int | None, n_test_samples: int | None) -> ImageData:
    train = _synthetic_split("train", 50_000 if n_samples is None else n_samples)
    test = _synthetic_split("test", 10_000 if n_test_samples is None else n_test_samples)
    origin = "synthetic images of CIFAR-10's shape, drawn from a fixed seed: a stand-in, no CIFAR-10 image"
    return ImageData("synthetic-cifar", train, test, 10, True, data_sha256(train, test), origin)


def _synthetic_split(split: str, n: int) -> Split:
    """Image i = 2/8 pattern of its class + 3/8 coarse noise + 3/8 pixel noise, in integers, so equal everywhere."""
    y = RandomLabels(0, 10).labels(n, split)
    patterns = random_words("lntheory synthetic patterns", 10 * 24).view(np.uint8).reshape(10, 3, 8, 8)
    noise = random_words(f"lntheory synthetic {split}", n * _WORDS).view(np.uint8).reshape(n, -1)
    pixels = noise[:, :3072].reshape(n, 3, 32, 32) * np.uint16(3)
    pixels += _enlarged(noise[:, 3072:].reshape(n, 3, 4, 4), 8) * np.uint16(3)
    pixels += _enlarged(patterns, 4)[y] * np.uint16(2)
    return Split(_unit(pixels >> 3), y)


def _enlarged(images: Bytes, factor: int) -> Bytes:
    return images.repeat(factor, axis=-2).repeat(factor, axis=-1)


def _unit(pixels: NDArray[np.uint8 | np.uint16]) -> NDArray[np.float32]:
    """Bytes as float32 in [0, 1]."""
    return pixels.astype(np.float32) / np.float32(255)
