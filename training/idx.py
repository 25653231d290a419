"""IDX files, the format of MNIST and Fashion-MNIST.

::

    00 00 08 03 │ 00 00 EA 60 │ 00 00 00 1C │ 00 00 00 1C │ pixel, pixel, pixel, ...
      │   │  └ three dimensions: 60,000      28            28
      │   └ of unsigned bytes                            all integers big-endian
      └ always 0
"""

from __future__ import annotations

import hashlib
import math
import os
import struct
from pathlib import Path

import numpy as np

from lntheory.errors import FileFormatError, InvalidInputError
from training.compression import describe, read_bytes
from training.published import IdxSet
from training.raw import Bytes, RawImages, require_labels

__all__ = ["idx_sha256", "read_idx", "read_idx_set"]

_MOST = 1 << 30  # bytes of one file
_UNSIGNED_BYTE = 8


def read_idx(path: str | os.PathLike[str], ndim: int) -> Bytes:
    """Read an IDX file of unsigned bytes, ``.gz`` or not.

    Parameters
    ----------
    path : str or path
    ndim : int
        Dimensions that the file has to have: 3 for images, 1 for labels.

    Returns
    -------
    ndarray of uint8

    Raises
    ------
    FileFormatError
        Naming file, expected and found: magic number, header, number of bytes, compression.
    OSError
        If the file cannot be opened.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "labels-idx1-ubyte")
    ...     _ = path.write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 2, 1]))
    ...     read_idx(path, ndim=1)
    array([7, 2, 1], dtype=uint8)

    References
    ----------
    Y. LeCun, C. Cortes, C. J. C. Burges, *The MNIST database of handwritten digits*: the file format.
    """
    data = read_bytes(Path(path), _MOST)
    magic = bytes([0, 0, _UNSIGNED_BYTE, ndim])
    if data[:4] != magic:
        raise FileFormatError(
            f"{path}: expected the magic number {magic.hex(' ')} (IDX, unsigned bytes, dimensions: {ndim}), "
            f"found {describe(data[:24])}"
        )
    header = 4 + 4 * ndim
    if len(data) < header:
        raise FileFormatError(f"{path}: expected a header of {header} bytes, found {len(data)} bytes in all")
    shape = struct.unpack_from(f">{ndim}I", data, 4)
    expected = header + math.prod(shape)
    if math.prod(length or 1 for length in shape) > _MOST:  # numpy refuses 0 x 2**32 x 2**32
        raise FileFormatError(
            f"{path}: expected at most {_MOST} entries, found a header that declares "
            f"{' x '.join(map(str, shape))}; this is another file"
        )
    if len(data) != expected:
        problem = "it is cut off" if len(data) < expected else "something follows the data"
        raise FileFormatError(
            f"{path}: expected {expected} bytes, as its header declares {' x '.join(map(str, shape))}, "
            f"found {len(data)}: {problem}; fetch it again"
        )
    return np.frombuffer(data, dtype=np.uint8, offset=header).reshape(shape)


def idx_sha256(array: Bytes) -> str:
    """SHA-256 of the IDX file, uncompressed, that holds this array: there is one way to write it.

    Examples
    --------
    >>> idx_sha256(np.array([7, 2, 1], dtype=np.uint8))[:16]
    'e10ef6244367a3de'
    """
    header = struct.pack(f">4B{array.ndim}I", 0, 0, _UNSIGNED_BYTE, array.ndim, *array.shape)
    return hashlib.sha256(header + array.tobytes()).hexdigest()


def read_idx_set(which: IdxSet, root: str | os.PathLike[str] | None) -> RawImages:
    """Read the four files of MNIST or Fashion-MNIST from below `root`.

    Raises
    ------
    FileFormatError
        As `read_idx`, and if images and labels are of unequal number, images not 28 x 28 or labels not 0 to
        9.
    InvalidInputError
        If the files are not there; names the places looked at.
    """
    paths = _find(which, root)
    differences: list[str] = []
    train = _read_split(which, paths, "train", 60_000, differences)
    test = _read_split(which, paths, "t10k", 10_000, differences)
    return RawImages(*train, *test, tuple(differences))


def _read_split(
    which: IdxSet, paths: dict[str, Path], prefix: str, count: int, differences: list[str]
) -> tuple[Bytes, Bytes]:
    files = f"{prefix}-images-idx3-ubyte", f"{prefix}-labels-idx1-ubyte"
    images, labels = read_idx(paths[files[0]], 3), read_idx(paths[files[1]], 1)
    if images.shape[1:] != (28, 28) or not len(images):
        raise FileFormatError(
            f"{paths[files[0]]}: expected images of 28 x 28, at least one, found {len(images)} of "
            f"{images.shape[1]} x {images.shape[2]}; this is not {which.title}"
        )
    if len(labels) != len(images):
        raise FileFormatError(
            f"{paths[files[1]]}: expected {len(images)} labels, one for every image in "
            f"{paths[files[0]].name}, found {len(labels)}; the two files do not belong together"
        )
    require_labels(labels, str(paths[files[1]]))
    for file, array in zip(files, (images, labels), strict=True):
        if len(array) != count:
            differences.append(f"{paths[file]}: expected {count} entries, as published, found {len(array)}")
        elif (found := idx_sha256(array)) != which.sha256[file]:
            differences.append(
                f"{paths[file]}: expected content of SHA-256 {which.sha256[file]}, that of {which.title}, "
                f"found {found}"
            )
    return images[:, None], labels


def _find(which: IdxSet, root: str | os.PathLike[str] | None) -> dict[str, Path]:
    """Path of every file; all of them lie in the first folder that has any."""
    given = root if root is not None else which.system_root
    if given is None or not Path(given).is_dir():
        hint = f" (Debian's package puts it in {which.system_root})" if which.system_root else ""
        raise InvalidInputError(
            f"{which.title}: expected a folder with the IDX files as root, "
            f"found {'none' if given is None else repr(str(given))}{hint}"
        )
    for folder in (Path(given, name) for name in which.folders):
        found = {file: path for file in which.sha256 if (path := _variant(folder, file)) is not None}
        if found:
            missing = [file for file in which.sha256 if file not in found]
            if missing:
                raise InvalidInputError(
                    f"{folder}: expected the four files of {which.title}, found {', '.join(found)} but no "
                    f"{', '.join(missing)} (.gz or not)"
                )
            return found
    raise InvalidInputError(
        f"{given}: expected the four files of {which.title}, {', '.join(which.sha256)} (.gz or not), there "
        f"or in {', '.join(name for name in which.folders if name != '.')}, found none of them"
    )


def _variant(folder: Path, file: str) -> Path | None:
    """The file as published, or unpacked by a program that put a dot into its name."""
    for name in (file, file.replace("-idx", ".idx"), f"{file}.gz"):
        if (folder / name).is_file():
            return folder / name
    return None
