"""CIFAR-10 as its home publishes it: the binary and the python version, as archive or extracted.

Both versions hold five batches to train and one to test with, 10,000 records each::

    binary   data_batch_1.bin, ...   record = label (1 byte), red (32 x 32), green, blue: 3,073 bytes
    python   data_batch_1, ...       a pickled dictionary: "data" uint8 (10000, 3072), "labels" a list
"""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from lntheory.errors import FileFormatError, InvalidInputError, LNTheoryError
from training.compression import describe, read_bytes
from training.pickled import Plain, read_plain_pickle
from training.published import CIFAR10_BATCHES, CIFAR10_RECORDS
from training.raw import Bytes, RawImages, require_labels

__all__ = ["read_cifar10", "read_cifar_binary", "read_cifar_python"]

_PIXELS = 3 * 32 * 32
_RECORD = 1 + _PIXELS
_MOST_BATCH = 1 << 26  # bytes; a batch has 30 to 31 million
_MOST_ARCHIVE = 1 << 28  # bytes after decompression; the archives have 186 million


def read_cifar_binary(data: bytes, where: str) -> Bytes:
    """Records of a batch of the binary version, shape (n, 3073): label and pixels.

    Raises
    ------
    FileFormatError
        If the data is no whole number of records, or a label is not 0 to 9.

    Examples
    --------
    >>> read_cifar_binary(bytes([7]) + bytes(3072), "data_batch_1.bin").shape
    (1, 3073)
    """
    if not data or len(data) % _RECORD:
        raise FileFormatError(
            f"{where}: expected a whole number of records of {_RECORD} bytes ({CIFAR10_RECORDS * _RECORD} "
            f"bytes as published), found {len(data)} bytes: {len(data) // _RECORD} records and "
            f"{len(data) % _RECORD} bytes; fetch it again"
        )
    records = np.frombuffer(data, dtype=np.uint8).reshape(-1, _RECORD)
    require_labels(records[:, 0], where)
    return records


def read_cifar_python(data: bytes, where: str) -> Bytes:
    """Records of a batch of the python version, in the layout of the binary one, shape (n, 3073).

    Nothing in the pickle is run: see `training.pickled`.

    Raises
    ------
    FileFormatError
        If it is no pickle of plain data with pixels ``data`` (n, 3072) and n ``labels`` 0 to 9.

    Examples
    --------
    >>> import pickle
    >>> batch = {"data": np.zeros((2, 3072), np.uint8), "labels": [7, 0]}
    >>> read_cifar_python(pickle.dumps(batch), "data_batch_1")[:, 0]
    array([7, 0], dtype=uint8)
    """
    batch = read_plain_pickle(data, where)
    pixels, labels = (_entry(batch, name, where) for name in ("data", "labels"))
    if not isinstance(pixels, np.ndarray) or pixels.dtype != np.uint8:
        raise FileFormatError(f"{where}: expected 'data' to be an array of uint8, found {_kind(pixels)}")
    if pixels.ndim != 2 or pixels.shape[1] != _PIXELS or not len(pixels):
        raise FileFormatError(f"{where}: expected 'data' of shape (n, {_PIXELS}), found {pixels.shape}")
    if not isinstance(labels, list) or not all(type(label) is int for label in labels):
        raise FileFormatError(f"{where}: expected 'labels' to be a list of integers, found {_kind(labels)}")
    if len(labels) != len(pixels):
        raise FileFormatError(
            f"{where}: expected {len(pixels)} labels, one for every image, found {len(labels)}"
        )
    wrong = [i for i, label in enumerate(labels) if not 0 <= int(label) <= 9]
    if wrong:
        label = int(labels[wrong[0]])
        raise FileFormatError(
            f"{where}: expected labels 0 to 9, found {label if abs(label) < 2**63 else 'a giant number'} at "
            f"sample {wrong[0]}"
        )
    return np.column_stack([np.array(labels, dtype=np.uint8), pixels])


def _entry(batch: dict[str, Plain], name: str, where: str) -> Plain:
    if name not in batch:
        has = ", ".join(repr(key[:20]) for key in list(batch)[:8]) or "none"
        raise FileFormatError(f"{where}: expected an entry {name!r}, found {has}; this is not CIFAR-10")
    return batch[name]


def _kind(value: Plain) -> str:
    return f"an array of {value.dtype}" if isinstance(value, np.ndarray) else type(value).__name__


# ------------------------------------------------------------------------------------------------ the set


