"""IDX files, the format of MNIST and Fashion-MNIST.

::

    00 00 08 03 │ 00 00 EA 60 │ 00 00 00 1C │ 00 00 00 1C │ pixel, pixel, pixel, ...
      │   │  └ three dimensions: 60,000      28            28
      │   └ of unsigned bytes                            all integers big-endian
      └ always 0
"""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Mapping

import numpy as np

from lntheory.errors import FileFormatError

from .files import MOST, Content, describe
from .images import Bytes, RawImages, require_labels
from .published import PublishedSet

__all__ = ["read_idx", "read_idx_set"]


def read_idx(content: Content, ndim: int) -> Bytes:
    """The array of an IDX file of unsigned bytes.

    Parameters
    ----------
    content : Content
    ndim : int
        Dimensions that the file has to have: 3 for images, 1 for labels.

    Returns
    -------
    ndarray of uint8

    Raises
    ------
    FileFormatError
        Naming file, expected and found: magic number, header, number of bytes.

    Examples
    --------
    >>> read_idx(Content("labels-idx1-ubyte", bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 2, 1])), ndim=1)
    array([7, 2, 1], dtype=uint8)

    References
    ----------
    Y. LeCun, C. Cortes, C. J. C. Burges, *The MNIST database of handwritten digits*: the file format.
    """
    where, data = content.where, content.data
    magic = bytes([0, 0, 8, ndim])
    if data[:4] != magic:
        raise FileFormatError(
            f"{where}: expected the magic number {magic.hex(' ')} (IDX, unsigned bytes, dimensions: {ndim}), "
            f"found {describe(data[:24])}"
        )
    header = 4 + 4 * ndim
    if len(data) < header:
        raise FileFormatError(f"{where}: expected a header of {header} bytes, found {len(data)} bytes in all")
    shape = struct.unpack_from(f">{ndim}I", data, 4)
    if math.prod(length or 1 for length in shape) > MOST:  # numpy refuses 0 x 2**32 x 2**32
        raise FileFormatError(
            f"{where}: expected at most {MOST} entries, found a header that declares "
            f"{' x '.join(map(str, shape))}; this is another file"
        )
    expected = header + math.prod(shape)
    if len(data) != expected:
        problem = "it is cut off" if len(data) < expected else "something follows the data"
        raise FileFormatError(
            f"{where}: expected {expected} bytes, as its header declares {' x '.join(map(str, shape))}, "
            f"found {len(data)}: {problem}; fetch it again"
        )
    return np.frombuffer(data, dtype=np.uint8, offset=header).reshape(shape)


def read_idx_set(
    which: PublishedSet, root: str | os.PathLike[str] | None, published_only: bool = True
) -> RawImages:
    """Read the four files of MNIST or Fashion-MNIST from below `root`.

    Raises
    ------
    FileFormatError
        If they are not the published ones and `published_only`; as `read_idx`; and if images and labels are
        of unequal number, images not 28 x 28 or labels not 0 to 9.
    InvalidInputError
        If the files are not there; names the places looked at.
    """
    contents = which.read(root)
    published = which.is_published(contents, published_only)
    return RawImages(
        *_read_split(which, contents, "train"), *_read_split(which, contents, "t10k"), published=published
    )


def _read_split(which: PublishedSet, contents: Mapping[str, Content], prefix: str) -> tuple[Bytes, Bytes]:
    first, second = (contents[f"{prefix}-{rest}"] for rest in ("images-idx3-ubyte", "labels-idx1-ubyte"))
    images, labels = read_idx(first, 3), read_idx(second, 1)
    if images.shape[1:] != (28, 28) or not len(images):
        raise FileFormatError(
            f"{first.where}: expected images of 28 x 28, at least one, found {len(images)} of "
            f"{images.shape[1]} x {images.shape[2]}; this is not {which.title}"
        )
    if len(labels) != len(images):
        raise FileFormatError(
            f"{second.where}: expected {len(images)} labels, one for every image in {first.where}, "
            f"found {len(labels)}; the two files do not belong together"
        )
    require_labels(labels, second.where)
    return images[:, None], labels
