"""The bytes of a file, gzip-compressed or not: all of them, or an error that says what the file holds."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from lntheory.errors import FileFormatError, excerpt

__all__ = ["Content", "describe", "read_bytes"]

MOST = 1 << 28
"""Bytes of one file, or archive, after decompression; the largest published one has 186 million."""


@dataclass(frozen=True)
class Content:
    """What a file holds, decompressed, and where it lies, for messages."""

    where: str
    data: bytes

    @cached_property
    def sha256(self) -> str:
        """Hash of the content."""
        return hashlib.sha256(self.data).hexdigest()


_GZIP = b"\x1f\x8b"


def read_bytes(path: Path, most: int = MOST) -> Content:
    """The content of a file, decompressed if it is named ``*.gz`` or ``*.tgz``.

    Compressed data is read to its end, so that its own length and checksum are verified.

    Parameters
    ----------
    path : Path
    most : int
        More bytes than this are an error: no small file may fill the memory.

    Raises
    ------
    FileFormatError
        If name and content disagree, the compressed data is cut off or damaged, or the content is too long.
    OSError
        If the file cannot be opened.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.gz")
    ...     _ = path.write_bytes(gzip.compress(b"content"))
    ...     read_bytes(path).data
    b'content'
    """
    compressed = path.suffix in (".gz", ".tgz")
    with open(path, "rb") as stream:
        head = stream.read(24)
        stream.seek(0)
        if compressed and not head.startswith(_GZIP):
            raise FileFormatError(
                f"{path} is named {path.suffix}: expected gzip data, which begins with 1f 8b, found "
                f"{describe(head)}; fetch it again, or rename it if it is not compressed"
            )
        if not compressed and head.startswith(_GZIP):
            raise FileFormatError(
                f"{path}: expected uncompressed data, found {describe(head)}; rename it to {path.name}.gz"
            )
        if not compressed:
            content = stream.read(most + 1)
        else:
            with gzip.GzipFile(fileobj=stream) as member:
                content = _decompressed(member, path, most)
    if len(content) > most:
        raise FileFormatError(f"{path}: expected at most {most} bytes, found more; this is another file")
    return Content(str(path), content)


def _decompressed(stream: gzip.GzipFile, path: Path, most: int) -> bytes:
    content = bytearray()
    try:
        while len(content) <= most and (chunk := stream.read(min(1 << 22, most + 1 - len(content)))):
            content += chunk
    except (EOFError, OSError, zlib.error) as error:
        raise FileFormatError(
            f"{path}: expected whole gzip data, found it cut off or damaged after {len(content)} "
            f"decompressed bytes ({error}); fetch it again"
        ) from None
    return bytes(content)


def describe(head: bytes) -> str:
    """What a file that begins with `head` seems to hold.

    Examples
    --------
    >>> describe(b"<!DOCTYPE html>")
    "text that begins with '<!DOCTYPE html>'"
    >>> describe(bytes([0, 0, 8, 3]))
    'IDX data (it begins with 00 00 08 03)'
    """
    if not head:
        return "an empty file"
    if all(byte in b"\t\n\r" or 32 <= byte < 127 for byte in head):
        return f"text that begins with {excerpt(head.decode('ascii'), 40)}"
    begins = head[:4].hex(" ")
    if head.startswith(_GZIP):
        return f"gzip data (it begins with {begins})"
    if head.startswith(b"\0\0\x08"):
        return f"IDX data (it begins with {begins})"
    return f"data that begins with {begins}"
