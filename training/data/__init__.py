"""Images to train on: the genuine files of MNIST, Fashion-MNIST and CIFAR-10, and sets that need no file.

===================  ===============  ===========  ==============================================
name                 train / test     image        from
===================  ===============  ===========  ==============================================
``digits``           1,438 / 359      1 x 8 x 8    scikit-learn, embedded; the split is ours
``mnist``            60,000 / 10,000  1 x 28 x 28  IDX files below `root`
``fashion-mnist``    60,000 / 10,000  1 x 28 x 28  IDX files below `root`, or Debian's package
``cifar10``          50,000 / 10,000  3 x 32 x 32  binary version below `root`
``synthetic-cifar``  50,000 / 10,000  3 x 32 x 32  drawn from a fixed seed, a stand-in for CIFAR-10
===================  ===============  ===========  ==============================================

Pixels are float32 in [0, 1]: the byte divided by 255 (digits: the grey level divided by 16). Nothing else is
done to them; `ImageData.standardized` centres and scales the channels. A set more is a function more in
`DATASETS`. No torch here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial

from lntheory.errors import InvalidInputError

from .cifar import read_cifar10
from .embedded import digits, synthetic_cifar
from .idx import read_idx_set
from .images import ImageData, Split, data_sha256, of_files, without_root
from .labels import RandomLabels
from .published import FASHION_MNIST, MNIST

__all__ = ["DATASETS", "ImageData", "RandomLabels", "Split", "data_sha256", "load"]

Loader = Callable[[str | os.PathLike[str] | None, int | None, int | None, bool], ImageData]

DATASETS: Mapping[str, Loader] = {
    "digits": without_root("digits", digits),
    "mnist": partial(of_files, "mnist", "MNIST", partial(read_idx_set, MNIST)),
    "fashion-mnist": partial(
        of_files, "fashion-mnist", "Fashion-MNIST", partial(read_idx_set, FASHION_MNIST)
    ),
    "cifar10": partial(of_files, "cifar10", "CIFAR-10", read_cifar10),
    "synthetic-cifar": without_root("synthetic-cifar", synthetic_cifar),
}
"""The registry: what loads the set of a name, from (root, n_samples, n_test_samples, published_only)."""


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
        Whether to refuse files that are not the published ones, by their SHA-256, before anything in them is
        read. If not, files of the right format are read, `ImageData.published` is False and `origin` says so.

    Returns
    -------
    ImageData

    Raises
    ------
    FileFormatError
        If a file is not the published one, or, where others are allowed, damaged or of another format; names
        file, what was expected and what was found.
    InvalidInputError
        For an unknown name, missing files, a root for an embedded set, or more samples than there are.

    Examples
    --------
    >>> load("digits", n_samples=100)
    ImageData('digits', train=100, test=359, shape=(1, 8, 8), n_classes=10)
    """
    if name not in DATASETS:
        raise InvalidInputError(f"data = {name!r}; choose one of {', '.join(DATASETS)}")
    return DATASETS[name](root, n_samples, n_test_samples, published_only)