def read_cifar10(root: str | os.PathLike[str] | None) -> RawImages:
    """Read CIFAR-10 from a folder or an archive.

    Parameters
    ----------
    root : str or path
        ``cifar-10-python.tar.gz`` or ``cifar-10-binary.tar.gz`` themselves, or a folder that has (looked for
        in this order) ``cifar-10-batches-py/``, ``cifar-10-batches-bin/``, the batches, or an archive.

    Raises
    ------
    FileFormatError
        Naming file, expected and found.
    InvalidInputError
        If CIFAR-10 is not there.
    """
    read = _source(root)
    differences: list[str] = []
    batches = {}
    for name, sha256 in CIFAR10_BATCHES.items():
        where, records = read(name)
        batches[name] = records
        if len(records) != CIFAR10_RECORDS:
            differences.append(
                f"{where}: expected {CIFAR10_RECORDS} records, as published, found {len(records)}"
            )
        elif (found := hashlib.sha256(records.tobytes()).hexdigest()) != sha256:
            differences.append(
                f"{where}: expected records of SHA-256 {sha256}, those of CIFAR-10, found {found}"
            )
    test = batches.pop("test_batch")
    train = np.concatenate(list(batches.values()))
    return RawImages(_images(train), train[:, 0].copy(), _images(test), test[:, 0].copy(), tuple(differences))


def _images(records: Bytes) -> Bytes:
    return records[:, 1:].reshape(-1, 3, 32, 32)


def _source(root: str | os.PathLike[str] | None) -> Callable[[str], tuple[str, Bytes]]:
    """A function from the name of a batch to where it lies and its records."""
    if root is None:
        raise InvalidInputError(
            "CIFAR-10: no folder given; pass the one with its files, or an archive, as root"
        )
    path = Path(root)
    if path.is_file():
        return _archive(path)
    for folder in (path / "cifar-10-batches-py", path / "cifar-10-batches-bin", path):
        for suffix in ("", ".bin"):
            if any((folder / f"{name}{suffix}").is_file() for name in CIFAR10_BATCHES):
                return _folder(folder, suffix)
    for name in ("cifar-10-python.tar.gz", "cifar-10-binary.tar.gz"):
        if (path / name).is_file():
            return _archive(path / name)
    raise InvalidInputError(
        f"{path}: expected CIFAR-10 as cifar-10-batches-py/, cifar-10-batches-bin/, cifar-10-python.tar.gz "
        "or cifar-10-binary.tar.gz, found none of them"
    )


def _records(data: bytes, where: str, suffix: str) -> Bytes:
    return read_cifar_binary(data, where) if suffix else read_cifar_python(data, where)


def _folder(folder: Path, suffix: str) -> Callable[[str], tuple[str, Bytes]]:
    def read(name: str) -> tuple[str, Bytes]:
        path = folder / f"{name}{suffix}"
        if not path.is_file():
            raise InvalidInputError(f"{folder}: expected six batches of CIFAR-10, found no {path.name}")
        return str(path), _records(read_bytes(path, _MOST_BATCH), str(path), suffix)

    return read


def _archive(path: Path) -> Callable[[str], tuple[str, Bytes]]:
    """Batches straight from the archive; nothing is written to disk."""
    content = read_bytes(path, _MOST_ARCHIVE)
    members = _members(path, content)
    for folder, suffix in (("cifar-10-batches-py", ""), ("cifar-10-batches-bin", ".bin")):
        if any(f"{folder}/{name}{suffix}" in members for name in CIFAR10_BATCHES):
            break
    else:
        raise FileFormatError(
            f"{path}: expected cifar-10-batches-py/ or cifar-10-batches-bin/ with the batches, found "
            f"{', '.join(repr(name[:40]) for name in list(members)[:6]) or 'no file'}"
        )

    def read(name: str) -> tuple[str, Bytes]:
        member = f"{folder}/{name}{suffix}"
        if member not in members:
            raise FileFormatError(f"{path}: expected {member}, found no such file; fetch the archive again")
        start, size = members[member]
        if len(content) < start + size:
            raise FileFormatError(
                f"{path}: expected {size} bytes of {member}, found {len(content) - start}: it is cut off"
            )
        return f"{path}, {member}", _records(content[start : start + size], f"{path}, {member}", suffix)

    return read


def _members(path: Path, content: bytes) -> dict[str, tuple[int, int]]:
    """Where the plain files of a tar archive begin, and how long they are."""
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
            return {
                member.name.removeprefix("./"): (member.offset_data, member.size)
                for member in archive
                if member.type in (tarfile.REGTYPE, tarfile.AREGTYPE) and member.size <= _MOST_BATCH
            }
    except LNTheoryError:
        raise
    except Exception as error:  # a damaged archive can raise anything
        raise FileFormatError(
            f"{path}: expected a whole tar archive, found {describe(content[:24])} ({error}); fetch it again"
        ) from None
