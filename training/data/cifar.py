"""CIFAR-10 as its home publishes it, binary version, as archive or extracted.

Five batches to train and one to test with, 10,000 records each::

    data_batch_1.bin, ...   record = label (1 byte), red (32 x 32), green, blue: 3,073 bytes

The python version is pickled, and a pickle can run any program: it is not read.
"""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import numpy as np

from lntheory.errors import FileFormatError

from .files import Content, describe, read_bytes
from .images import Bytes, RawImages, require_labels
from .published import CIFAR10

__all__ = ["read_cifar10", "read_cifar_binary"]

_RECORD = 1 + 3 * 32 * 32
_ARCHIVE = "cifar-10-binary.tar.gz"
_MOST_BATCH = 1 << 26  # bytes; a batch has 31 million


def read_cifar_binary(content: Content) -> Bytes:
    """Records of a batch, shape (n, 3073): label and pixels.

    Raises
    ------
    FileFormatError
        If the data is no whole number of records, or a label is not 0 to 9.

    Examples
    --------
    >>> read_cifar_binary(Content("data_batch_1.bin", bytes([7]) + bytes(3072))).shape
    (1, 3073)
    """
    where, data = content.where, content.data
    if not data or len(data) % _RECORD:
        raise FileFormatError(
            f"{where}: expected a whole number of records of {_RECORD} bytes, found {len(data)} bytes: "
            f"{len(data) // _RECORD} records and {len(data) % _RECORD} bytes; fetch it again"
        )
    records = np.frombuffer(data, dtype=np.uint8).reshape(-1, _RECORD)
    require_labels(records[:, 0], where)
    return records


def read_cifar10(root: str | os.PathLike[str] | None, published_only: bool = True) -> RawImages:
    """Read CIFAR-10 from a folder or an archive.

    Parameters
    ----------
    root : str or path
        ``cifar-10-binary.tar.gz`` itself, or a folder that has (looked for in this order) the batches in
        ``cifar-10-batches-bin/``, the batches, or the archive.
    published_only : bool
        Whether to refuse batches that are not the published ones before they are read.

    Raises
    ------
    FileFormatError
        Naming file, expected and found.
    InvalidInputError
        If CIFAR-10 is not there.
    """
    archive = _archive_of(root)
    contents = CIFAR10.read(root) if archive is None else _unpacked(archive)
    published = CIFAR10.is_published(contents, published_only)
    *train, test = (read_cifar_binary(contents[name]) for name in CIFAR10.sha256)
    return RawImages(*_split(np.concatenate(train)), *_split(test), published=published)


def _split(records: Bytes) -> tuple[Bytes, Bytes]:
    return records[:, 1:].reshape(-1, 3, 32, 32), records[:, 0].copy()


def _archive_of(root: str | os.PathLike[str] | None) -> Path | None:
    """The archive to read; None where there are batches, or nothing at all."""
    if root is None:
        return None
    path = Path(root)
    if path.is_file():
        return path
    extracted = any(
        (folder / name).is_file()
        for folder in (path / "cifar-10-batches-bin", path)
        for name in CIFAR10.sha256
    )
    return None if extracted or not (path / _ARCHIVE).is_file() else path / _ARCHIVE


def _unpacked(path: Path) -> dict[str, Content]:
    """The batches of an archive, read in memory: nothing is written to disk, no link is followed."""
    data = read_bytes(path).data
    batches = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            for member in archive:
                name = member.name.rpartition("/")[2]
                if member.isreg() and member.size <= _MOST_BATCH and name in CIFAR10.sha256:
                    batch = archive.extractfile(member)
                    assert batch is not None
                    batches[name] = Content(f"{path}, {member.name}", batch.read())
    except Exception as error:  # a damaged archive can raise anything
        raise FileFormatError(
            f"{path}: expected a whole tar archive, found {describe(data[:24])} ({error}); fetch it again"
        ) from None
    if missing := [name for name in CIFAR10.sha256 if name not in batches]:
        raise FileFormatError(
            f"{path}: expected the six batches of CIFAR-10's binary version, found {len(batches)} of them "
            f"and no {missing[0]}; fetch {_ARCHIVE} again"
        )
    return batches
