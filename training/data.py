"""Images to train on: the genuine files of MNIST, Fashion-MNIST and CIFAR-10, and sets that need no file.

===================  ===============  ===========  ==============================================
name                 train / test     image        from
===================  ===============  ===========  ==============================================
``digits``           1,438 / 359      1 x 8 x 8    scikit-learn, embedded; the split is ours
``mnist``            60,000 / 10,000  1 x 28 x 28  IDX files below `root`
``fashion-mnist``    60,000 / 10,000  1 x 28 x 28  IDX files below `root`, or Debian's package
``cifar10``          50,000 / 10,000  3 x 32 x 32  binary or python version below `root`
``synthetic-cifar``  50,000 / 10,000  3 x 32 x 32  drawn from a fixed seed, a stand-in for CIFAR-10
===================  ===============  ===========  ==============================================

Pixels are float32 in [0, 1]: the byte divided by 255 (digits: the grey level divided by 16). Nothing else is
done to them; `ImageData.standardized` centres and scales the channels.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from lntheory.errors import FileFormatError, InvalidInputError
from training.cifar import read_cifar10
from training.idx import read_idx_set
from training.labels import RandomLabels, random_words
from training.published import FASHION_MNIST, MNIST
from training.raw import Bytes, RawImages

__all__ = ["DATASETS", "ImageData", "RandomLabels", "Split", "data_sha256", "load"]

DATASETS = ("digits", "mnist", "fashion-mnist", "cifar10", "synthetic-cifar")


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


def load(
    name: str,
    root: str | os.PathLike[str] | None = None,
    n_samples: int | None = None,
    *,
    n_test_samples: int | None = None,
    published_only: bool = True,
) -> ImageData:
    """Load a set of images.

    Parameters
    ----------
    name : str
        One of `DATASETS`; the table at the head of this module describes them.
    root : str or path, optional
        Folder of the files, or for ``cifar10`` an archive. For ``fashion-mnist`` the default is where
        Debian's package dataset-fashion-mnist puts them. Embedded sets take none.
    n_samples, n_test_samples : int, optional
        Use only the first so many images of the split, in the order of the files. All are read and checked
        all the same.
    published_only : bool
        Whether to refuse files that are well-formed but not the published ones, by their counts or SHA-256
        (Fashion-MNIST in a folder called MNIST, for one). If not, `ImageData.published` is False and `origin`
        says so.

    Returns
    -------
    ImageData

    Raises
    ------
    FileFormatError
        If a file is damaged, cut off, of another format or not the published one; names file, expected and
        found.
    InvalidInputError
        For an unknown name, missing files, a root for an embedded set, or more samples than there are.

    Examples
    --------
    >>> load("digits", n_samples=100)
    ImageData('digits', train=100, test=359, shape=(1, 8, 8), n_classes=10)
    """
    if name not in DATASETS:
        raise InvalidInputError(f"data = {name!r}; choose one of {', '.join(DATASETS)}")
    if name in _EMBEDDED:
        if root is not None:
            raise InvalidInputError(f"{name} needs no files, but root = {str(root)!r}; leave it out")
        return _EMBEDDED[name](n_samples, n_test_samples)
    title, read = _FILES[name]
    raw = read(root)
    if raw.differences and published_only:
        raise FileFormatError(
            f"{raw.differences[0]}; fetch it again, or pass published_only=False to use it as it is"
        )
    train = _split(raw.train_images, raw.train_labels, n_samples)
    test = _split(raw.test_images, raw.test_labels, n_test_samples)
    which = "not the published files" if raw.differences else "the published files, by their SHA-256"
    origin = f"{title}: {which}"
    return ImageData(name, train, test, 10, False, data_sha256(train, test), origin, not raw.differences)


def _split(images: Bytes, labels: Bytes, n: int | None) -> Split:
    n = _checked_count(n, len(images))
    return Split(_unit(images[:n]), labels[:n].astype(np.int64))


def _checked_count(n: int | None, available: int) -> int:
    if n is None:
        return available
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or not 1 <= n <= available:
        raise InvalidInputError(f"{n!r} samples asked for; give an integer from 1 to {available}")
    return int(n)


def _digits(n_samples: int | None, n_test_samples: int | None) -> ImageData:
    from sklearn.datasets import load_digits  # a second to import: only when asked for

    bunch = load_digits()
    X = (bunch.images / 16).astype(np.float32)[:, None]
    y = bunch.target.astype(np.int64)
    held_out = _held_out(y)
    train, test = (
        Split(X[chosen][:n], y[chosen][:n])
        for chosen, n in (
            (~held_out, _checked_count(n_samples, int(np.sum(~held_out)))),
            (held_out, _checked_count(n_test_samples, int(np.sum(held_out)))),
        )
    )
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
    train = _synthetic_split("train", _checked_count(n_samples, 50_000))
    test = _synthetic_split("test", _checked_count(n_test_samples, 10_000))
    origin = "synthetic images of CIFAR-10's shape, drawn from a fixed seed: a stand-in, no CIFAR-10 image"
    return ImageData("synthetic-cifar", train, test, 10, True, data_sha256(train, test), origin)


def _synthetic_split(split: str, n: int) -> Split:
    """Image i = 2/8 pattern of its class + 3/8 coarse noise + 3/8 pixel noise.

    In integers, so that they are equal on every machine; image i does not depend on n.
    """
    y = RandomLabels(0, 10).labels(n, split)
    patterns = _random_bytes("lntheory synthetic patterns", 10 * 24).reshape(10, 3, 8, 8)
    noise = _random_bytes(f"lntheory synthetic {split}", n * _WORDS).reshape(n, -1)
    pixels = noise[:, :3072].reshape(n, 3, 32, 32) * np.uint16(3)
    pixels += _enlarged(noise[:, 3072:].reshape(n, 3, 4, 4), 8) * np.uint16(3)
    pixels += _enlarged(patterns, 4)[y] * np.uint16(2)
    return Split(_unit((pixels // np.uint16(8)).astype(np.uint8)), y)


def _random_bytes(purpose: str, n_words: int) -> Bytes:
    return random_words(purpose, n_words).astype("<u8").view(np.uint8)


def _enlarged(images: Bytes, factor: int) -> Bytes:
    return images.repeat(factor, axis=-2).repeat(factor, axis=-1)


def _unit(pixels: Bytes) -> NDArray[np.float32]:
    """Bytes as float32 in [0, 1]."""
    unit = pixels.astype(np.float32)
    unit /= np.float32(255)
    return unit


_EMBEDDED: dict[str, Callable[[int | None, int | None], ImageData]] = {
    "digits": _digits,
    "synthetic-cifar": _synthetic_cifar,
}

_FILES: dict[str, tuple[str, Callable[[str | os.PathLike[str] | None], RawImages]]] = {
    "mnist": ("MNIST", partial(read_idx_set, MNIST)),
    "fashion-mnist": ("Fashion-MNIST", partial(read_idx_set, FASHION_MNIST)),
    "cifar10": ("CIFAR-10", read_cifar10),
}
