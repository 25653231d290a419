"""Images as files hold them: bytes and labels, and how they differ from what was published."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lntheory.errors import FileFormatError

__all__ = ["Bytes", "RawImages", "require_labels"]

Bytes = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class RawImages:
    """Two splits of images (n, channels, height, width) and labels (n,), all unsigned bytes.

    Parameters
    ----------
    train_images, train_labels, test_images, test_labels : ndarray of uint8
    differences : tuple of str
        One sentence for every way in which the files are not the published ones; empty if they are.
    """

    train_images: Bytes
    train_labels: Bytes
    test_images: Bytes
    test_labels: Bytes
    differences: tuple[str, ...]


def require_labels(labels: Bytes, where: str, n_classes: int = 10) -> None:
    """Raise FileFormatError naming the first label that is no class."""
    wrong = np.flatnonzero(labels >= n_classes)
    if wrong.size:
        raise FileFormatError(
            f"{where}: expected labels 0 to {n_classes - 1}, found {labels[wrong[0]]} at sample {wrong[0]} "
            f"({wrong.size} such labels in all); the file is damaged, or of another data set"
        )
