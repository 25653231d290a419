"""Sets that need no file: scikit-learn's digits, and images of CIFAR-10's shape drawn from a fixed seed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .images import ImageData, Split, checked_count, data_sha256, unit_pixels
from .labels import RandomLabels, random_words

__all__ = ["digits", "synthetic_cifar"]

Bytes = NDArray[np.uint8]


def digits(n_samples: int | None = None, n_test_samples: int | None = None) -> ImageData:
    """Scikit-learn's digits, with a split of our own: of every class a fifth is for testing.

    Examples
    --------
    >>> digits()
    ImageData('digits', train=1438, test=359, shape=(1, 8, 8), n_classes=10)
    """
    from sklearn.datasets import load_digits  # a second to import: only when asked for

    bunch = load_digits()
    X = (bunch.images / 16).astype(np.float32)[:, None]
    y = bunch.target.astype(np.int64)
    held_out = _held_out(y)
    train, test = (
        Split(X[chosen][:n], y[chosen][:n])
        for chosen, n in (
            (~held_out, checked_count(n_samples, int(np.sum(~held_out)))),
            (held_out, checked_count(n_test_samples, int(np.sum(held_out)))),
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


_WORDS = (3 * 32 * 32 + 3 * 4 * 4) // 8  # random words of one image: its pixels' and its blobs' noise


def synthetic_cifar(n_samples: int | None = None, n_test_samples: int | None = None) -> ImageData:
    """Images of CIFAR-10's shape and number that are none of CIFAR-10's.

    Examples
    --------
    >>> synthetic_cifar(n_samples=20, n_test_samples=10)
    ImageData('synthetic-cifar', train=20, test=10, shape=(3, 32, 32), n_classes=10)
    """
    train = _synthetic_split("train", checked_count(n_samples, 50_000))
    test = _synthetic_split("test", checked_count(n_test_samples, 10_000))
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
    return Split(unit_pixels((pixels // np.uint16(8)).astype(np.uint8)), y)


def _random_bytes(purpose: str, n_words: int) -> Bytes:
    return random_words(purpose, n_words).astype("<u8").view(np.uint8)


def _enlarged(images: Bytes, factor: int) -> Bytes:
    return images.repeat(factor, axis=-2).repeat(factor, axis=-1)
